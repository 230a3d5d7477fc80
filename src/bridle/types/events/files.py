"""Events about the files of the workspace: what a call changed, and what was taken back."""

from __future__ import annotations

from typing import ClassVar

from bridle.types.events.base import Event, Origin


class CheckpointTaken(Event, frozen=True, kw_only=True, tag="checkpoint_taken"):
    """The trees before and after a call that changed files.

    `problem` says why there are none, when the workspace could not be saved: then the call cannot
    be undone.
    """

    origin: ClassVar[Origin] = "input"

    call_id: str
    before: str = ""
    after: str = ""
    problem: str | None = None


class FilesRestored(Event, frozen=True, kw_only=True, tag="files_restored"):
    """Files were put back; `kept` are those that somebody had edited since, with the reason."""

    origin: ClassVar[Origin] = "external"

    undone_run_id: str | None
    restored: tuple[str, ...]
    merged: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    redo: bool = False


class ConversationRewound(Event, frozen=True, kw_only=True, tag="conversation_rewound"):
    """The conversation goes on from an earlier event; what came after it is set aside, not lost.

    With `redo` the messages that were set aside last are put back.
    """

    origin: ClassVar[Origin] = "external"

    to_seq: int
    redo: bool = False
