"""Look at oneself: what is in the window, and what happened to an earlier call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ToolError
from bridle.tools.builtin.settings import thread_of
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types import events as ev
from bridle.types.content import Image, ToolCall, ToolResult
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.ports.tools import Window
    from bridle.types.messages import Message

MOST_FILES = 50
_INSTRUCTIONS = lazy(r"^# (\S+\.md)$", 8)  # re.MULTILINE


def inspect_context_tool() -> Tool:
    """Build the tool."""

    @tool(name="inspect_context", category="read", read_only=True, concurrency_safe=True)
    async def inspect_context(ctx: ToolContext[Any]) -> dict[str, Any]:
        """Tell what is in the context window: instructions, tools, files, tokens by part."""
        return described(thread_of(ctx).window())

    return inspect_context


def described(window: Window) -> dict[str, Any]:
    """The parts of a request with their sizes, counted by the model's tokenizer or estimated."""
    from bridle.models import tokens

    count = window.count
    exact = tokens.count("", window.model_id).exact
    tools = {spec.name: count(msgspec.json.encode(spec).decode()) for spec in window.tools}
    messages = [_texts(message) for message in window.messages]
    by_role: dict[str, int] = {}
    for message, texts in zip(window.messages, messages, strict=True):
        by_role[message.role] = by_role.get(message.role, 0) + sum(map(count, texts))
    total = count(window.system) + sum(tools.values()) + sum(by_role.values())
    return {
        "model": window.model_id,
        "context_window": window.context_window,
        "tokens": {
            "estimated": not exact,
            "total": total,
            "system": count(window.system),
            "tools": sum(tools.values()),
            "messages": by_role,
        },
        "instructions": _INSTRUCTIONS.findall(window.system),
        "tools": tools,
        "messages": len(window.messages),
        "files": _files(window.messages, count),
    }


def _texts(message: Message) -> list[str]:
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            texts.append(part.tool + msgspec.json.encode(part.args).decode())
        elif not isinstance(part, Image):
            texts.append(getattr(part, "text", ""))
    return texts


def _files(messages: Sequence[Message], count: Callable[[str], int]) -> dict[str, int]:
    """The files that were read into the conversation, largest first, with their tokens."""
    paths: dict[str, str] = {}
    found: dict[str, int] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall) and isinstance(part.args.get("path"), str):
                paths[part.id] = part.args["path"]
            elif isinstance(part, ToolResult) and part.tool == "read_file" and not part.is_error:
                name = paths.get(part.call_id, part.call_id)
                found[name] = found.get(name, 0) + count(part.text)
    largest = sorted(found, key=lambda name: -found[name])[:MOST_FILES]
    return {name: found[name] for name in largest}


def trace_tool_call_tool() -> Tool:
    """Build the tool."""

    @tool(name="trace_tool_call", category="read", read_only=True, concurrency_safe=True)
    async def trace_tool_call(
        ctx: ToolContext[Any], call_id: str | None = None, tool: str | None = None
    ) -> dict[str, Any]:
        """Tell how an earlier call was decided and how long it took; the last one by default."""
        return traced(await thread_of(ctx).events(), ctx.call_id, call_id=call_id, tool=tool)

    return trace_tool_call


def traced(
    events: Sequence[ev.Event], asking: str, *, call_id: str | None, tool: str | None
) -> dict[str, Any]:
    """What a log says of one call."""
    calls = [e for e in events if isinstance(e, ev.ToolCalled) and e.call_id != asking]
    chosen = [
        called
        for called in calls
        if (call_id is None or called.call_id == call_id or called.call_id.endswith(call_id))
        and (tool is None or called.tool == tool)
    ]
    if not chosen:
        recent = ", ".join(f"{e.call_id} ({e.tool})" for e in calls[-5:]) or "none"
        raise ToolError(f"There is no such call in this thread. The last: {recent}.")
    called = chosen[-1]
    about = [e for e in events if getattr(e, "call_id", None) == called.call_id]
    return {
        "call_id": called.call_id,
        "tool": called.tool,
        "args": called.args,
        "called_at": called.at,
        "decisions": [_decision(e) for e in about if isinstance(e, ev.PermissionDecided)],
        "answers": [
            {"approved": e.approved, "at": e.at, "always": e.always, "reason": e.reason}
            for e in about
            if isinstance(e, ev.ApprovalAnswered)
        ],
        "result": next(
            (_result(e) for e in about if isinstance(e, ev.ToolReturned)), "(still open)"
        ),
    }


def _decision(event: ev.PermissionDecided) -> dict[str, Any]:
    return {
        "effect": event.effect,
        "rule": event.rule,
        "layer": event.layer,
        "source": event.source,
        "reason": event.reason,
        "trace": [msgspec.to_builtins(step) for step in event.trace],
    }


def _result(event: ev.ToolReturned) -> dict[str, Any]:
    return {
        "at": event.at,
        "duration_ms": event.duration_ms,
        "is_error": event.is_error,
        "denied": event.denied,
        "kind": event.kind,
        "artefact": event.artefact,
    }
