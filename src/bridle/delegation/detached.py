"""Agents that a user starts beside a conversation: they answer to nobody's call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.delegation.errand import Errand, Source, make_child
from bridle.delegation.fork import tools_left
from bridle.delegation.subagent import check_fork
from bridle.errors import ToolError, UserError
from bridle.types.agents import facts_of
from bridle.types.limits import SUBAGENT_MAX_STEPS
from bridle.types.messages import settled_messages

if TYPE_CHECKING:
    from collections.abc import Collection

    from bridle.delegation.fork import Inherit
    from bridle.delegation.kinds import Subagent
    from bridle.journal.state import ThreadState
    from bridle.ports.tools import Child
    from bridle.types.agents import How


def detached_child(
    state: ThreadState,
    task: str,
    *,
    seed: str,
    how: How,
    takes: Inherit,
    name: str,
    kind: Subagent | None,
    model: str | None,
    current: str | None,
    max_depth: int,
    workspace: Collection[str],
) -> Child:
    """A child of a thread that no call waits for; refused with `UserError` where it cannot be.

    `current` is the model that the thread works with now, for an agent that is not told another.
    """
    thread = state.thread
    if thread is None:
        raise UserError(f"Thread {state.id} has not begun.")
    if thread.depth + 1 > max_depth:
        raise UserError(f"Agents may not be nested deeper than {max_depth}.")
    if takes.context:
        _check(state, kind, model)
    last = state.run or state.last_run
    errand = Errand(
        task=task,
        how=how,
        name=name,
        kind=kind,
        model=None if takes.context else model or (kind.model if kind is not None else None),
        role=kind.id if kind is not None else "",
        capabilities=kind.capabilities if kind is not None else (),
        context=takes.context,
        tools=tools_left(kind, takes, workspace),
        goals=state.tasks if takes.goals else (),
        max_steps=kind.max_steps if kind is not None else SUBAGENT_MAX_STEPS,
        background=True,
    )
    source = Source(
        parent=thread,
        seed=seed,
        mode_id=state.mode_id,
        model_id=last.model_id if takes.context and last is not None else current,
        head=last.head if last is not None else "",
        conversation=settled_messages(state.messages),
    )
    return make_child(errand, source)


def _check(state: ThreadState, kind: Subagent | None, model: str | None) -> None:
    facts = facts_of(state.thread)
    if facts is not None and facts.forked:
        raise UserError("A fork cannot be forked again.")
    last = state.run or state.last_run
    if last is None or not last.head or not settled_messages(state.messages):
        raise UserError("There is no conversation here that could be cloned; use spawn.")
    try:
        check_fork(kind, model)
    except ToolError as error:
        raise UserError(error.message) from error
