"""Embed the harness: a tool, a model, a run, and the events of a second run.

The model plays a script, so this needs no key and no network. Prints:

    three words (end_turn, 2 steps)
    agent_start
    tool_start word_count {'path': 'a.txt'}
    permission_decided allow
    tool_end 3
    agent_end end_turn
    still three words
"""

import os
import tempfile
from pathlib import Path

import anyio

from bridle import Agent, Harness, Rules, ToolContext, tool
from bridle.testing import ScriptedModel, calls, says


@tool(category="read", read_only=True, concurrency_safe=True)
async def word_count(path: str, ctx: ToolContext) -> int:
    """Count the words of a file."""
    ctx.progress(f"reading {path}")
    return len((await anyio.Path(path).read_text()).split())


async def main() -> None:
    model = ScriptedModel(
        [
            calls("word_count", path="a.txt"),
            says("three words"),
            calls("word_count", path="a.txt"),
            says("still three words"),
        ]
    )
    harness = Harness(
        store="memory:",
        agent=Agent(instructions="You count words.", tools=[word_count]),
        permissions=Rules(tools={"word_count": "allow"}),
        model="scripted/words",
        resolve_model=lambda model_id: model,
    )
    async with harness:
        session = await harness.session()

        result = await session.send("How many words are in a.txt?")
        print(f"{result.text} ({result.reason}, {result.steps} steps)")

        async with session.start("And now?") as run:
            async for event in run.events():
                match event.type:
                    case "agent_start":
                        print(event.type)
                    case "tool_start":
                        print(event.type, event.tool, event.args)
                    case "permission_decided":
                        print(event.type, event.effect)
                    case "tool_end":
                        print(event.type, event.result)
                    case "agent_end":
                        print(event.type, event.reason)
        print(run.result.text)


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    Path("a.txt").write_text("one two three")
    anyio.run(main)
