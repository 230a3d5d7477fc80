"""Write the pages of docs/reference that follow from the code, so that they cannot drift.

usage: .venv/bin/python scripts/reference [--check]

With --check nothing is written; the exit code is 1 when a page differs from the code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from cli_page import cli_page
from events_page import events_page
from python_page import python_page
from spec_page import spec_page

PAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "reference"
NOTICE = "<!-- Written by scripts/reference from the code. Do not edit. -->\n\n"

BUILDERS: dict[str, Callable[[], str]] = {
    "events.md": events_page,
    "spec.md": spec_page,
    "cli.md": cli_page,
    "python.md": python_page,
}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    stale = []
    for name, build in BUILDERS.items():
        page = PAGES / name
        text = NOTICE + build().rstrip() + "\n"
        if page.exists() and page.read_text("utf-8") == text:
            continue
        stale.append(name)
        if not arguments:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, "utf-8")
    if stale and arguments:
        print(f"docs/reference differs from the code: {', '.join(stale)}.")
        print("Write it again with: .venv/bin/python scripts/reference")
        return 1
    print(f"docs/reference: wrote {', '.join(stale)}" if stale else "docs/reference is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
