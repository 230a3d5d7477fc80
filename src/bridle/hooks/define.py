"""What a user writes: a hook, what its function is given, and what it may answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bridle.errors import ConfigError
from bridle.hooks.conditions import Condition, read_conditions
from bridle.hooks.matching import check_matcher
from bridle.hooks.moments import MOMENTS, HookType, resolve
from bridle.types.base import Fact, Fixed

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_TIMEOUT = 5.0
LONGEST_TIMEOUT = 600.0
DEFAULT_PRIORITY = 50

OnFailure = Literal["block", "allow"]
Decision = Literal["allow", "ask", "deny", "block"]
Layer = Literal["harness", "user", "project"]


class HookContext(Fact, frozen=True, kw_only=True):
    """What a hook is told: the moment, and everything that is known of it."""

    event: str
    type: HookType
    thread_id: str
    run_id: str | None
    data: Mapping[str, Any]

    @property
    def tool(self) -> str | None:
        """The tool that is called, where the moment is about a call."""
        return self.data.get("tool_name")

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of the call."""
        return dict(self.data.get("tool_input", {}))

    @property
    def prompt(self) -> str:
        """What the user said."""
        return str(self.data.get("prompt", ""))

    @property
    def result(self) -> str:
        """What the tool returned."""
        return str(self.data.get("tool_response", ""))


class HookResult(Fact, frozen=True, kw_only=True):
    """What a hook answers; nothing of it means: go on.

    `decision` allows, asks for, or denies (blocks) what is about to happen. `args` replaces the
    arguments of a call, `text` the user's words or a tool's output. `context` is told to the model.
    `halt` ends the run.
    """

    decision: Decision | None = None
    reason: str | None = None
    args: dict[str, Any] | None = None
    text: str | None = None
    context: str | None = None
    halt: bool = False


Handler = Callable[[HookContext], Any]


class Hook(Fixed, frozen=True, kw_only=True):
    """Code that is run at a moment: a Python function, a command, or a URL; one of the three.

    `handler` is a function or `module:function`. Hooks run by priority, highest first. Only a hook
    on tools has a `matcher`; all `conditions` must hold. A `before` or `validate` hook that fails
    blocks, unless `on_failure` is "allow".
    """

    event: str
    type: str | None = None
    handler: Handler | str | None = None
    command: str | None = None
    url: str | None = None
    matcher: str | None = None
    priority: int = DEFAULT_PRIORITY
    timeout: float = DEFAULT_TIMEOUT
    conditions: Sequence[Mapping[str, Any]] = ()
    on_failure: OnFailure | None = None
    name: str | None = None


class Bound(Fixed, frozen=True, kw_only=True):
    """A hook that was checked: which moment it is bound to, in which layer, from which line.

    `dialect` is how tools are called towards it. `content` are the files of the project that it
    names, with the hashes that were trusted; a file that changes later stops the hook.
    """

    hook: Hook
    id: str
    event: str
    type: HookType
    on_failure: OnFailure
    conditions: tuple[Condition, ...] = ()
    layer: Layer = "harness"
    source: str | None = None
    dialect: Literal["bridle", "claude"] = "bridle"
    root: Path | None = None
    content: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def order(self) -> tuple[int, int]:
        """Before what it runs: what decides comes first, then by priority."""
        late = {"before": 0, "validate": 0, "transform": 1, "after": 2, "observe": 3}
        return (late[self.type], -self.hook.priority)

    @property
    def runs(self) -> str:
        """What it runs, in words."""
        if self.hook.command is not None:
            return self.hook.command
        if self.hook.url is not None:
            return f"POST {self.hook.url}"
        return handler_name(self.hook.handler)


def handler_name(handler: Handler | str | None) -> str:
    """The name of a Python handler."""
    if isinstance(handler, str):
        return handler
    module = getattr(handler, "__module__", "")
    return f"{module}:{getattr(handler, '__qualname__', type(handler).__name__)}"


def bind(
    hook: Hook,
    number: int,
    *,
    layer: Layer = "harness",
    source: str | None = None,
    dialect: Literal["bridle", "claude"] = "bridle",
    root: Path | None = None,
) -> Bound:
    """Check a hook; raises `ConfigError` with what is wrong and what there is instead."""
    event, kind = resolve(hook.event, hook.type)
    given = [name for name in ("handler", "command", "url") if getattr(hook, name) is not None]
    if len(given) != 1:
        raise ConfigError(
            f"A hook runs one of handler, command and url; this one has "
            f"{' and '.join(given) or 'none'}."
        )
    _check_numbers(hook)
    if hook.matcher is not None:
        if not MOMENTS[event].about_tools:
            raise ConfigError(f"A hook on {hook.event!r} has no matcher: it is not about a tool.")
        check_matcher(hook.matcher)
    if hook.url is not None and not hook.url.startswith(("http://", "https://")):
        raise ConfigError(f"The URL of a hook begins with http:// or https://, not {hook.url!r}.")
    if isinstance(hook.command, str) and not hook.command.strip():
        raise ConfigError("The command of a hook is empty.")
    if kind in ("after", "observe") and hook.on_failure == "block":
        raise ConfigError(f"A failing {kind!r} hook never blocks; on_failure cannot be 'block'.")
    blocks: OnFailure = "block" if kind in ("before", "validate") else "allow"
    return Bound(
        hook=hook,
        id=hook.name or f"{hook.event}[{number}]",
        event=event,
        type=kind,
        on_failure=hook.on_failure or blocks,
        conditions=read_conditions(hook.conditions),
        layer=layer,
        source=source,
        dialect=dialect,
        root=root,
    )


def _check_numbers(hook: Hook) -> None:
    if isinstance(hook.priority, bool) or not 0 <= hook.priority <= 100:
        raise ConfigError(f"The priority of a hook is from 0 to 100, not {hook.priority!r}.")
    if isinstance(hook.timeout, bool) or not 0 < hook.timeout <= LONGEST_TIMEOUT:
        raise ConfigError(
            f"The timeout of a hook is up to {LONGEST_TIMEOUT:g} seconds, not {hook.timeout!r}."
        )
    if hook.on_failure not in (None, "block", "allow"):
        raise ConfigError(f"on_failure is 'block' or 'allow', not {hook.on_failure!r}.")
