"""The hooks of one run, asked at each moment of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.hooks.gating import Gating, about_call, call_data, marks
from bridle.hooks.moments import MOMENTS
from bridle.hooks.reactions import MOST_WAITING, Told, told_of
from bridle.types.base import Moving
from bridle.types.content import plain_text
from bridle.types.events import HookRan, ToolReturned
from bridle.types.hooks import noted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.hooks.define import Bound
    from bridle.hooks.moments import HookType
    from bridle.hooks.running import HookSet
    from bridle.ports.hooks import Close, HookScope, Question
    from bridle.types.content import Part, ToolCall
    from bridle.types.events import AnyEvent, Event
    from bridle.types.tools import CallFacts

TOLD: tuple[HookType, ...] = ("after", "observe")


class LiveHooks(Moving):
    """Asks the hooks of a harness on behalf of one run; `scope` is where it happens."""

    hooks: HookSet
    scope: HookScope
    completed: set[str] = msgspec.field(default_factory=set)
    """Tasks whose completion is known already."""
    _noticed: list[AnyEvent] = msgspec.field(default_factory=list)
    _calls: dict[str, tuple[ToolCall, CallFacts]] = msgspec.field(default_factory=dict)

    def marks(self, call: ToolCall, facts: CallFacts) -> tuple[str, ...]:
        """Name the hooks that are asked before this call is decided."""
        if len(self._calls) > MOST_WAITING:
            self._calls.clear()
        self._calls[call.id] = (call, facts)
        return marks(self.hooks, self.scope, call, facts)

    async def gate(self, question: Question) -> tuple[HookRan, ...]:
        """Ask about a call before it is decided."""
        return await Gating(hooks=self.hooks, question=question).ask()

    async def opening(
        self, scope: HookScope, input_id: str, parts: tuple[Part, ...], *, starts: str | None
    ) -> tuple[HookRan, ...]:
        """Show what the user said; a hook that blocks it ends the run before it begins."""
        rans: list[HookRan] = []
        if scope.depth:
            return ()  # the task of a subagent is a call of its parent, which was looked at
        prompt = plain_text(parts)
        first = starts is not None and scope.thread_id not in self.hooks.begun
        begun = self.hooks.of("conversation:start") if first else []
        self.hooks.begun.add(scope.thread_id)
        for bound in (*begun, *self.hooks.of("conversation:message")):
            data = self.hooks.data(bound.event, scope, prompt=prompt, source=starts)
            if not _fits(bound, data):
                continue
            ran, said = await self.hooks.ask(
                bound, scope, data, moment="opening", input_id=input_id
            )
            if said.text is not None:
                prompt = said.text
                ran = msgspec.structs.replace(ran, text=prompt)
            if ran.effect in ("deny", "ask"):
                ran = msgspec.structs.replace(ran, halt=True)
            rans.append(ran)
            if ran.halt:
                break
        return tuple(rans)

    async def returned(
        self, scope: HookScope, call: ToolCall, facts: CallFacts, events: Sequence[Event]
    ) -> tuple[Event, ...]:
        """Show a result before it is recorded: it may be changed, withheld, or commented on."""
        result = events[-1]
        if not isinstance(result, ToolReturned):
            return tuple(events)
        event = "tool:error" if result.is_error else "tool:after_call"
        rans: list[HookRan] = []
        more = {"tool_response": result.result, "error": _error(result)}
        for bound in about_call(self.hooks, event, None, scope, call, facts, **more):
            more = {"tool_response": result.result, "error": _error(result)}
            data = call_data(self.hooks, event, scope, call, facts, **more)
            ran, said = await self.hooks.ask(bound, scope, data, moment="returned", call_id=call.id)
            result = _changed(result, ran, said.text)
            rans.append(ran)
            if ran.halt or ran.effect == "deny":
                break
        return (*events[:-1], *rans, result)

    async def closing(self, scope: HookScope, close: Close) -> tuple[HookRan, ...]:
        """Tell that the run is about to end; one that came to an end by itself may be kept on."""
        rans: list[HookRan] = []
        for event, types in self._endings(scope, close):
            data = self.hooks.data(
                event,
                scope,
                reason=close.reason,
                message=close.text,
                last_assistant_message=close.text,
                error=close.error,
                stop_hook_active=close.again,
            )
            for bound in self.hooks.of(event, types):
                if not _fits(bound, data):
                    continue
                ran, _ = await self.hooks.ask(bound, scope, data, moment="closing")
                fails_again = ran.outcome == "failed" and close.again
                if ran.effect in ("deny", "ask") and not fails_again:
                    ran = msgspec.structs.replace(ran, context=ran.reason or "Go on.")
                rans.append(ran)
                if ran.context or ran.halt:
                    return tuple(rans)
        return tuple(rans)

    def _endings(
        self, scope: HookScope, close: Close
    ) -> list[tuple[str, tuple[HookType, ...] | None]]:
        end = "agent:terminate" if scope.depth else "conversation:end"
        found: list[tuple[str, tuple[HookType, ...] | None]] = []
        if close.reason == "context_overflow":
            found.append(("context:overflow", TOLD))
        if close.error is not None:
            found.append(("system:error", TOLD))
        return [*found, (end, None if close.natural else TOLD)]

    def noticed(self, event: AnyEvent) -> None:
        """Keep what hooks are to be told of."""
        if len(self._noticed) < MOST_WAITING and told_of(event):
            self._noticed.append(event)

    async def reactions(self, scope: HookScope) -> tuple[HookRan, ...]:
        """Tell of what was recorded since."""
        rans: list[HookRan] = []
        while self._noticed:
            for told in told_of(self._noticed.pop(0)):
                if told.event == "plan:step_complete" and not self._news(told.data["task"]):
                    continue
                for bound in self._told(told, scope):
                    data = self._data(told, scope)
                    ran, _ = await self.hooks.ask(
                        bound, scope, data, moment="reaction", call_id=told.call_id
                    )
                    rans.append(ran)
        return tuple(rans)

    def _told(self, told: Told, scope: HookScope) -> list[Bound]:
        known = self._calls.get(told.call_id or "")
        if known is not None and MOMENTS[told.event].about_tools:
            return about_call(self.hooks, told.event, TOLD, scope, *known, **told.data)
        data = self._data(told, scope)
        return [bound for bound in self.hooks.of(told.event, TOLD) if _fits(bound, data)]

    def _data(self, told: Told, scope: HookScope) -> dict[str, Any]:
        known = self._calls.get(told.call_id or "")
        if known is None:
            return self.hooks.data(told.event, scope, **told.data)
        return call_data(self.hooks, told.event, scope, *known, **told.data)

    def _news(self, task: str) -> bool:
        new = task not in self.completed
        self.completed.add(task)
        return new


def _fits(bound: Bound, data: dict[str, Any]) -> bool:
    return all(condition.holds(data) for condition in bound.conditions)


def _error(result: ToolReturned) -> str | None:
    return result.result if result.is_error else None


def _changed(result: ToolReturned, ran: HookRan, text: str | None) -> ToolReturned:
    """The result as the model will read it."""
    if ran.effect in ("deny", "ask"):
        why = ran.reason or "no reason given"
        told = f"The call ran, and a hook withholds its result ({ran.hook}): {why}"
        return msgspec.structs.replace(result, result=told, is_error=True, kind="hook", images=())
    if text is not None:
        result = msgspec.structs.replace(result, result=text)
    if ran.context:
        told = f"{result.result}\n\n{noted(ran.hook, ran.context)}"
        return msgspec.structs.replace(result, result=told)
    return result
