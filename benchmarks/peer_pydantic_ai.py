"""The headline task as a minimal program over pydantic-ai: URL TASK."""

from __future__ import annotations

import asyncio
import sys

from peer_tools import bash, read_file, write_file
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def run(url: str, task: str) -> None:
    model = OpenAIChatModel("served", provider=OpenAIProvider(base_url=url, api_key="k"))
    agent = Agent(model, instructions="You work here.", tools=[read_file, write_file, bash])
    async with agent.run_stream(task) as answer:
        print(await answer.get_output())


asyncio.run(run(sys.argv[1], sys.argv[2]))
