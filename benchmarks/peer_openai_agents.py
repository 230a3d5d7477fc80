"""The headline task as a minimal program over openai-agents: URL TASK."""

from __future__ import annotations

import asyncio
import sys

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from peer_tools import bash, read_file, write_file


async def run(url: str, task: str) -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=url, api_key="k")
    tools = [function_tool(tool) for tool in (read_file, write_file, bash)]
    model = OpenAIChatCompletionsModel(model="served", openai_client=client)
    agent = Agent(name="worker", instructions="You work here.", tools=tools, model=model)
    answer = Runner.run_streamed(agent, task)
    async for _ in answer.stream_events():
        pass
    print(answer.final_output)


asyncio.run(run(sys.argv[1], sys.argv[2]))
