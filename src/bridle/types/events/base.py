"""The envelope that every event shares.

A durable event is an *input* (it brings something new into the log: an admission, a model's
words, a tool's result) or *derived* (it follows from the events before it). Replay injects the
first and recomputes the second. *External* inputs are written by others than the drain. The
`consumes` of an event names the inputs that it deals with: every admitted input is consumed once.
"""

from typing import ClassVar, Literal

import msgspec

Origin = Literal["external", "input", "derived"]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    """Something that happened and is in the log. The store stamps seq, id, at and thread_id."""

    origin: ClassVar[Origin] = "derived"
    quiet: ClassVar[bool] = False
    """Whether the thread counts as used when this happens: what concerns its host does not."""

    seq: int = 0
    id: str = ""
    at: str = ""
    thread_id: str = ""
    run_id: str | None = None
    parent: str | None = None
    v: int = 1

    @property
    def type(self) -> str:
        """The event's name in the contract."""
        return str(self.__struct_config__.tag)


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    """Something that is shown while it happens and not stored."""

    thread_id: str
    run_id: str | None = None
    at: str = ""
    v: int = 1

    @property
    def type(self) -> str:
        """The event's name in the contract."""
        return str(self.__struct_config__.tag)

    @property
    def seq(self) -> None:
        """Live events have no place in the log."""
        return
