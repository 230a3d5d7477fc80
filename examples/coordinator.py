"""A coordinator with three workers: it takes a task apart, waits, and puts the answers together.

The main agent hands the task over. The coordinator has no tools but those that start agents, speak
to them and wait for them; when it tries another one, the gate refuses. The workers run at the same
time. One of them fails, and is replaced. Prints:

    tools of the coordinator: fork_agent, send_message, wait_for_agent
    it tried read_notes: denied by scope:not-offered
    workers: north=completed, south=failed, west=completed
    workers: south-again=completed
    The north is green, the south is yellow, the west is blue.
"""

import json
from typing import Any

import anyio

from bridle import Agent, Harness, Rules, Subagent, tool
from bridle.testing import ScriptedModel, calls, fails, says

COLOURS = {"north": "green", "south": "yellow", "west": "blue"}


@tool(category="read", read_only=True, concurrency_safe=True)
def read_notes(region: str) -> str:
    """Read what is known of a region."""
    return f"The {region} is {COLOURS[region]}"


def send_to(region: str, name: str, **more: str) -> Any:
    """Give one region to a worker."""
    return calls("fork_agent", agent_type="worker", task=region, name=name, **more)


def coordinate(request: Any) -> Any:
    """What the coordinator's model answers, by the number of the request."""
    match request.step:
        case 1:
            return calls("read_notes", region="north")  # it is not offered this one
        case 2:
            return [send_to(region, region) for region in COLOURS]
        case 3:
            return calls("wait_for_agent", timeout=60)
        case 4:
            return send_to("south", "south-again", replaces="south")
        case 5:
            return calls("wait_for_agent", agents=["south-again"], timeout=60)
    waits = [part for m in request.messages if m.role == "tool" for part in m.parts]
    found = {
        agent["name"].removesuffix("-again"): agent["result"]
        for part in waits
        if part.tool == "wait_for_agent"
        for agent in json.loads(part.text)["agents"]
        if agent["status"] == "completed"
    }
    return says(", ".join(found[region] for region in COLOURS).replace(", The", ", the") + ".")


def work(request: Any) -> Any:
    """What a worker's model answers: it reads, then tells; the first one for the south fails."""
    region = request.messages[0].text
    attempts.setdefault(region, set()).add(request.run_id)
    if region == "south" and len(attempts[region]) == 1:
        return fails("authentication", message="the south cannot be reached")
    if request.step == 1:
        return calls("read_notes", region=region)
    return says(request.messages[-1].parts[0].text)


def delegate(request: Any) -> Any:
    """What the main agent's model answers: it hands over, and passes on what comes back."""
    if request.step == 1:
        return calls("call_coordinator", task="What colour is each region?")
    return says(request.messages[-1].parts[0].text.partition("\n")[0])


attempts: dict[str, set[str]] = {}
offered: dict[str, list[str]] = {}


class Model:
    """Plays all parts: the instructions of the request tell which."""

    id, price, context_window = "example/all", None, None

    def stream(self, request: Any) -> Any:
        """Answer for whoever asks."""
        offered[request.system] = [spec.name for spec in request.tools]
        parts = {"You answer.": delegate, "You work.": work, "You coordinate.": coordinate}
        return ScriptedModel([parts[request.system](request)]).stream(request)


async def main() -> None:
    harness = Harness(
        store="memory:",
        agent=Agent(instructions="You answer.", tools=[read_notes]),
        subagents=[
            Subagent("worker", instructions="You work.", allowed_tools=["read_notes"]),
            Subagent("chief", instructions="You coordinate.", coordinator=True),
        ],
        permissions=Rules(tools={"read_notes": "allow"}),
        model="example/all",
        resolve_model=lambda _id: Model(),
    )
    async with harness:
        session = await harness.session()
        result = await session.send("Which colours are there?")
        begun = [e for e in await session.run_events(result.run_id) if e.type == "subagent_start"]
        events = await session.run_events(begun[0].child_run_id)
    print("tools of the coordinator:", ", ".join(offered["You coordinate."]))
    for event in events:
        if event.type == "permission_decided" and event.effect == "deny":
            print(f"it tried {event.tool}: denied by {event.rule}")
        if event.type == "tool_end" and event.tool == "wait_for_agent":
            agents = json.loads(event.result)["agents"]
            print("workers:", ", ".join(f"{one['name']}={one['status']}" for one in agents))
    print(result.text)


if __name__ == "__main__":
    anyio.run(main)
