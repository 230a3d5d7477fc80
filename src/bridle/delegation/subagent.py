"""The `subagent` tool: a child thread works on a task while the call waits, parked.

The child passes the same gate under the same rules; what it may call is a subset of what its
parent may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.errors import ToolError, UserError, suggest
from bridle.ports.tools import CallScope, Child, Suspended
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.base import Fixed
from bridle.types.content import Text
from bridle.types.ids import derive_id
from bridle.types.limits import SUBAGENT_MAX_STEPS, Limits
from bridle.types.ops import Send
from bridle.types.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Sequence


class Subagent(Fixed, frozen=True):
    """A kind of agent that work can be given to.

    `tools` are its own; `allowed_tools` names the harness's tools that it may use too. `model`
    None means the model of the run that calls it.
    """

    id: str
    name: str = ""
    description: str = ""
    instructions: str = ""
    tools: Sequence[Tool] = ()
    allowed_tools: Sequence[str] = ()
    model: str | None = None
    max_steps: int = SUBAGENT_MAX_STEPS


def subagent_tool(kinds: Sequence[Subagent], *, max_depth: int) -> Tool:
    """Build the tool that starts the given kinds of subagents."""
    by_id = {kind.id: kind for kind in kinds}
    listing = "\n".join(f"- {kind.id}: {kind.description or kind.name}" for kind in kinds)

    @tool(
        name="subagent",
        description=f"Give a task to another agent and get its answer. Types:\n{listing}",
        category="other",
        concurrency_safe=True,
        effect="keyed",
        asks_user=True,
        delegates=True,
    )
    async def subagent(
        agent_type: str, task: str, ctx: ToolContext[Any], model: str | None = None
    ) -> Suspended:
        kind = by_id.get(agent_type)
        if kind is None:
            raise ToolError(suggest(agent_type, by_id, what="subagent type"))
        chosen = ctx.scope.subagent_models
        named = model or chosen.get(kind.id) or chosen.get("") or kind.model
        return begin(kind, task, named, ctx.scope, max_depth=max_depth)

    return subagent


def begin(
    kind: Subagent, task: str, model: str | None, scope: CallScope, *, max_depth: int
) -> Suspended:
    """Suspend a call on a child thread; the ids follow from the call, so it begins once."""
    depth = scope.depth + 1
    if depth > max_depth:
        raise ToolError(
            f"Agents may not be nested deeper than {max_depth}; do the work yourself.",
            kind="recursion_limit",
        )
    run_id = derive_id("run", scope.call_id)
    thread = Thread(
        id=derive_id("thr", scope.call_id),
        resource_id=scope.resource_id,
        title=f"{kind.name or kind.id}: {task[:60]}",
        metadata={"agent": kind.id},
        harness_id=scope.harness_id,
        workspace=scope.workspace,
        parent_thread=scope.thread_id,
        parent_run=scope.run_id,
        parent_call=scope.call_id,
        depth=depth,
        hidden=True,
    )
    send = Send(
        run_id=run_id,
        parts=(Text(task),),
        model=model,
        context=scope.values,
        limits=Limits(max_steps=kind.max_steps),
    )
    return Suspended(
        id=derive_id("sub", scope.call_id),
        kind="subagent",
        payload={"task": task, "agent_type": kind.id},
        child=Child(thread=thread, send=send, agent_type=kind.id),
    )


def check_kinds(kinds: Sequence[Subagent]) -> None:
    """Refuse two kinds with one id."""
    ids = [kind.id for kind in kinds]
    twice = {name for name in ids if ids.count(name) > 1}
    if twice:
        raise UserError(f"There are two subagents named {', '.join(sorted(twice))}.")
