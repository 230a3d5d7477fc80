"""Give work to a subagent: a thread of its own, the same gate, the same budget.

The call waits, parked, while the child works; the child sees only the tools that it was given.
Prints:

    The tests cover 2 of 3 modules.
    parent: subagent
      child reader: list_modules, list_modules
    tools offered to the child: ['list_modules']
"""

import anyio

from bridle import Agent, Harness, Rules, Subagent, tool
from bridle.testing import ScriptedModel, calls, says


@tool(category="read", read_only=True, concurrency_safe=True)
def list_modules(directory: str) -> list[str]:
    """List the modules of a directory."""
    return {"src": ["a", "b", "c"], "tests": ["a", "b"]}[directory]


@tool(category="edit")
def delete_module(name: str) -> str:
    """Delete a module."""
    return f"deleted {name}"


async def main() -> None:
    parent = ScriptedModel(
        [
            calls("subagent", agent_type="reader", task="Which modules have no tests?"),
            says("The tests cover 2 of 3 modules."),
        ]
    )
    child = ScriptedModel(
        [
            [calls("list_modules", directory="src"), calls("list_modules", directory="tests")],
            says("c has none."),
        ]
    )
    harness = Harness(
        store="memory:",
        agent=Agent(instructions="You keep a project tidy.", tools=[list_modules, delete_module]),
        subagents=[
            Subagent(
                "reader",
                description="Looks, changes nothing.",
                instructions="You only look.",
                allowed_tools=["list_modules"],
                model="scripted/child",
                max_steps=5,
            )
        ],
        permissions=Rules(tools={"list_modules": "allow"}),
        model="scripted/parent",
        resolve_model=lambda model_id: child if model_id == "scripted/child" else parent,
    )
    async with harness:
        session = await harness.session()
        result = await session.send("Are the tests complete?")
        print(result.text)
        for event in await session.run_events(result.run_id):
            if event.type == "tool_start":
                print(f"parent: {event.tool}")
            elif event.type == "subagent_start":
                child_events = await session.run_events(event.child_run_id)
                ran = [e.tool for e in child_events if e.type == "tool_start"]
                print(f"  child {event.agent_type}: {', '.join(ran)}")
    print(f"tools offered to the child: {[spec.name for spec in child.requests[0].tools]}")


if __name__ == "__main__":
    anyio.run(main)
