"""The corpus of printed calls and the tools that it was written for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bridle.types.tools import ToolSpec

HERE = Path(__file__).parent / "text_calls"


def _tool(name: str, description: str, required: list[str], **properties: str) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
            "required": required,
        },
    )


TOOLS = (
    _tool("read_file", "Read a file.", ["path"], path="string", offset="integer", limit="integer"),
    _tool("write_file", "Write a file.", ["path", "content"], path="string", content="string"),
    _tool("bash", "Run a command.", ["command"], command="string", timeout="integer"),
    _tool(
        "grep", "Search files.", ["pattern"], pattern="string", path="string", ignore_case="boolean"
    ),
    _tool("list_files", "List a directory.", [], path="string"),
)


def cases(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


CALLS = ("tags", "xml", "tokens", "json", "python", "broken")
