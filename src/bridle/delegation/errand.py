"""What an agent is started with: a thread of its own, and how much of its parent's it takes over.

All ids follow from the call that starts it, so it begins once, however often the call is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.context.window import newest
from bridle.errors import ToolError, suggest
from bridle.ports.tools import CallScope, Child, Standing
from bridle.types.agents import AGENT_KEY, AgentFacts, How
from bridle.types.base import Fixed
from bridle.types.content import Text, ToolResult
from bridle.types.ids import derive_id
from bridle.types.limits import Limits
from bridle.types.messages import Message
from bridle.types.ops import Send
from bridle.types.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from bridle.delegation.kinds import Subagent
    from bridle.types.tasks import Task

TITLE_LENGTH = 60


class Errand(Fixed, frozen=True, kw_only=True):
    """Work for another agent.

    `context` begins it with the parent's last request, byte for byte; `tools` are the only ones
    that it may use, None for all that it is offered; `goals` are tasks that it takes over.
    """

    task: str
    how: How
    name: str
    kind: Subagent | None = None
    model: str | None = None
    role: str = ""
    capabilities: Sequence[str] = ()
    context: bool = False
    tools: tuple[str, ...] | None = None
    goals: tuple[Task, ...] = ()
    max_steps: int
    background: bool = False
    replaces: str | None = None


def standing_of(scope: CallScope) -> Standing:
    """Who makes the call; refused where no agent of this harness does."""
    if scope.standing is None:
        raise ToolError("Agents can only be started from a thread.", kind="cannot_delegate")
    return scope.standing


def named_kind(kinds: Mapping[str, Subagent], name: str) -> Subagent:
    """A kind by its id."""
    if name not in kinds:
        raise ToolError(suggest(name, kinds, what="subagent type"), kind="unknown_agent_type")
    return kinds[name]


def check_room(scope: CallScope, standing: Standing) -> None:
    """Refuse where agents are nested too deeply or too many work at once."""
    deepest = standing.limits.max_depth
    if scope.depth + 1 > deepest:
        raise ToolError(
            f"Agents may not be nested deeper than {deepest}; do the work yourself.",
            kind="recursion_limit",
        )
    most = standing.limits.max_parallel
    working = standing.waiting + sum(one.ended is None for one in standing.helpers.values())
    if most is not None and working >= most:
        raise ToolError(
            f"{working} agents work for you already, and at most {most} may at once.",
            hint="Wait for one of them with wait_for_agent.",
            kind="limit",
        )


class Source(Fixed, frozen=True, kw_only=True):
    """Where an errand comes from: a call of an agent, or a user (then there is no `call`).

    `seed` is what the ids follow from. `conversation` is what a fork begins with, after `head`.
    """

    parent: Thread
    seed: str
    mode_id: str | None
    model_id: str | None
    head: str
    conversation: Sequence[Message]
    run_id: str | None = None
    call_id: str | None = None
    values: dict[str, Any] = msgspec.field(default_factory=dict)


def child_of(errand: Errand, scope: CallScope) -> Child:
    """The child that does an errand for a call."""
    standing = standing_of(scope)
    check_room(scope, standing)
    if errand.context:
        check_clonable(standing)
    parent = Thread(
        id=scope.thread_id,
        resource_id=scope.resource_id,
        harness_id=scope.harness_id,
        workspace=scope.workspace,
        depth=scope.depth,
    )
    source = Source(
        parent=parent,
        seed=scope.call_id,
        mode_id=standing.mode_id,
        model_id=standing.model_id,
        head=standing.head,
        conversation=conversation(standing, scope.call_id) if errand.context else (),
        run_id=scope.run_id,
        call_id=scope.call_id,
        values=scope.values,
    )
    return make_child(errand, source)


def make_child(errand: Errand, source: Source) -> Child:
    """The child that does an errand, with all that it takes over."""
    parent = source.parent
    facts = AgentFacts(
        name=errand.name,
        how=errand.how,
        kind=errand.kind.id if errand.kind is not None else None,
        role=errand.role,
        capabilities=tuple(errand.capabilities),
        mode=source.mode_id,
        tools=errand.tools,
        head=source.head if errand.context else None,
        cache_key=parent.id if errand.context else None,
        goals=errand.goals,
    )
    thread = Thread(
        id=derive_id("thr", source.seed),
        resource_id=parent.resource_id,
        title=f"{errand.name}: {errand.task[:TITLE_LENGTH]}",
        metadata=_metadata(facts, parent.id),
        harness_id=parent.harness_id,
        workspace=parent.workspace,
        parent_thread=parent.id,
        parent_run=source.run_id,
        parent_call=source.call_id,
        depth=parent.depth + 1,
        hidden=True,
    )
    send = Send(
        run_id=derive_id("run", source.seed),
        parts=(Text(_briefing(errand)),),
        model=errand.model or source.model_id,
        context=source.values,
        limits=Limits(max_steps=errand.max_steps),
    )
    return Child(
        thread=thread,
        send=send,
        agent_type=facts.kind or errand.role or errand.how,
        name=errand.name,
        copies=source.conversation if errand.context else (),
        forked=errand.context,
        background=errand.background,
        replaces=errand.replaces,
    )


def _metadata(facts: AgentFacts, parent: str) -> dict[str, object]:
    told: dict[str, object] = {AGENT_KEY: msgspec.to_builtins(facts)}
    if facts.forked:
        told |= {"forked": True, "forked_from": parent}
    return told


def check_clonable(standing: Standing) -> None:
    """Refuse a fork where there is no request that it could begin with."""
    if standing.facts is not None and standing.facts.forked:
        raise ToolError(
            "A fork cannot fork again: this is not available here. Do the work yourself.",
            kind="unavailable",
        )
    if not standing.head or not standing.messages or not standing.messages[-1].calls:
        raise ToolError(
            "There is no conversation here that could be cloned.",
            hint="Start the agent without it: forked=false.",
            kind="cannot_fork",
        )


def conversation(standing: Standing, call_id: str) -> list[Message]:
    """The parent's last request, its answer, and a result for each call of that answer.

    The results say what the fork must know: which call it stands for, and that the others are
    its parent's.
    """
    *before, answer = standing.messages
    results = tuple(
        ToolResult(
            call_id=call.id,
            tool=call.tool,
            text=_FORK_RESULT if call.id == call_id else _OTHER_RESULT,
            provider_id=call.provider_id,
        )
        for call in answer.calls
    )
    told = Message(id=f"{answer.id}.fork", role="tool", parts=results)
    return [*newest(before, standing.history), answer, told]


_FORK_RESULT = "You are the fork that this call started. Your task follows."
_OTHER_RESULT = "This call belongs to the agent that you were forked from; its result is not here."


def _briefing(errand: Errand) -> str:
    """What the agent is told to do."""
    parts = [errand.task]
    if errand.context:
        if errand.kind is not None and errand.kind.instructions:
            parts.insert(0, errand.kind.instructions)
        parts.append(
            "You are a fork: the agent that you were forked from sees nothing of what you do "
            "but your last answer. You cannot fork again"
            + ("." if errand.goals else ", and its task list is not yours: the task tools are off.")
        )
    elif errand.goals:
        listed = "\n".join(f"- [{task.status}] {task.content}" for task in errand.goals)
        parts.append(f"The goals that this is part of:\n{listed}")
    return "\n\n".join(parts)


def unused(name: str, taken: Collection[str]) -> str:
    """A name that no agent of the tree has yet."""
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"
