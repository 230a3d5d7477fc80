"""What a command line could run: `analyse` names every command, or says what has no name."""

from __future__ import annotations

from bridle.permissions.shell.analyse import MAX_LENGTH, analyse
from bridle.permissions.shell.facts import (
    HOLE,
    Analysis,
    Assignment,
    Redirect,
    SimpleCommand,
    Unnamed,
    Word,
)

__all__ = [
    "HOLE",
    "MAX_LENGTH",
    "Analysis",
    "Assignment",
    "Redirect",
    "SimpleCommand",
    "Unnamed",
    "Word",
    "analyse",
]
