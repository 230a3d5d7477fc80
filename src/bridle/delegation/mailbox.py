"""The `send_message` and `wait_for_agent` tools.

A message is written to the inboxes of its addressees in the commit of the call's result: it is
delivered once, whatever crashes, and in the order in which its sender sent it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from bridle.delegation.addresses import parse_address, resolve
from bridle.delegation.errand import standing_of
from bridle.errors import ToolError, suggest
from bridle.journal.waits import is_over, report
from bridle.ports.store import Append
from bridle.ports.tools import Recorded, Suspended
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.agents import MAIN, Mail
from bridle.types.events import InputAdmitted
from bridle.types.ids import derive_id
from bridle.types.ops import Deliver
from bridle.types.tools import Done, Failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.tools import Standing
    from bridle.types.agents import AgentInfo

DEFAULT_WAIT = 600.0
LONGEST_WAIT = 3600.0


def send_message_tool() -> Tool:
    """Build the tool that speaks to other agents."""

    @tool(name="send_message", category="other", effect="keyed", asks_user=True)
    async def send_message(to: str, text: str, ctx: ToolContext[Any]) -> Recorded:
        """Send a message to other agents. They hear it before their next step.

        `to` is a name or an id, "role:NAME", "capability:A,B" (who can do all of these),
        "parent" (who started you), "siblings" (who was started by the same agent) or "all".
        """
        scope = ctx.scope
        standing = standing_of(scope)
        targets = resolve(parse_address(to), await standing.agents(), scope.thread_id)
        name = standing.facts.name if standing.facts is not None else MAIN
        mail = Mail(sender=scope.thread_id, name=name, to=to, text=text)
        return Recorded(
            outcome=Done(f"Sent to {', '.join(target.name for target in targets)}."),
            appends=tuple(_delivery(mail, target, scope.call_id) for target in targets),
        )

    return send_message


def _delivery(mail: Mail, target: AgentInfo, call_id: str) -> Append:
    admitted = InputAdmitted(input_id=f"{call_id}.to.{target.id}", op=Deliver(mail=mail))
    return Append(thread_id=target.id, events=(admitted,))


def wait_for_agent_tool() -> Tool:
    """Build the tool that waits for agents that work in the background, and for messages."""

    @tool(name="wait_for_agent", category="other", effect="keyed", asks_user=True)
    async def wait_for_agent(
        ctx: ToolContext[Any],
        agents: list[str] | None = None,
        until: Literal["all", "any", "message"] = "all",
        timeout: float = DEFAULT_WAIT,
    ) -> Done | Failed | Suspended:
        """Wait for agents that you started, and get their results.

        `agents` are their names; none means all of them. `until` is "all", "any" or "message". A
        message from one of them ends the wait too, and so does `timeout` (seconds, 3600 at most).
        """
        scope = ctx.scope
        standing = standing_of(scope)
        if not 0 < timeout <= LONGEST_WAIT:
            raise ToolError(f"A wait takes more than 0 and at most {LONGEST_WAIT:g} seconds.")
        payload = {
            **await _awaited(standing, agents or (), scope.thread_id, until=until),
            "until": until,
            "timeout": timeout,
            "deadline": standing.now + timeout,
        }
        if is_over(payload, standing.helpers):
            text, kind = report(payload, standing.helpers)
            return Done(text) if kind is None else Failed(text, kind=kind)
        return Suspended(id=derive_id("wait", scope.call_id), kind="wait", payload=payload)

    return wait_for_agent


async def _awaited(
    standing: Standing, names: Sequence[str], sender: str, *, until: str
) -> dict[str, list[str]]:
    """The calls that started the agents, and the threads whose messages count; none for all."""
    helpers = {
        name: helper for name, helper in standing.helpers.items() if not _replaced(name, standing)
    }
    if until == "message":
        agents = await standing.agents()
        found = [one.id for name in names for one in resolve(parse_address(name), agents, sender)]
        mine = [c for c, helper in helpers.items() if helper.started.child_thread_id in found]
        return {"calls": mine, "agents": found}
    by_name = {helper.started.name: name for name, helper in helpers.items()}
    by_name |= {helper.started.child_thread_id: name for name, helper in helpers.items()}
    for name in names:
        if name not in by_name:
            mine = [helper.started.name for helper in helpers.values()]
            raise ToolError(
                suggest(name, mine, what="agent of yours"),
                hint="You can wait for agents that you started with fork_agent; for the words of "
                'others use until="message".',
                kind="unknown_address",
            )
    calls = [by_name[name] for name in names] if names else list(helpers)
    if not calls:
        raise ToolError(
            "No agent works for you. Start one with fork_agent.", kind="unknown_address"
        )
    threads = [standing.helpers[call].started.child_thread_id for call in calls]
    return {"calls": calls, "agents": threads if names else []}


def _replaced(call_id: str, standing: Standing) -> bool:
    return any(helper.started.replaces == call_id for helper in standing.helpers.values())
