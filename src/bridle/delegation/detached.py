"""Agents that a user starts beside a conversation: they answer to nobody's call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.delegation.errand import Errand, Source, make_child
from bridle.delegation.fork import NO_TOOLS
from bridle.delegation.subagent import check_fork
from bridle.errors import ToolError, UserError
from bridle.types.agents import facts_of
from bridle.types.limits import SUBAGENT_MAX_STEPS

if TYPE_CHECKING:
    from collections.abc import Collection

    from bridle.delegation.fork import Inherit
    from bridle.delegation.kinds import Subagent
    from bridle.journal.state import ThreadState
    from bridle.ports.tools import Child
    from bridle.types.agents import How
    from bridle.types.messages import Message


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
    max_depth: int,
    workspace: Collection[str],
) -> Child:
    """A child of a thread that no call waits for; refused with `UserError` where it cannot be."""
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
        tools=_tools(kind, takes, workspace),
        goals=state.tasks if takes.goals else (),
        max_steps=kind.max_steps if kind is not None else SUBAGENT_MAX_STEPS,
        background=True,
    )
    source = Source(
        parent=thread,
        seed=seed,
        mode_id=state.mode_id,
        model_id=last.model_id if last is not None else None,
        head=last.head if last is not None else "",
        conversation=_settled(state),
    )
    return make_child(errand, source)


def _tools(
    kind: Subagent | None, takes: Inherit, workspace: Collection[str]
) -> tuple[str, ...] | None:
    if not takes.tools:
        return NO_TOOLS
    return kind.scope(workspace) if kind is not None and takes.context else None


def _check(state: ThreadState, kind: Subagent | None, model: str | None) -> None:
    facts = facts_of(state.thread)
    if facts is not None and facts.forked:
        raise UserError("A fork cannot be forked again.")
    last = state.run or state.last_run
    if last is None or not last.head or not _settled(state):
        raise UserError("There is no conversation here that could be cloned; use spawn.")
    try:
        check_fork(kind, model)
    except ToolError as error:
        raise UserError(error.message) from error


def _settled(state: ThreadState) -> list[Message]:
    """The messages up to the last one whose calls all have their results."""
    end = len(state.messages)
    while end and state.messages[end - 1].calls:
        end -= 1
    return list(state.messages[:end])
