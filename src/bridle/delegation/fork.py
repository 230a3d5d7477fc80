"""The `fork_agent` tool: an agent that works beside its parent, which goes on at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bridle.delegation.coordinator import coordinator_of
from bridle.delegation.errand import Errand, child_of, named_kind, standing_of, unused
from bridle.delegation.subagent import check_fork, chosen_model, listing
from bridle.errors import ToolError, suggest
from bridle.journal.children import beginning, interrupt, started
from bridle.ports.tools import CallScope, Recorded
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.base import Fixed
from bridle.types.limits import SUBAGENT_MAX_STEPS
from bridle.types.tools import Done

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from bridle.delegation.kinds import Subagent
    from bridle.ports.store import Append
    from bridle.ports.tools import Standing
    from bridle.types.agents import How

MAX_ATTEMPTS = 3
"""How often one piece of work is given to an agent before its failure stands."""

NO_TOOLS = ("send_message",)
"""What an agent that does not inherit tools may still do: speak."""

DESCRIPTION = """\
Start an agent that works in the background; go on at once and get its result with wait_for_agent.
type "spawn" starts it with nothing but its task, "fork" with this conversation, "clone" with this \
conversation and your tasks; inherit_context, inherit_tools and inherit_goals change that. \
agent_type is the kind of agent, none for one like you:
{kinds}
Give it a name, a role and capabilities by which it can be addressed. `replaces` is the name of \
one of your agents that failed or is stuck: it is stopped, and this one takes its place."""


class Inherit(Fixed, frozen=True, kw_only=True):
    """What an agent takes over of the one that starts it."""

    context: bool
    tools: bool = True
    goals: bool = False


DEFAULTS: Mapping[How, Inherit] = {
    "fork": Inherit(context=True),
    "spawn": Inherit(context=False),
    "clone": Inherit(context=True, goals=True),
}


def inherited(
    how: How, *, context: bool | None = None, tools: bool | None = None, goals: bool | None = None
) -> Inherit:
    """What a way of starting takes over, with what was said otherwise."""
    usual = DEFAULTS[how]
    return Inherit(
        context=usual.context if context is None else context,
        tools=usual.tools if tools is None else tools,
        goals=usual.goals if goals is None else goals,
    )


def fork_agent_tool(kinds: Sequence[Subagent], *, workspace: Collection[str] = ()) -> Tool:
    """Build the tool that starts agents in the background."""
    by_id = {kind.id: kind for kind in kinds if not kind.coordinator}
    coordinator = coordinator_of(kinds).id

    @tool(
        name="fork_agent",
        description=DESCRIPTION.format(kinds=listing(list(by_id.values()))),
        category="other",
        effect="keyed",
        asks_user=True,
        delegates=True,
    )
    async def fork_agent(
        task: str,
        ctx: ToolContext[Any],
        type: Literal["fork", "spawn", "clone"] = "spawn",
        agent_type: str | None = None,
        name: str | None = None,
        role: str = "",
        capabilities: list[str] | None = None,
        model: str | None = None,
        inherit_context: bool | None = None,
        inherit_tools: bool | None = None,
        inherit_goals: bool | None = None,
        replaces: str | None = None,
    ) -> Recorded:
        scope = ctx.scope
        kind = named_kind(by_id, agent_type) if agent_type is not None else None
        takes = inherited(type, context=inherit_context, tools=inherit_tools, goals=inherit_goals)
        standing = standing_of(scope)
        if takes.context:
            _check_has_work(standing, coordinator)
        old = _replaced(standing, replaces) if replaces is not None else None
        taken = {one.name for one in await standing.agents()}
        errand = Errand(
            task=task,
            how=type,
            name=unused(name or (kind.id if kind is not None else type), taken),
            kind=kind,
            model=_model(kind, model, scope, context=takes.context),
            role=role or (kind.id if kind is not None else ""),
            capabilities=capabilities or (kind.capabilities if kind is not None else ()),
            context=takes.context,
            tools=tools_left(kind, takes, workspace),
            goals=scope.tasks if takes.goals else (),
            max_steps=kind.max_steps if kind is not None else SUBAGENT_MAX_STEPS,
            background=True,
            replaces=old,
        )
        return _start(errand, scope, standing)

    return fork_agent


def _check_has_work(standing: Standing, coordinator: str) -> None:
    if standing.facts is not None and standing.facts.kind == coordinator:
        raise ToolError(
            "A coordinator has no work of its own that an agent could go on with.",
            hint='Start it with type="spawn" and a task that says all that it must know.',
            kind="cannot_fork",
        )


def _start(errand: Errand, scope: CallScope, standing: Standing) -> Recorded:
    appends: list[Append] = []
    old = standing.helpers[errand.replaces] if errand.replaces is not None else None
    if old is not None and old.ended is None:
        appends.append(interrupt(old.started, input_id=f"{scope.call_id}.replace"))
        others = {name: one for name, one in standing.helpers.items() if one is not old}
        standing = msgspec.structs.replace(standing, helpers=others)
    child = child_of(errand, msgspec.structs.replace(scope, standing=standing))
    begun = started(child, call_id=scope.call_id, run_id=scope.run_id, task=errand.task)
    appends.append(beginning(child, input_id=f"{scope.call_id}.send"))
    told = {"name": errand.name, "id": child.thread.id, "type": errand.how, "status": "running"}
    return Recorded(
        outcome=Done(msgspec.json.encode(told).decode()),
        events=(begun,),
        appends=tuple(appends),
    )


def _model(
    kind: Subagent | None, asked: str | None, scope: CallScope, *, context: bool
) -> str | None:
    if context:
        check_fork(kind, asked)
        return None
    return asked if kind is None else chosen_model(kind, asked, scope)


def tools_left(
    kind: Subagent | None, takes: Inherit, workspace: Collection[str]
) -> tuple[str, ...] | None:
    """The only tools that the agent may use; None for those that it is offered."""
    if not takes.tools:
        return NO_TOOLS
    return kind.scope(workspace) if kind is not None and takes.context else None


def _replaced(standing: Standing, name: str) -> str:
    """The call that started the agent whose place is taken; refused after too many attempts."""
    by_name = {helper.started.name: helper for helper in standing.helpers.values()}
    helper = by_name.get(name)
    if helper is None:
        raise ToolError(suggest(name, by_name, what="agent of yours"), kind="unknown_address")
    call_id = helper.started.call_id
    if any(other.started.replaces == call_id for other in standing.helpers.values()):
        raise ToolError(f"{name} was replaced already.", kind="limit")
    attempts = 1
    before = helper.started.replaces
    while before is not None:
        attempts += 1
        before = standing.helpers[before].started.replaces
    if attempts >= MAX_ATTEMPTS:
        raise ToolError(
            f"{attempts} agents tried this already; its failure stands. Report it.", kind="limit"
        )
    return call_id
