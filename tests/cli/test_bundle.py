"""What a command imports is kept in one file, and never instead of a source that changed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bridle
from support.cli import Bridle

COMMAND = ["run", "go", "--model", "scripted/script.yaml", "--sandbox", "none"]
PROGRAM = """
import atexit, sys
from bridle.surfaces.cli import bundle, entry

def tell():
    loaded = [m for name, m in sys.modules.items() if name.startswith("bridle.")]
    taken = [m for m in loaded if isinstance(m.__loader__, bundle.Loader)]
    from bridle.errors import suggest
    print(len(loaded), len(taken), suggest("x", ["y"], what="thing"), file=sys.stderr)

atexit.register(tell)
entry.main()
"""


class Installed:
    """A copy of the package, and how many of its modules a command took from the bundle."""

    def __init__(self, root: Path, project: Bridle) -> None:
        self.package = root / "bridle"
        shutil.copytree(
            Path(bridle.__file__).parent, self.package, ignore=lambda *_: ["__pycache__"]
        )
        self._project = project
        (project.cwd / "harness.yaml").unlink()
        (project.cwd / "script.yaml").write_text("- says: hello\n")
        self.told = ""

    @property
    def bundles(self) -> list[Path]:
        return list((self.package / "__pycache__").glob("*.bundle"))

    def run(self, **env: str) -> tuple[int, int, str]:
        """Run once: modules loaded, modules from the bundle, a sentence of the package."""
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *COMMAND],
            cwd=self._project.cwd,
            env={**self._project.environment(), "PYTHONPATH": str(self.package.parent), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "hello\n"
        self.told = done.stderr
        loaded, taken, said = done.stderr.splitlines()[-1].split(" ", 2)
        return int(loaded), int(taken), said


@pytest.fixture
def installed(tmp_path: Path, bridle: Bridle) -> Installed:
    return Installed(tmp_path / "lib", bridle)


def test_the_second_run_takes_its_modules_from_the_bundle_of_the_first(
    installed: Installed,
) -> None:
    _, taken, said = installed.run()
    assert (taken, len(installed.bundles)) == (0, 1)
    written = installed.bundles[0].stat()
    loaded, taken, again = installed.run()
    assert loaded - taken <= 6, "but what the entry itself imports"
    assert again == said
    assert installed.bundles[0].stat().st_ino == written.st_ino, "nothing to add: not written"


def test_a_source_that_changed_is_read(installed: Installed) -> None:
    _, _, said = installed.run()
    errors = installed.package / "errors.py"
    errors.write_text(errors.read_text().replace("Unknown ", "Unheard-of "))
    loaded, taken, changed = installed.run()
    assert changed == said.replace("Unknown ", "Unheard-of ") != said
    assert loaded - taken <= 7
    _, _, kept = installed.run()
    assert kept == changed


def test_a_module_that_is_gone_is_gone(installed: Installed) -> None:
    installed.run()
    (installed.package / "surfaces" / "cli" / "stepping.py").unlink()
    with pytest.raises(subprocess.CalledProcessError) as failed:
        installed.run()
    assert "bridle.surfaces.cli.stepping" in failed.value.stderr


def test_what_comes_first_on_the_path_is_found_first(installed: Installed) -> None:
    installed.run()
    installed.run()
    assert "in front" not in installed.told
    same = Path(shlex.__file__).read_text()
    said = "import sys; print('in front', file=sys.stderr)\n"
    (installed.package.parent / "shlex.py").write_text(said + same)
    installed.run()
    assert "in front" in installed.told
    installed.run()
    assert "in front" in installed.told, "also once it is in the bundle"
    (installed.package.parent / "shlex.py").unlink()
    installed.run()
    assert "in front" not in installed.told


@pytest.mark.parametrize("left", [0, 1, 1000, -1])
def test_a_bundle_that_was_cut_is_written_again(installed: Installed, left: int) -> None:
    installed.run()
    whole = installed.bundles[0].read_bytes()
    installed.bundles[0].write_bytes(whole[:left])
    _, taken, _ = installed.run()
    assert taken == 0
    _, taken, _ = installed.run()
    assert taken > 100


def test_nothing_is_kept_where_python_keeps_nothing(installed: Installed) -> None:
    installed.run(PYTHONDONTWRITEBYTECODE="1")
    assert not installed.bundles
