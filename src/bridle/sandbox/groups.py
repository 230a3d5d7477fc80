"""Exception groups of one: a task group inside a function is no concern of its caller."""

from __future__ import annotations


def only(group: BaseExceptionGroup) -> BaseException:
    """The one error in a group of one; else the group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
