"""What this machine can confine commands with; tried for real, once per process."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

from bridle.ports.programs import which
from bridle.sandbox.bubblewrap import NAMESPACES
from bridle.types.base import Fact

KNOWN_PLACES = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap")
INSTALL_BUBBLEWRAP = (
    "install bubblewrap (`scripts/install-system`, or your package manager: "
    "apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap)"
)
ALLOW_NAMESPACES = (
    "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu "
    "24.04 and later an AppArmor profile for bwrap, or "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0)"
)


class Probe(Fact, frozen=True, kw_only=True):
    """Whether a kind works here; `problem` and `remedy` are set when it does not."""

    available: bool
    program: str = ""
    arguments: tuple[str, ...] = ()
    problem: str = ""
    remedy: str = ""


@functools.cache
def bubblewrap() -> Probe:
    """Whether bubblewrap is installed and can make its namespaces here."""
    if sys.platform != "linux":
        return Probe(available=False, problem="bubblewrap exists on Linux only")
    program = next((path for path in KNOWN_PLACES if os.access(path, os.X_OK)), None)
    program = program or which("bwrap")
    if program is None:
        problem = "bubblewrap (bwrap) is not installed"
        return Probe(available=False, problem=problem, remedy=INSTALL_BUBBLEWRAP)
    said = ""
    for arguments in (("--disable-userns",), ()):
        said = _try(
            program, *NAMESPACES, *arguments, "--unshare-net", "--ro-bind", "/", "/",
            "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--", "/bin/true",
        )  # fmt: skip
        if not said:
            return Probe(available=True, program=program, arguments=arguments)
    return Probe(available=False, problem=f"{program} fails: {said}", remedy=ALLOW_NAMESPACES)


@functools.cache
def landlock() -> Probe:
    """Whether the kernel restricts file access for a process that asks for it."""
    if sys.platform != "linux":
        return Probe(available=False, problem="Landlock exists on Linux only")
    from bridle.sandbox import seccomp
    from bridle.sandbox.confine import landlock_version

    if not seccomp.supported():
        return Probe(available=False, problem="no seccomp filter for this processor")
    version = landlock_version()
    if version < 3:
        problem = f"the kernel's Landlock is missing or too old (version {version}, need 3)"
        remedy = "use Linux 6.2 or later with landlock in the lsm= list"
        return Probe(available=False, problem=problem, remedy=remedy)
    return Probe(available=True, arguments=(str(version),))


@functools.cache
def seatbelt() -> Probe:
    """Whether macOS can run a command under a profile."""
    program = "/usr/bin/sandbox-exec"
    if not os.path.exists(program):
        return Probe(available=False, problem="seatbelt exists on macOS only")
    said = _try(program, "-p", "(version 1)(allow default)", "/usr/bin/true")
    return Probe(available=not said, program=program, problem=said)


def _try(*argv: str) -> str:
    """Run a command; empty when it works, else what it said."""
    try:
        done = subprocess.run(
            argv, capture_output=True, timeout=10, check=False, env={}, text=True, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return done.stderr.strip() or f"exit code {done.returncode}"
