"""The profiles and packs that ship: how to treat a kind of work, and a family of models.

Local models differ in what they bear: how long a prompt, how many tools at once, and whether their
tool calls can be trusted to come as such.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.models.text_tools import ToolCallFormat
from bridle.ports.model import Reasoning

PromptLevel = Literal["full", "short", "minimal"]
ToolSurface = Literal["all", "core", "none"]

CORE_TOOLS = ("read_file", "write_file", "edit_file", "list_files", "glob", "grep", "bash")
"""The tools of the surface `core`."""


class Pack(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for a kind of work or a family of models; None says nothing.

    `history` is how many messages are sent at most; `match` are parts of model names for which the
    pack is taken without being named.
    """

    name: str
    description: str = ""
    match: tuple[str, ...] = ()
    temperature: float | None = None
    reasoning: Reasoning | None = None
    tool_call_format: ToolCallFormat | None = None
    parallel_tools: bool | None = None
    history: int | None = None
    prompt: PromptLevel | None = None
    tools: ToolSurface | None = None
    max_steps: int | None = None
    max_output_tokens: int | None = None
    context_window: int | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature must be from 0 to 2, got {self.temperature}")
        for name in ("history", "max_steps", "max_output_tokens", "context_window"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")


_ALL = (
    Pack(name="coding", description="all tools, the full prompt", prompt="full", tools="all"),
    Pack(name="core", description="read, search, edit, run", prompt="short", tools="core"),
    Pack(
        name="no-tool",
        description="the model alone: no tools, no reasoning",
        prompt="minimal",
        tools="none",
        reasoning="off",
    ),
    Pack(
        name="qwen-coding",
        description="Qwen coders: cool, native tools one at a time, long sessions",
        match=("qwen",),
        temperature=0.1,
        tool_call_format="native",
        parallel_tools=False,
        history=60,
        prompt="short",
    ),
    Pack(
        name="glm-coding",
        description="GLM: native tools one at a time, a longer history",
        match=("glm",),
        temperature=0.2,
        tool_call_format="native",
        parallel_tools=False,
        history=80,
        prompt="short",
    ),
    Pack(
        name="gemma4-coding",
        description="Gemma 4: minimal prompt, few tools, calls as strict JSON",
        match=("gemma",),
        temperature=0.1,
        tool_call_format="strict-json",
        parallel_tools=False,
        history=24,
        prompt="minimal",
        tools="core",
    ),
    Pack(
        name="gemma4-no-tool",
        description="Gemma 4 alone: no tools, a short history, no reasoning",
        temperature=0.2,
        reasoning="off",
        history=12,
        prompt="minimal",
        tools="none",
    ),
    Pack(
        name="ds4-coding",
        description="DeepSeek 4: few tools one at a time, little reasoning",
        match=("ds4", "deepseek-v4", "deepseek4"),
        temperature=0.1,
        reasoning="low",
        tool_call_format="native",
        parallel_tools=False,
        history=40,
        prompt="short",
        tools="core",
    ),
    Pack(
        name="ds4-fast-local",
        description="DeepSeek 4 on one machine: fewer steps, a short history, no reasoning",
        temperature=0.1,
        reasoning="off",
        tool_call_format="native",
        parallel_tools=False,
        history=16,
        prompt="minimal",
        tools="core",
        max_steps=20,
    ),
    Pack(
        name="tiny-local",
        description="models under a billion parameters: two tools at most make sense",
        match=("smollm",),
        temperature=0.0,
        reasoning="off",
        parallel_tools=False,
        history=6,
        prompt="minimal",
        tools="core",
        max_steps=8,
        max_output_tokens=256,
    ),
)

PACKS: dict[str, Pack] = {pack.name: pack for pack in _ALL}
