"""What a long history costs: CPU ms per request after N tool round trips, beside the SDKs.

    python benchmarks/history.py [--requests 8] [--sizes 0,50,200,500]

Every client runs in a process of its own and sends the same conversation to the same scripted
server. Between two requests one round trip is added to the history, as in a run; the first request
of a size (which encodes everything) is not counted, and is printed as `first`. The least of the
requests counts. SDKs that are not installed are left out. Ratios are against ours.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from http_client import server

FORMATS = ("chat", "responses", "anthropic", "gemini")
MODULES = {
    "chat": "openai",
    "responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google.genai",
}
RESULT = "one line of output of the tool, as it often is\n" * 6
ARGS = {"path": "src/module/file.py", "offset": 10, "limit": 200}


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def ours(wire: str, url: str) -> Any:
    from bridle.models.http import HttpClient
    from bridle.models.providers.anthropic import Anthropic
    from bridle.models.providers.gemini import Gemini
    from bridle.models.providers.openai_chat import OpenAIChat
    from bridle.models.providers.openai_responses import OpenAIResponses
    from bridle.ports.model import ModelRequest
    from bridle.types.content import Text, ToolCall, ToolResult
    from bridle.types.messages import Message, user_message
    from bridle.types.tools import ToolSpec

    http = HttpClient()
    model: Any = {
        "chat": lambda: OpenAIChat("m", http=http, base_url=f"{url}/v1"),
        "responses": lambda: OpenAIResponses("m", http=http, base_url=f"{url}/v1"),
        "anthropic": lambda: Anthropic("m", http=http, base_url=url),
        "gemini": lambda: Gemini("m", http=http, base_url=f"{url}/v1beta"),
    }[wire]()
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = (ToolSpec(name="read_file", description="Read a file.", parameters=schema),)
    messages: list[Message] = [user_message("m", "hi")]

    def add(number: int) -> None:
        call = ToolCall(f"c.{number}", "read_file", ARGS, f"call_{number}")
        result = ToolResult(f"c.{number}", "read_file", RESULT, provider_id=f"call_{number}")
        said = (Text("I look at the file."), call)
        messages.append(Message(id=f"a{number}", role="assistant", parts=said))
        messages.append(Message(id=f"t{number}", role="tool", parts=(result,)))

    async def once() -> None:
        request = ModelRequest(system="Be brief.", messages=messages, tools=tools)
        async for _ in model.stream(request):
            pass

    return add, once, http.aclose


def sdk(wire: str, url: str) -> Any:
    return {
        "chat": _openai_chat,
        "responses": _openai_responses,
        "anthropic": _anthropic,
        "gemini": _gemini,
    }[wire](url)


def _openai_chat(url: str) -> Any:
    import openai

    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    function = {"name": "read_file", "arguments": json.dumps(ARGS)}

    def add(number: int) -> None:
        call = {"id": f"call_{number}", "type": "function", "function": function}
        said = {"role": "assistant", "content": "I look at the file.", "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": f"call_{number}", "content": RESULT}
        messages.extend([said, result])

    async def once() -> None:
        stream = await client.chat.completions.create(model="m", messages=messages, stream=True)
        async for _ in stream:
            pass

    return add, once, client.close


def _openai_responses(url: str) -> Any:
    import openai

    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0)
    items: list[Any] = [{"role": "user", "content": "hi"}]

    def add(number: int) -> None:
        call_id = f"call_{number}"
        text = {"type": "output_text", "text": "I look at the file.", "annotations": []}
        call = {"call_id": call_id, "name": "read_file", "arguments": json.dumps(ARGS)}
        items.append({"type": "message", "role": "assistant", "content": [text]})
        items.append({"type": "function_call", **call})
        items.append({"type": "function_call_output", "call_id": call_id, "output": RESULT})

    async def once() -> None:
        stream = await client.responses.create(model="m", input=items, stream=True)
        async for _ in stream:
            pass

    return add, once, client.close


def _anthropic(url: str) -> Any:
    import anthropic

    client = anthropic.AsyncAnthropic(base_url=url, api_key="x", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": "hi"}]

    def add(number: int) -> None:
        call = {"type": "tool_use", "id": f"call_{number}", "name": "read_file", "input": ARGS}
        text = {"type": "text", "text": "I look at the file."}
        result = {"type": "tool_result", "tool_use_id": f"call_{number}", "content": RESULT}
        messages.append({"role": "assistant", "content": [text, call]})
        messages.append({"role": "user", "content": [result]})

    async def once() -> None:
        stream = await client.messages.create(
            model="m", max_tokens=100, messages=messages, stream=True
        )
        async for _ in stream:
            pass

    return add, once, client.close


def _gemini(url: str) -> Any:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=url)
    client = genai.Client(api_key="x", http_options=options)
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text="hi")])]

    def add(number: int) -> None:
        call = types.Part(
            function_call=types.FunctionCall(id=f"call_{number}", name="read_file", args=ARGS)
        )
        response = types.FunctionResponse(name="read_file", response={"output": RESULT})
        text = types.Part(text="I look at the file.")
        contents.append(types.Content(role="model", parts=[text, call]))
        result = types.Part(function_response=response)
        contents.append(types.Content(role="user", parts=[result]))

    async def once() -> None:
        stream = await client.aio.models.generate_content_stream(model="m", contents=contents)
        async for _ in stream:
            pass

    return add, once, client.aio.aclose


def child(who: str, wire: str, url: str, size: int, count: int) -> None:
    import asyncio

    async def main() -> None:
        add, once, close = (ours if who == "ours" else sdk)(wire, url)
        await once()
        for number in range(size):
            add(number)
        start = cpu()
        await once()
        first = cpu() - start
        spent = []
        for number in range(count):
            add(size + number)
            start = cpu()
            await once()
            spent.append(cpu() - start)
        await close()
        print(json.dumps({"first": first * 1000, "request": min(spent) * 1000}))

    asyncio.run(main())


def measure(who: str, wire: str, url: str, size: int, count: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", who, "--wire", wire, "--url", url]
    command += ["--sizes", str(size), "--requests", str(count)]
    environ = {**os.environ, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--sizes", default="0,50,200,500")
    parser.add_argument("--child")
    parser.add_argument("--wire")
    parser.add_argument("--url")
    options = parser.parse_args()
    if options.child:
        child(options.child, options.wire, options.url, int(options.sizes), options.requests)
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    print("CPU ms per request after N tool round trips (first: the one that encodes the history)")
    print(
        f"{'':<22}" + "".join(f"{f'N={size}':>9}" for size in sizes) + f"{'first':>9}{'ratio':>7}"
    )
    any_size = [{"text": "ok", "chunks": 1}] * (max(sizes) + options.requests + 2)
    with server(any_size) as url:
        base = url.removesuffix("/v1/chat/completions")
        for wire in FORMATS:
            last = 0.0
            for who in ("ours", "sdk"):
                name = f"{wire} {'ours' if who == 'ours' else MODULES[wire]}"
                if who == "sdk" and not _installed(MODULES[wire]):
                    print(f"{name:<22} not installed")
                    continue
                rows = [measure(who, wire, base, size, options.requests) for size in sizes]
                final = rows[-1]["request"]
                last = last or final
                cells = "".join(f"{row['request']:>9.2f}" for row in rows)
                print(f"{name:<22}{cells}{rows[-1]['first']:>9.2f}{final / last:>7.1f}")


if __name__ == "__main__":
    main()
