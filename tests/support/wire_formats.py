"""Scripted answers as the bytes of each wire format, the way the providers stream them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Item = dict[str, Any]
"""text, thinking, calls: [{tool, args, id?}], chunks, stop,
usage: {input, output, cached, reasoning}"""


def _usage(item: Item) -> dict[str, int]:
    return {"input": 100, "output": 20, "cached": 0, "reasoning": 0, **item.get("usage", {})}


def _pieces(text: str, count: int) -> Iterator[str]:
    """Cut a text into about `count` pieces."""
    step = max(1, -(-len(text) // max(1, count)))
    for start in range(0, len(text), step):
        yield text[start : start + step]


def _calls(item: Item) -> Iterator[tuple[int, str, str, str]]:
    """Index, id, tool and argument text of each call; a `str` of arguments is sent as it is."""
    for index, call in enumerate(item.get("calls", ())):
        args = call.get("args", {})
        text = args if isinstance(args, str) else json.dumps(args)
        yield index, call.get("id", f"call_{item.get('n', 0)}_{index}"), call["tool"], text


def data(value: Any, name: str | None = None) -> bytes:
    """One SSE frame."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def chat(item: Item) -> Iterator[bytes]:
    """Chat completions: text, calls, finish reason, usage, [DONE]."""
    chunks = item.get("chunks", 3)

    def choice(delta: Any, finish: str | None = None) -> bytes:
        return data(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "served-model",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }
        )

    yield choice({"role": "assistant", "content": ""})
    for piece in _pieces(item.get("thinking", ""), chunks):
        yield choice({"reasoning_content": piece})
    for piece in _pieces(item.get("text", ""), chunks):
        yield choice({"content": piece})
    for index, call_id, tool, text in _calls(item):
        function = {"name": tool, "arguments": ""}
        head = {"index": index, "id": call_id, "type": "function", "function": function}
        yield choice({"tool_calls": [head]})
        for piece in _pieces(text, chunks):
            yield choice({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield choice({}, item.get("stop") or ("tool_calls" if item.get("calls") else "stop"))
    used = _usage(item)
    yield data(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "served-model",
            "choices": [],
            "usage": {
                "prompt_tokens": used["input"],
                "completion_tokens": used["output"],
                "total_tokens": used["input"] + used["output"],
                "prompt_tokens_details": {"cached_tokens": used["cached"]},
                "completion_tokens_details": {"reasoning_tokens": used["reasoning"]},
            },
        }
    )
    yield b"data: [DONE]\n\n"


def responses(item: Item) -> Iterator[bytes]:
    """OpenAI Responses: output items with their deltas, then response.completed."""
    chunks = item.get("chunks", 3)
    number = 0
    output = 0
    items: list[Any] = []

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return data({"type": kind, "sequence_number": number, **fields}, kind)

    base = {"id": "resp_1", "object": "response", "model": "served-model"}
    yield event("response.created", response={**base, "status": "in_progress", "output": []})
    if item.get("thinking"):
        head = {"type": "reasoning", "id": "rs_1", "summary": []}
        yield event("response.output_item.added", output_index=output, item=head)
        at = {"item_id": "rs_1", "output_index": output, "summary_index": 0}
        empty = {"type": "summary_text", "text": ""}
        yield event("response.reasoning_summary_part.added", **at, part=empty)
        for piece in _pieces(item["thinking"], chunks):
            yield event("response.reasoning_summary_text.delta", **at, delta=piece)
        yield event("response.reasoning_summary_text.done", **at, text=item["thinking"])
        whole = {"type": "summary_text", "text": item["thinking"]}
        done = {**head, "summary": [whole], "encrypted_content": "sealed=="}
        yield event("response.output_item.done", output_index=output, item=done)
        items.append(done)
        output += 1
    if item.get("text"):
        head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress"}
        yield event("response.output_item.added", output_index=output, item={**head, "content": []})
        at = {"item_id": "msg_1", "output_index": output, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        yield event("response.content_part.added", **at, part=part)
        for piece in _pieces(item["text"], chunks):
            yield event("response.output_text.delta", **at, delta=piece)
        yield event("response.output_text.done", **at, text=item["text"])
        part = {**part, "text": item["text"]}
        yield event("response.content_part.done", **at, part=part)
        done = {**head, "status": "completed", "content": [part]}
        yield event("response.output_item.done", output_index=output, item=done)
        items.append(done)
        output += 1
    for index, call_id, tool, text in _calls(item):
        head = {"type": "function_call", "id": f"fc_{index}", "call_id": call_id, "name": tool}
        start = {**head, "arguments": "", "status": "in_progress"}
        yield event("response.output_item.added", output_index=output, item=start)
        at = {"item_id": f"fc_{index}", "output_index": output}
        for piece in _pieces(text, chunks):
            yield event("response.function_call_arguments.delta", **at, delta=piece)
        yield event("response.function_call_arguments.done", **at, arguments=text)
        done = {**head, "arguments": text, "status": "completed"}
        yield event("response.output_item.done", output_index=output, item=done)
        items.append(done)
        output += 1
    used = _usage(item)
    stop = item.get("stop")
    status = "incomplete" if stop else "completed"
    response = {
        **base,
        "status": status,
        "incomplete_details": {"reason": stop} if stop else None,
        "output": items,
        "usage": {
            "input_tokens": used["input"],
            "input_tokens_details": {"cached_tokens": used["cached"]},
            "output_tokens": used["output"],
            "output_tokens_details": {"reasoning_tokens": used["reasoning"]},
            "total_tokens": used["input"] + used["output"],
        },
    }
    yield event(f"response.{status}", response=response)


def anthropic(item: Item) -> Iterator[bytes]:
    """Anthropic Messages: content blocks with their deltas, then message_stop."""
    chunks = item.get("chunks", 3)
    used = _usage(item)
    index = 0

    def event(kind: str, **fields: Any) -> bytes:
        return data({"type": kind, **fields}, kind)

    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-model",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": used["input"] - used["cached"],
            "cache_read_input_tokens": used["cached"],
            "cache_creation_input_tokens": 0,
            "output_tokens": 1,
        },
    }
    yield event("message_start", message=message)
    yield event("ping")

    def block(start: Any, deltas: list[Any]) -> Iterator[bytes]:
        nonlocal index
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
        index += 1

    if item.get("thinking"):
        deltas: list[Any] = [
            {"type": "thinking_delta", "thinking": p} for p in _pieces(item["thinking"], chunks)
        ]
        deltas.append({"type": "signature_delta", "signature": "sealed=="})
        yield from block({"type": "thinking", "thinking": "", "signature": ""}, deltas)
    if item.get("text"):
        texts = [{"type": "text_delta", "text": p} for p in _pieces(item["text"], chunks)]
        yield from block({"type": "text", "text": ""}, texts)
    for _, call_id, tool, text in _calls(item):
        pieces = [
            {"type": "input_json_delta", "partial_json": p} for p in ("", *_pieces(text, chunks))
        ]
        start = {"type": "tool_use", "id": call_id, "name": tool, "input": {}}
        yield from block(start, pieces)
    stop = item.get("stop") or ("tool_use" if item.get("calls") else "end_turn")
    delta = {"stop_reason": stop, "stop_sequence": item.get("stop_sequence")}
    yield event("message_delta", delta=delta, usage={"output_tokens": used["output"]})
    yield event("message_stop")


