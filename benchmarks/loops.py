"""Runs of a no-op tool, step after step: ours, and the same calls in a plain loop without a store.

Both note the CPU time at each tool call, so the difference of two notes is one whole step.
"""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

from common import cpu

from bridle import Agent, Harness, Limits, Rules, Tool, tool
from bridle.models.http import HttpClient
from bridle.models.providers.openai_chat import OpenAIChat
from bridle.ports.model import CallDelta, CallStart, Model, ModelRequest
from bridle.testing import ScriptedModel, calls, says
from bridle.types.content import ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from bridle.types.tools import Effect
from bridle.types.usage import Usage

INSTRUCTIONS = "Call the tool until you are told to stop."


def noop(marks: list[float], effect: Effect) -> Tool:
    """A tool that only notes the CPU time."""

    @tool(category="other", effect=effect)
    async def mark(n: int) -> str:
        """Do nothing."""
        marks.append(cpu())
        return f"result {n}"

    return mark


def scripted(steps: int) -> ScriptedModel:
    """A model that calls the tool so often and then stops.

    It is told its usage: else it would count the whole history for an estimate of it.
    """
    answers = [*(calls("mark", n=n) for n in range(steps)), says("done")]
    return ScriptedModel(answers, usage=Usage(input_tokens=100, output_tokens=10))


def wire_script(steps: int) -> list[dict[str, Any]]:
    """The same answers for the loopback server."""
    asked = [{"calls": [{"tool": "mark", "args": {"n": n}}]} for n in range(steps)]
    return [*asked, {"text": "done"}]


def chat(url: str) -> OpenAIChat:
    """The chat adapter on the loopback server."""
    return OpenAIChat("served-model", http=HttpClient(), base_url=url, api_key="k")


async def ours(model: Model, store: Path, *, effect: Effect = "safe") -> tuple[list[float], int]:
    """One run on a SQLite file; returns the notes and how many commits were synced."""
    marks: list[float] = []
    harness = Harness(
        agent=Agent(INSTRUCTIONS, tools=[noop(marks, effect)]),
        model=model.id,
        store=f"sqlite:///{store}",
        resolve_model=lambda _: model,
        permissions=Rules(tools={"mark": "allow"}),
        limits=Limits(max_steps=10_000),
    )
    async with harness:
        result = await (await harness.session(new=True)).send("begin")
        syncs: int = harness.store.syncs  # type: ignore[attr-defined]
    assert result.reason == "end_turn", result
    return marks, syncs


async def plain(model: Model) -> list[float]:
    """The same calls by hand: ask, read the stream, run the tool, append, again."""
    marks: list[float] = []
    mark = noop(marks, "safe")
    messages = [user_message("0", "begin")]
    while True:
        request = ModelRequest(system=INSTRUCTIONS, messages=messages, tools=(mark.spec,))
        tools: list[str] = []
        texts: dict[int, str] = {}
        async for part in model.stream(request):
            if isinstance(part, CallStart):
                tools.append(part.tool)
            elif isinstance(part, CallDelta):
                texts[part.index] = texts.get(part.index, "") + part.text
        number = len(messages)
        asked = tuple(ToolCall(f"{number}.{i}", tools[i], json.loads(texts[i])) for i in texts)
        messages.append(Message(id=f"{number}", role="assistant", parts=asked))
        if not asked:
            return marks
        results = []
        for call in asked:
            marks.append(cpu())
            results.append(ToolResult(call.id, call.tool, f"result {call.args['n']}"))
        messages.append(Message(id=f"{number}r", role="tool", parts=tuple(results)))


def plain_http(port: int) -> list[float]:
    """The same calls by hand over the wire, with the standard library alone."""
    marks: list[float] = []
    link = http.client.HTTPConnection("127.0.0.1", port)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "begin"}]
    while True:
        body = json.dumps({"model": "served-model", "stream": True, "messages": messages})
        link.request("POST", "/v1/chat/completions", body)
        asked: dict[int, dict[str, str]] = {}
        for line in link.getresponse():
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                for part in choice["delta"].get("tool_calls", ()):
                    call = asked.setdefault(part["index"], {"name": "", "arguments": "", "id": ""})
                    call["id"] = part.get("id", call["id"])
                    call["name"] = part["function"].get("name", call["name"])
                    call["arguments"] += part["function"]["arguments"]
        if not asked:
            return marks
        told = [
            {
                "id": c["id"],
                "type": "function",
                "function": {"name": c["name"], "arguments": c["arguments"]},
            }
            for c in asked.values()
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": told})
        for call in asked.values():
            marks.append(cpu())
            text = f"result {json.loads(call['arguments'])['n']}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


def per_step(marks: list[float], first: int, last: int) -> float:
    """Milliseconds of CPU per step between two calls."""
    return (marks[last] - marks[first]) / (last - first) * 1000
