"""Run hooks and tell what came of each, as an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.hooks.define import Bound, HookContext, HookResult
from bridle.hooks.protocol import HookFailed, clipped, within_its_type
from bridle.journal.redact import NOTHING_HIDDEN, Redactor
from bridle.types.base import Fixed
from bridle.types.events import HookRan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.hooks.executors import Executors
    from bridle.hooks.moments import HookType
    from bridle.ports.clock import Clock
    from bridle.ports.hooks import HookScope
    from bridle.types.events.hook import HookMoment, HookOutcome


class HookSet(Fixed, frozen=True, kw_only=True):
    """All hooks of a harness, in their order, and what runs them.

    `begun` are the threads that a conversation was started in, in this process.
    """

    hooks: tuple[Bound, ...]
    executors: Executors
    clock: Clock
    redactor: Redactor = NOTHING_HIDDEN
    root: str | None = None
    home: str | None = None
    profile: str = ""
    begun: set[str] = msgspec.field(default_factory=set)

    def of(self, event: str, types: Iterable[HookType] | None = None) -> list[Bound]:
        """The hooks of a moment, those that decide first, then by priority."""
        wanted = None if types is None else set(types)
        found = [
            hook
            for hook in self.hooks
            if hook.event == event and (wanted is None or hook.type in wanted)
        ]
        return sorted(found, key=lambda hook: hook.order)

    def data(self, event: str, scope: HookScope, **more: Any) -> dict[str, Any]:
        """What hooks of a moment are told."""
        told = {
            "session_id": scope.thread_id,
            "run_id": scope.run_id,
            "hook_event_name": event,
            "cwd": self.root or self.executors.cwd,
            "permission_mode": self.profile,
            "mode": scope.mode,
            "model": scope.model,
            "depth": scope.depth,
            "agent_type": scope.agent_type,
            **more,
        }
        return {name: value for name, value in told.items() if value is not None}

    async def ask(
        self,
        bound: Bound,
        scope: HookScope,
        data: dict[str, Any],
        *,
        moment: HookMoment,
        call_id: str | None = None,
        input_id: str | None = None,
    ) -> tuple[HookRan, HookResult]:
        """Run one hook; what fails is told, and blocks where it must."""
        told = {**data, "hook_event_name": bound.hook.event}
        context = HookContext(
            event=bound.event,
            type=bound.type,
            thread_id=scope.thread_id,
            run_id=scope.run_id,
            data=told,
        )
        began = self.clock.now()
        failure = None
        try:
            answer = clipped(self.redactor.value(await self.executors.run(bound, context)))
            said = within_its_type(bound, answer)
        except HookFailed as error:
            failure = self.redactor.text(str(error))
            blocks = bound.on_failure == "block"
            said = HookResult(decision="deny", reason=failure) if blocks else HookResult()
        ran = HookRan(
            run_id=scope.run_id,
            hook=bound.id,
            event=bound.event,
            hook_type=bound.type,
            moment=moment,
            outcome="failed" if failure is not None else _outcome(said),
            duration_ms=int((self.clock.now() - began) * 1000),
            layer=bound.layer,
            source=bound.source,
            call_id=call_id,
            input_id=input_id,
            effect=_effect(said),
            reason=failure or said.reason,
            context=said.context,
            halt=said.halt,
        )
        return ran, said


def _effect(said: HookResult) -> Any:
    return "deny" if said.decision == "block" else said.decision


def _outcome(said: HookResult) -> HookOutcome:
    if said.halt:
        return "halted"
    if said.decision in ("deny", "block"):
        return "blocked"
    if said.args is not None or said.text is not None:
        return "changed"
    if said.decision == "ask":
        return "asked"
    return "allowed" if said.decision == "allow" else "passed"
