"""Secrets that a harness is given: the model names them, the gate puts them in."""

import msgspec

PLACEHOLDER = "{{secret:%s}}"


class Secret(msgspec.Struct, frozen=True):
    """A value that only tools see, and which of them may.

    Without `hosts` it is for `tools`, globs of names, by default `bash`. With `hosts` it is for
    calls that name the hosts they reach, all of them among these, of any tool unless `tools` says
    which. The text form never shows the value.
    """

    value: str
    tools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Show who may have it, not what it is."""
        return f"Secret(tools={self.tools!r}, hosts={self.hosts!r})"

    __str__ = __repr__
