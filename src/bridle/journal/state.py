"""The fold of a thread's log: everything that a drain needs to know, and nothing that it decides.

`ThreadState` is what the log says up to `seq`. It changes only by `apply`, so what is in memory
always equals what is in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.journal.fold_calls import CALLS
from bridle.journal.fold_run import RUN
from bridle.journal.fold_thread import THREAD
from bridle.types import events as ev
from bridle.types.base import Moving
from bridle.types.ops import (
    Answer,
    AnswerPlan,
    Approve,
    Decline,
    ResumeTool,
    Send,
    Steer,
)
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bridle.journal.run_state import RunState
    from bridle.types.agents import Mail
    from bridle.types.messages import Message
    from bridle.types.ops import Op
    from bridle.types.permissions import Rule
    from bridle.types.plans import Plan
    from bridle.types.tasks import Task
    from bridle.types.threads import Thread


MAIL_KEPT = "mail_kept"

TO_A_RUN = (Steer, Approve, Decline, Answer, AnswerPlan, ResumeTool)
"""Ops that are said to a run in progress and may bring more context for it."""

PASSING = ("budget_reserved", "budget_settled", "message_start", "permission_decided")
"""Events that matter to the fold only for the last messages: what they say of a request or of its
calls is over when the next one has ended. They are half of a log; a fold of history is made without
them."""


class ThreadState(Moving, weakref=True):
    """A thread up to event `seq`."""

    id: str
    thread: Thread | None = None
    seq: int = 0
    messages: list[Message] = msgspec.field(default_factory=list)
    message_seqs: list[int] = msgspec.field(default_factory=list)
    """The event that each message came with."""
    set_aside: list[tuple[list[Message], list[int]]] = msgspec.field(default_factory=list)
    """Messages that were taken back, newest last."""
    inputs: dict[str, Op] = msgspec.field(default_factory=dict)
    mail: dict[str, Mail] = msgspec.field(default_factory=dict)
    """What other agents said and nobody has heard yet, by the input that it came with."""
    run: RunState | None = None
    last_run: RunState | None = None
    mode_id: str | None = None
    models: dict[str, str] = msgspec.field(default_factory=dict)
    """The model of each mode, where the user chose one for the thread."""
    subagent_models: dict[str, str] = msgspec.field(default_factory=dict)
    tasks: tuple[Task, ...] = ()
    plan: Plan | None = None
    grants: list[ev.PermissionGranted] = msgspec.field(default_factory=list)
    usage: Usage = msgspec.field(default_factory=Usage)
    cost_usd: float = 0.0
    rules: tuple[Rule, ...] = ()
    """What the user changed of the rules in this thread."""
    values: dict[str, Any] | None = None
    """The application's state, once it was changed."""
    workspace: tuple[str, str] | None = None
    """What the thread last heard of its workspace: ready and where, or error and why."""
    files: dict[str, None] = msgspec.field(default_factory=dict)
    """What the thread's calls changed, in order."""
    weight: int = 0
    """Characters of all messages: what the estimate of a request's size is made of."""

    @property
    def queued(self) -> int:
        """How many runs wait behind the present one."""
        waiting = sum(isinstance(op, Send) for op in self.inputs.values())
        return waiting if self.run is not None else max(0, waiting - 1)

    def run_named(self, run_id: str) -> RunState | None:
        """The run in progress or the one before it, if that is its name."""
        for run in (self.run, self.last_run):
            if run is not None and run.run_id == run_id:
                return run
        return None

    def take(self, events: Iterable[ev.Event]) -> None:
        """Take into account what of these events is new."""
        for event in events:
            if event.seq > self.seq:  # another task may have folded it first
                self.apply(event)

    def apply(self, event: ev.Event) -> None:
        """Take one more event into account."""
        self.seq = event.seq
        names = getattr(event, "consumes", ())
        consumed = self._consume(event, names) if names else ()
        handler = HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)
        for op in consumed:
            if self.run is not None and isinstance(op, TO_A_RUN):
                self.run.values.update(op.context)

    def _consume(self, event: ev.Event, names: Sequence[str]) -> list[Op | None]:
        """Take inputs out that an event deals with."""
        if not is_kept(event):
            for name in names:
                self.mail.pop(name, None)
        return [self.inputs.pop(name, None) for name in names]


def is_kept(event: ev.Event) -> bool:
    """Whether an event deals with a message only so far that it is kept for the next run."""
    return isinstance(event, ev.Noted) and event.code == MAIL_KEPT


HANDLERS: dict[type[ev.Event], Callable[[ThreadState, Any], None]] = {**THREAD, **RUN, **CALLS}
