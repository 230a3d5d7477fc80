"""The `subagent` tool: a child thread works on a task while the call waits, parked.

The child passes the same gate under the same rules; what it may call is a subset of what its
parent may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.delegation.errand import Errand, child_of, named_kind, standing_of, unused
from bridle.errors import ToolError
from bridle.ports.tools import CallScope, Suspended
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.ids import derive_id

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bridle.delegation.kinds import Subagent


def subagent_tool(kinds: Sequence[Subagent], *, workspace: Collection[str] = ()) -> Tool:
    """Build the tool that starts the given kinds of subagents and waits for them."""
    by_id = {kind.id: kind for kind in kinds}

    @tool(
        name="subagent",
        description=f"Give a task to another agent and get its answer. Types:\n{listing(kinds)}\n"
        "forked=true starts it with this conversation: it knows what you know.",
        category="other",
        concurrency_safe=True,
        effect="keyed",
        asks_user=True,
        delegates=True,
    )
    async def subagent(
        agent_type: str,
        task: str,
        ctx: ToolContext[Any],
        model: str | None = None,
        forked: bool | None = None,
    ) -> Suspended:
        kind = named_kind(by_id, agent_type)
        return await delegate(
            kind, task, ctx.scope, workspace=workspace, model=model, forked=forked
        )

    return subagent


def listing(kinds: Sequence[Subagent]) -> str:
    """What a model is told of the kinds."""
    return "\n".join(f"- {kind.id}: {kind.description or kind.name}" for kind in kinds)


async def delegate(
    kind: Subagent,
    task: str,
    scope: CallScope,
    *,
    workspace: Collection[str],
    model: str | None = None,
    forked: bool | None = None,
) -> Suspended:
    """Suspend a call on a child of a kind."""
    standing = standing_of(scope)
    context = kind.forked if forked is None else forked
    if context:
        check_fork(kind, model)
    taken = {one.name for one in await standing.agents()}
    errand = Errand(
        task=task,
        how="subagent",
        name=unused(_own_name(kind, scope), taken),
        kind=kind,
        model=None if context else chosen_model(kind, model, scope),
        role=kind.id,
        capabilities=kind.capabilities,
        context=context,
        tools=kind.scope(workspace) if context else None,
        max_steps=kind.max_steps,
    )
    return Suspended(
        id=derive_id("sub", scope.call_id),
        kind="subagent",
        payload={"task": task, "agent_type": kind.id},
        child=child_of(errand, scope),
    )


def _own_name(kind: Subagent, scope: CallScope) -> str:
    """The kind's id, with a number where one answer starts several: they begin at once."""
    answer = standing_of(scope).messages[-1:]
    alike = [
        call.id
        for message in answer
        for call in message.calls
        if call.args.get("agent_type") == kind.id
    ]
    return f"{kind.id}-{alike.index(scope.call_id) + 1}" if len(alike) > 1 else kind.id


def chosen_model(kind: Subagent, asked: str | None, scope: CallScope) -> str | None:
    """The call's argument, the session's for the type, the definition's; None for the caller's."""
    session = scope.subagent_models
    return asked or session.get(kind.id) or session.get("") or kind.model


def check_fork(kind: Subagent | None, asked: str | None) -> None:
    """Refuse what a fork cannot have: its requests begin with those of its caller."""
    if asked is not None:
        raise ToolError(
            "A fork has the model of its caller; leave out `model`, or forked.", kind="cannot_fork"
        )
    if kind is not None and (kind.tools or kind.coordinator):
        raise ToolError(
            f"{kind.id} brings its own tools, which a fork cannot have: its list of tools is that "
            "of its caller.",
            hint="Start it with forked=false.",
            kind="cannot_fork",
        )
