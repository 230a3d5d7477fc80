"""Hooks, as the engine asks them; a replay answers from the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from bridle.types.base import Fact, Fixed
from bridle.types.content import ToolCall
from bridle.types.permissions import Decision, HookVerdict
from bridle.types.tools import CallFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.types.content import Part
    from bridle.types.events import AnyEvent, Event, HookRan

Describe = Callable[[ToolCall], CallFacts]
Judge = Callable[[ToolCall, CallFacts, HookVerdict | None], Decision]


class HookScope(Fact, frozen=True, kw_only=True):
    """Where something happens that hooks are told of."""

    thread_id: str
    run_id: str | None = None
    depth: int = 0
    mode: str = ""
    model: str | None = None
    agent_type: str | None = None


class Question(Fixed, frozen=True, kw_only=True):
    """A call that hooks are asked about, and how it is described and decided."""

    scope: HookScope
    call: ToolCall
    facts: CallFacts
    describe: Describe
    judge: Judge


class Close(Fact, frozen=True, kw_only=True):
    """How a run is about to end; `natural` when the model came to an end by itself."""

    reason: str
    natural: bool
    text: str = ""
    error: str | None = None
    again: bool = False


class HookPort(Protocol):
    """The hooks of a run. Nothing that a hook does is raised: all of it is in the events."""

    def marks(self, call: ToolCall, facts: CallFacts) -> tuple[str, ...]:
        """Name the hooks that are asked before this call is decided."""
        ...

    async def gate(self, question: Question) -> tuple[HookRan, ...]:
        """Ask about a call before it is decided."""
        ...

    async def opening(
        self, scope: HookScope, input_id: str, parts: tuple[Part, ...], *, starts: str | None
    ) -> tuple[HookRan, ...]:
        """Show what the user said, before the model sees it; `starts` how the thread begins."""
        ...

    async def returned(
        self, scope: HookScope, call: ToolCall, facts: CallFacts, events: Sequence[Event]
    ) -> tuple[Event, ...]:
        """Show the result of a call before it is recorded; its events come back, result last."""
        ...

    async def closing(self, scope: HookScope, close: Close) -> tuple[HookRan, ...]:
        """Tell that a run is about to end."""
        ...

    def noticed(self, event: AnyEvent) -> None:
        """Something was recorded that hooks may be told of."""
        ...

    async def reactions(self, scope: HookScope) -> tuple[HookRan, ...]:
        """Tell of what was noticed since."""
        ...