def gemini(item: Item) -> Iterator[bytes]:
    """Gemini: whole candidates per chunk; calls are not cut; the last one has a finish reason."""
    chunks = item.get("chunks", 3)
    used = _usage(item)
    meta = {
        "promptTokenCount": used["input"],
        "candidatesTokenCount": used["output"] - used["reasoning"],
        "thoughtsTokenCount": used["reasoning"],
        "cachedContentTokenCount": used["cached"],
        "totalTokenCount": used["input"] + used["output"],
    }

    def chunk(parts: list[Any], finish: str | None = None) -> bytes:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        body = {"candidates": [candidate], "usageMetadata": meta, "modelVersion": "served-model"}
        return data(body)

    for piece in _pieces(item.get("thinking", ""), chunks):
        yield chunk([{"text": piece, "thought": True}])
    for piece in _pieces(item.get("text", ""), chunks):
        yield chunk([{"text": piece}])
    for index, call in enumerate(item.get("calls", ())):
        part: dict[str, Any] = {
            "functionCall": {"name": call["tool"], "args": call.get("args", {})}
        }
        if "id" in call:
            part["functionCall"]["id"] = call["id"]
        if index == 0 and item.get("thinking"):
            part["thoughtSignature"] = "sealed=="
        yield chunk([part])
    yield chunk([{"text": ""}], item.get("stop") or "STOP")


FORMATS = {"chat": chat, "responses": responses, "anthropic": anthropic, "gemini": gemini}


def format_of(path: str) -> str:
    """The wire format that a request's path belongs to."""
    if path.endswith("/chat/completions"):
        return "chat"
    if path.endswith("/responses"):
        return "responses"
    if path.endswith("/messages"):
        return "anthropic"
    if "generateContent" in path or "streamGenerateContent" in path:
        return "gemini"
    raise ValueError(f"no wire format at {path}")


def answered(wire: str, body: Any) -> int:
    """How many answers the request already holds: the ordinal of the next one."""
    match wire:
        case "responses":
            own = [_from_model(entry) for entry in body.get("input", ()) if isinstance(entry, dict)]
            return sum(now and not before for before, now in zip([False, *own], own, strict=False))
        case "gemini":
            return sum(content.get("role") == "model" for content in body.get("contents", ()))
        case _:
            return sum(m.get("role") == "assistant" for m in body.get("messages", ()))


def _from_model(entry: Any) -> bool:
    return entry.get("role") == "assistant" or entry.get("type") in {"function_call", "reasoning"}


def error_body(wire: str, status: int, message: str) -> bytes:
    """A refusal as the provider words it."""
    names = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
    kind = names.get(status, "api_error")
    if wire == "anthropic":
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    if wire == "gemini":
        words = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
        inner = {"code": status, "message": message, "status": words.get(status, "UNAVAILABLE")}
        return json.dumps({"error": inner}).encode()
    return json.dumps({"error": {"message": message, "type": kind, "code": None}}).encode()
