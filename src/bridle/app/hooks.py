"""The hooks of a harness: bound, and given what runs them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.app.session import Session
    from bridle.hooks.define import Bound, Hook
    from bridle.hooks.running import HookSet
    from bridle.journal.recorder import Journal
    from bridle.journal.redact import Redactor
    from bridle.ports.clock import Clock
    from bridle.tools.builtin.workspace import Workplace
    from bridle.types.permissions import Policy


def open_hooks(
    hooks: Sequence[Hook | Bound],
    place: Workplace | None,
    policy: Policy,
    clock: Clock,
    redactor: Redactor,
) -> HookSet:
    """Check hooks and make them ready to run; raises `ConfigError` for one that is wrong."""
    from bridle.hooks.define import Hook, bind
    from bridle.hooks.executors import Executors
    from bridle.hooks.handlers import find_handler
    from bridle.hooks.running import HookSet
    from bridle.models.http import HttpClient
    from bridle.sandbox.supervisor import Supervisor

    root = str(place.root) if place is not None else None
    bound: list[Bound] = []
    for number, hook in enumerate(hooks):
        if isinstance(hook, Hook):
            if isinstance(hook.handler, str):
                find_handler(hook.handler, None)
            hook = bind(hook, number)
        bound.append(hook)
    return HookSet(
        hooks=tuple(bound),
        executors=Executors(
            processes=place.processes if place is not None else Supervisor(),
            sandbox=place.sandbox if place is not None else None,
            http=HttpClient(environ=os.environ),
            cwd=root or str(Path.cwd()),
        ),
        clock=clock,
        redactor=redactor,
        root=root,
        home=policy.home,
        profile="yolo" if policy.yolo else policy.profile,
    )


async def tell_shutdown(
    hooks: HookSet | None, journal: Journal, sessions: Sequence[Session]
) -> None:
    """Tell hooks that the harness closes; what came of it is in the last thread that was used."""
    if hooks is None:
        return
    try:
        await _tell_shutdown(hooks, journal, sessions)
    finally:
        await hooks.executors.http.aclose()


async def _tell_shutdown(hooks: HookSet, journal: Journal, sessions: Sequence[Session]) -> None:
    bound = hooks.of("system:shutdown")
    attached = [session for session in sessions if session.is_attached]
    if not bound or not attached:
        return
    from bridle.ports.hooks import HookScope

    scope = HookScope(thread_id=attached[-1].thread_id)
    data = hooks.data("system:shutdown", scope, reason="closed")
    for hook in bound:
        if all(condition.holds(data) for condition in hook.conditions):
            ran, _ = await hooks.ask(hook, scope, data, moment="shutdown")
            await journal.append(scope.thread_id, ran)
