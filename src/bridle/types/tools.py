"""What a tool is to the model, what a call of it means to the gate, and how it can end."""

from typing import Any, Literal

import msgspec

from bridle.types.content import Image
from bridle.types.permissions import Classified

Category = Literal["read", "edit", "execute", "mcp", "other"]
Effect = Literal["safe", "keyed", "once"]
PendingKind = Literal["approval", "question", "plan", "tool", "subagent", "wait"]

AGENT_KINDS: frozenset[str] = frozenset({"subagent", "wait"})
"""What agents wait for among themselves; no person can answer it."""

CATEGORIES: tuple[Category, ...] = ("read", "edit", "execute", "mcp", "other")


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told of a tool."""

    name: str
    description: str
    parameters: dict[str, Any]


class CallFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the gate knows of one call: its validated arguments and the tool's attributes for them.

    What a tool does not say is taken as unsafe. `args` is set when they differ from what the model
    wrote. `paths` and `hosts` are what the call touches, as far as the tool can tell; paths are
    resolved by whoever makes the facts. `cwd` is a working directory that the model asked for,
    `cost_usd` what the call costs beside the model's tokens. `hooks` are asked before it is
    decided. `problem` is set when the call cannot run at all, with its `problem_kind`.
    `classified` is what a classifier said of a call that would be asked for.
    """

    args: dict[str, Any] | None = None
    category: Category = "other"
    read_only: bool = False
    destructive: bool = False
    concurrency_safe: bool = False
    effect: Effect = "once"
    timeout: float | None = None
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    command: str | None = None
    cwd: str | None = None
    asks_user: bool = False
    delegates: bool = False
    cost_usd: float | None = None
    hooks: tuple[str, ...] = ()
    problem: str | None = None
    problem_kind: str = "invalid_arguments"
    classified: Classified | None = None


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The call ran and this is what it says."""

    text: str
    images: tuple[Image, ...] = ()
    data: Any = None


class Failed(msgspec.Struct, frozen=True, tag="failed", omit_defaults=True):
    """The call did not succeed; the model is told why and what to try."""

    text: str
    kind: str = "tool_error"
    denied: bool = False


Settlement = Done | Failed
