"""Hooks that answer from the log: none runs in a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from bridle.errors import LeaseLost
from bridle.runs.replay.tape import bare
from bridle.types import events as ev

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.hooks import Close, HookScope, Question
    from bridle.runs.replay.tape import Tape
    from bridle.types.content import Part, ToolCall
    from bridle.types.events.hook import HookMoment
    from bridle.types.tools import CallFacts


@dataclass(frozen=True, slots=True)
class TapeHooks:
    """Gives what was recorded of hooks, at the place where it was recorded."""

    tape: Tape

    def marks(self, call: ToolCall, facts: CallFacts) -> tuple[str, ...]:
        """The recorded facts name the hooks already."""
        return facts.hooks

    async def gate(self, question: Question) -> tuple[ev.HookRan, ...]:
        """What was said of a call, up to its decision."""
        first = self._about(question.call.id)
        if first is None or (isinstance(first, ev.ToolReturned) and first.stopped):
            await self.tape.border()
            raise LeaseLost("the recorded drain ended while hooks were asked about this call")
        await self.tape.reach(first)
        return self._next("gate")

    async def opening(
        self, scope: HookScope, input_id: str, parts: tuple[Part, ...], *, starts: str | None
    ) -> tuple[ev.HookRan, ...]:
        """What was said of the user's words."""
        found: list[ev.HookRan] = []
        for event in self.tape.events[self.tape.position :]:
            if isinstance(event, ev.LeaseTaken):
                break
            if isinstance(event, ev.HookRan) and event.input_id == input_id:
                found.append(bare(event))
        return tuple(found)

    async def returned(
        self, scope: HookScope, call: ToolCall, facts: CallFacts, events: Sequence[ev.Event]
    ) -> tuple[ev.Event, ...]:
        """The recorded result is what hooks left of it."""
        return tuple(events)

    async def closing(self, scope: HookScope, close: Close) -> tuple[ev.HookRan, ...]:
        """What was said of the end."""
        await checkpoint()  # where the recorded hooks were cut, these are
        return self._next("closing")

    def noticed(self, event: ev.AnyEvent) -> None:
        """What hooks are told of stands in the log."""

    async def reactions(self, scope: HookScope) -> tuple[ev.HookRan, ...]:
        """What hooks were told of at this place."""
        await checkpoint()
        return self._next("reaction")

    def _about(self, call_id: str) -> ev.Event | None:
        """The first event about the decision of a call."""
        for event in self.tape.events[self.tape.position :]:
            match event:
                case ev.LeaseTaken():
                    return None
                case ev.HookRan(moment="gate") | ev.PermissionDecided() | ev.ToolReturned():
                    if event.call_id == call_id:
                        return event
                case _:
                    pass
        return None

    def _next(self, moment: HookMoment) -> tuple[ev.HookRan, ...]:
        """The hooks of a moment that were recorded right here, together."""
        found: list[ev.HookRan] = []
        for event in self.tape.events[self.tape.position :]:
            if not isinstance(event, ev.HookRan) or event.moment != moment:
                break
            if found and event.call_id != found[0].call_id and moment == "gate":
                break
            found.append(bare(event))
        return tuple(found)
