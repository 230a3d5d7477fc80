"""The door to the shell analysis: its limits, and the second opinion of another parser."""

from __future__ import annotations

from functools import lru_cache

from bridle.permissions.shell.facts import Analysis, Unnamed
from bridle.permissions.shell.walk import Walk, Where
from bridle.permissions.shell.witness import is_obvious, unseen
from bridle.types.regex import lazy

MAX_LENGTH = 64 * 1024
_CONTROL = lazy(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@lru_cache(maxsize=256)
def analyse(command: str) -> Analysis:
    """Name every simple command that bash could run for this text.

    What cannot be named is in `unnamed`; whoever decides must ask about it. The text is read as
    `bash -c` reads it, with a clean environment and no options.
    """
    if len(command) > MAX_LENGTH:
        return Analysis(unnamed=(Unnamed("the command is too long to read", command[:60]),))
    walk = Walk()
    if _CONTROL.search(command):
        walk.unnamed.append(Unnamed("a control character", command[:60]))
    try:
        walk.text(command, Where())
    except RecursionError:
        walk.unnamed.append(Unnamed("nested too deeply", command[:60]))
    if not walk.unnamed and not is_obvious(command):
        word = unseen(command, walk.starts, walk.opaque)
        if word is not None:
            walk.unnamed.append(Unnamed("two parsers read this in two ways", word))
    return walk.result()
