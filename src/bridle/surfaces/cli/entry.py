"""The console script. Printing the version imports nothing else."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

COLLECT = (100_000, 20, 50)
"""Modules and what they define stay: to look for garbage among them took a tenth of a run."""


def main() -> None:
    """Run `bridle`."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from bridle._version import __version__

        sys.stdout.write(f"bridle {__version__}\n")
        return
    import gc

    from bridle.surfaces.cli.bundle import install

    gc.set_threshold(*COLLECT)
    bundle = install(sys.argv[1]) if len(sys.argv) > 1 else None
    from bridle.surfaces.cli.main import run

    code = run(sys.argv[1:])
    if bundle is not None:
        bundle.keep()
    _leave(code)


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
