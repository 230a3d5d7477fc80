"""What a user of the package relies on before anything runs: cheap, typed, whole, consistent."""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import bridle
import bridle.testing

ROOT = Path(__file__).parent.parent
HEAVY = {
    "aiohttp", "anyio", "asyncio", "click", "concurrent.futures", "h11", "httpx", "msgspec",
    "multiprocessing", "pydantic", "rich", "sqlite3", "ssl", "subprocess", "textual", "yaml",
}  # fmt: skip


def modules_after(program: str) -> set[str]:
    """The modules that are loaded after a program, in a fresh interpreter."""
    tell = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{tell}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "program",
    [
        "import bridle",
        "import sys; sys.argv = ['bridle', '--version']; "
        "from bridle.surfaces.cli.entry import main; main()",
    ],
    ids=["import bridle", "bridle --version"],
)
def test_starting_is_cheap(program: str) -> None:
    loaded = modules_after(program)
    assert "bridle" in loaded
    assert not loaded & HEAVY
    assert len(loaded - modules_after("")) <= 25


def test_a_name_is_imported_when_it_is_used() -> None:
    assert "msgspec" in modules_after("import bridle; bridle.Limits"), "the control of the above"


def test_public_names_are_few_and_explained() -> None:
    assert len(bridle.__all__) <= 40
    assert len(set(bridle.__all__)) == len(bridle.__all__)
    assert set(dir(bridle)) == set(bridle.__all__)
    for module in (bridle, bridle.testing):
        for name in module.__all__:
            value = getattr(module, name)
            assert name == "__version__" or inspect.getdoc(value), f"{name} has no docstring"
    with pytest.raises(AttributeError, match="no_such_name"):
        bridle.no_such_name  # noqa: B018


def test_public_methods_are_explained() -> None:
    for name in bridle.__all__:
        value = getattr(bridle, name)
        if not inspect.isclass(value):
            continue
        for method, member in inspect.getmembers(value, inspect.isfunction):
            if not method.startswith("_"):
                assert inspect.getdoc(member), f"{name}.{method} has no docstring"


def test_the_version_is_one() -> None:
    assert importlib.metadata.version("bridle") == bridle.__version__
    said = subprocess.run(
        [str(Path(sys.executable).parent / "bridle"), "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == f"bridle {bridle.__version__}\n"
    assert bridle.__version__ in (ROOT / "CHANGELOG.md").read_text()


def test_the_wheel_is_whole(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
        cwd=tmp_path,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        licence = next(name for name in names if name.endswith("/LICENSE"))
        assert b"MIT License" in archive.read(licence)
    assert "bridle/py.typed" in names
    source = ROOT / "src"
    modules = {str(path.relative_to(source)) for path in source.rglob("*.py")}
    assert modules <= set(names)
    assert all(name.startswith(("bridle/", f"bridle-{bridle.__version__}.")) for name in names)


def test_the_licence_is_there() -> None:
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "MIT"


@pytest.mark.parametrize("script", ["install", "check", "test", "bench"])
def test_a_script_explains_itself(script: str) -> None:
    done = subprocess.run(
        [str(ROOT / "scripts" / script), "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"usage: scripts/{script}")
