"""The script that installs system programs, with stand-ins for the package managers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/install-system"
TOOLS = ("sh", "id", "uname", "sed", "env", "true", "touch", "chmod", "cat")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    place = tmp_path / "bin"
    place.mkdir()
    for name in TOOLS:
        os.symlink(shutil.which(name) or "/bin/" + name, place / name)
    stand_in(place, "id", "echo 0")
    stand_in(place, "uname", "echo Linux")
    return place


def stand_in(place: Path, name: str, script: str) -> None:
    path = place / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def install(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *arguments], env={"PATH": str(place)}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        ("apt-get", "install -y --no-install-recommends bubblewrap git ripgrep"),
        ("dnf", "install -y bubblewrap git ripgrep"),
        ("pacman", "-S --needed --noconfirm bubblewrap git ripgrep"),
        ("brew", "install bubblewrap git ripgrep"),
    ],
)
def test_what_is_missing_is_installed_once(programs: Path, manager: str, expected: str) -> None:
    log = programs / "log"
    made = " ".join(str(programs / name) for name in ("bwrap", "git", "rg"))
    script = f'echo "$@" >> {log}; for f in {made}; do echo "#!/bin/sh" > $f; chmod +x $f; done'
    stand_in(programs, manager, script)
    first = install(programs)
    assert first.returncode == 0, first.stderr
    assert expected in log.read_text()
    assert "running: " in first.stdout
    said = log.read_text()
    again = install(programs)
    assert again.returncode == 0
    assert log.read_text() == said
    assert "there already" in again.stdout


def test_an_install_that_does_not_help_fails(programs: Path) -> None:
    stand_in(programs, "dnf", "true")
    done = install(programs)
    assert done.returncode == 1
    assert "bubblewrap is still missing" in done.stderr


def test_a_bubblewrap_that_does_not_work_is_told(programs: Path) -> None:
    for name in ("git", "rg"):
        stand_in(programs, name, "true")
    stand_in(programs, "bwrap", "exit 1")
    done = install(programs)
    assert done.returncode == 1
    assert "user namespaces" in done.stderr


def test_without_a_package_manager_it_says_what_to_install(programs: Path) -> None:
    done = install(programs, "--browser")
    assert done.returncode == 1
    assert "by hand: bubblewrap git ripgrep chromium" in done.stderr


def test_a_user_without_sudo_is_told_the_command(programs: Path) -> None:
    stand_in(programs, "id", "echo 1000")
    stand_in(programs, "pacman", "true")
    done = install(programs)
    assert done.returncode == 1
    assert "as root run: pacman -S" in done.stderr


def test_a_dry_run_changes_nothing(programs: Path) -> None:
    stand_in(programs, "dnf", f"touch {programs}/ran")
    done = install(programs, "--dry-run", "--browser")
    assert done.returncode == 0
    assert "dnf install -y bubblewrap git ripgrep chromium" in done.stdout
    assert not (programs / "ran").exists()


def test_unknown_options_are_refused(programs: Path) -> None:
    done = install(programs, "--brwoser")
    assert done.returncode == 2
    assert "have --browser" in done.stderr
