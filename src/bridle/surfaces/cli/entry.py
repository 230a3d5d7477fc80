"""The console script. Printing the version imports nothing else."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `bridle`."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from bridle._version import __version__

        sys.stdout.write(f"bridle {__version__}\n")
        return
    from bridle.surfaces.cli.main import run

    sys.exit(run(sys.argv[1:]))
