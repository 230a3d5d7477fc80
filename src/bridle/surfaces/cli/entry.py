"""The console script. Printing the version imports nothing else."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from bridle.surfaces.cli.bundle import Bundle

COLLECT = (100_000, 20, 50)
"""Modules and what they define stay: to look for garbage among them took a tenth of a run."""

BUNDLED = frozenset({"run", "fix", "chat"})
"""Commands that are started often and import much."""
HELP = frozenset({"-h", "--help"})


def main() -> None:
    """Run `bridle`."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_streams()
    if sys.argv[1:] in (["--version"], ["-V"]):
        from bridle._version import __version__

        sys.stdout.write(f"bridle {__version__}\n")
        return
    import gc

    gc.set_threshold(*COLLECT)
    bundle = _bundle(sys.argv[1:])
    from bridle.surfaces.cli.main import run

    code = run(sys.argv[1:])
    if bundle is not None:
        bundle.keep()
    _leave(code)


def _open_streams() -> None:
    """Stand in for the streams that were closed: no file that is opened may take their numbers."""
    import os

    while os.open(os.devnull, os.O_RDWR) <= 2:
        pass
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _bundle(arguments: list[str]) -> Bundle | None:
    """Where a command's modules come from at once; help needs few, and goes without."""
    if not arguments or arguments[0] not in BUNDLED or not HELP.isdisjoint(arguments):
        return None
    from bridle.surfaces.cli.bundle import install

    return install(arguments[0])


def _leave(code: int) -> NoReturn:
    """End the process: what asked to be closed is closed, the rest is not taken apart first.

    Freeing every module and object one by one takes longer than a short command itself.
    """
    import atexit
    import os

    atexit._run_exitfuncs()  # noqa: SLF001 - what the interpreter itself would do here
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1
    os._exit(code)
