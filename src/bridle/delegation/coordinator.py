"""The coordinator: an agent that decomposes, delegates, waits and synthesises, and does no more.

It is offered only the tools of this package, and the gate refuses it all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.delegation.kinds import Subagent
from bridle.delegation.subagent import delegate
from bridle.ports.tools import Suspended
from bridle.tools.define import Tool, ToolContext, tool

if TYPE_CHECKING:
    from collections.abc import Sequence

INSTRUCTIONS = """\
You coordinate. You never do the work yourself: you have no tools but those that start agents, \
speak to them and wait for them.

1. Take the task apart into pieces that do not depend on one another.
2. Start one agent for each with fork_agent, all of them in one answer, with a task that says all \
that it needs to know: it does not see this conversation.
3. Wait for them with wait_for_agent.
4. Where one failed or is stuck, say so, and replace it (fork_agent with `replaces`) if another \
attempt can help.
5. Answer with one result made of theirs. Say what is missing and why."""

COORDINATOR = Subagent(
    "coordinator",
    name="Coordinator",
    description="Takes a task apart, has agents work on the parts, and puts the results together.",
    instructions=INSTRUCTIONS,
    coordinator=True,
)


def coordinator_of(kinds: Sequence[Subagent]) -> Subagent:
    """The coordinator of a harness: the one that it defines, else the usual one."""
    return next((kind for kind in kinds if kind.coordinator), COORDINATOR)


def call_coordinator_tool(kinds: Sequence[Subagent]) -> Tool:
    """Build the tool that hands a large task to a coordinator and waits for the result."""
    kind = coordinator_of(kinds)

    @tool(
        name="call_coordinator",
        category="other",
        concurrency_safe=True,
        effect="keyed",
        asks_user=True,
        delegates=True,
    )
    async def call_coordinator(
        task: str, ctx: ToolContext[Any], model: str | None = None
    ) -> Suspended:
        """Hand a task with several independent parts to a coordinator, and get one result.

        It starts an agent for each part, waits for them and puts their results together.
        """
        return await delegate(kind, task, ctx.scope, workspace=(), model=model)

    return call_coordinator
