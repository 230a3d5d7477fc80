"""The four wire formats as one table, for suites that run on all of them."""

from __future__ import annotations

import json
from typing import Any

from bridle.models.http import HttpClient
from bridle.models.providers.anthropic import Anthropic
from bridle.models.providers.gemini import Gemini
from bridle.models.providers.openai_chat import OpenAIChat
from bridle.models.providers.openai_responses import OpenAIResponses
from bridle.ports.model import ModelRequest
from bridle.types.messages import Message, user_message
from bridle.types.tools import ToolSpec
from support import wire_formats
from support.wire_formats import data

WIRES = ("chat", "responses", "anthropic", "gemini")
NAMES = {
    "chat": "gpt-5",
    "responses": "gpt-5",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
}
PROVIDERS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "google"}
KEY = "sk-very-secret-key"

ADD = ToolSpec(
    name="add",
    description="Add two numbers.",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
)


def make(wire: str, url: str, http: HttpClient, model: str | None = None) -> Any:
    """A model of this wire that talks to a server."""
    name = model or NAMES[wire]
    match wire:
        case "chat":
            return OpenAIChat(name, http=http, base_url=f"{url}/v1", api_key=KEY)
        case "responses":
            return OpenAIResponses(name, http=http, base_url=f"{url}/v1", api_key=KEY)
        case "anthropic":
            return Anthropic(name, http=http, base_url=url, api_key=KEY)
        case "gemini":
            return Gemini(name, http=http, base_url=f"{url}/v1beta", api_key=KEY)
        case _:
            raise ValueError(wire)


def ask(*messages: Message, **fields: Any) -> ModelRequest:
    """A request with one tool and a system text."""
    fields.setdefault("tools", (ADD,))
    fields.setdefault("system", "Be brief.")
    return ModelRequest(messages=messages or (user_message("m1", "hi"),), **fields)


def frames(wire: str, item: dict[str, Any]) -> list[bytes]:
    """The frames of a scripted answer."""
    return list(wire_formats.FORMATS[wire](item))


def error_frame(wire: str, message: str) -> bytes:
    """An overload told inside a stream."""
    match wire:
        case "chat":
            return data({"error": {"message": message, "code": 503}})
        case "responses":
            error = {"code": "server_error", "message": message}
            return data({"type": "response.failed", "response": {"error": error}})
        case "anthropic":
            error = {"type": "overloaded_error", "message": message}
            return data({"type": "error", "error": error}, "error")
        case _:
            return data({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}})


def texts(wire: str, body: dict[str, Any]) -> list[str]:
    """Every text of a request's messages, in order, without the system's."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in {"text", "content", "output"} and isinstance(inner, str):
                    found.append(inner)
                else:
                    walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    key = {"responses": "input", "gemini": "contents"}.get(wire, "messages")
    walk([m for m in body[key] if m.get("role") != "system"])
    return found


def holds(body: Any, text: str) -> bool:
    """Whether a text occurs anywhere in a request."""
    return text in json.dumps(body)
