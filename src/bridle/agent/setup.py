"""What a run works with, captured when it starts and the same when it is resumed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bridle.gate.batch import Concurrency
from bridle.journal.state import ThreadState
from bridle.ports.model import Model, ModelSettings
from bridle.types.base import Fixed
from bridle.types.chain import digest
from bridle.types.limits import Limits
from bridle.types.tools import ToolSpec

if TYPE_CHECKING:
    from bridle.agent.budget import Budget
    from bridle.gate.decide import Decider
    from bridle.journal.calls import CallState
    from bridle.journal.run_state import RunState
    from bridle.ports.classifier import Classifier
    from bridle.ports.hooks import HookPort
    from bridle.ports.tools import CallScope, Settled, Suspended
    from bridle.types.events import CheckEnded, CheckStarted, Event, RunStarted
    from bridle.types.ops import Send
    from bridle.types.permissions import Policy


NATIVE = "native"


class RequestHead(msgspec.Struct, frozen=True, kw_only=True):
    """The part of every request that does not change within a run."""

    system: str
    tools: tuple[ToolSpec, ...]
    settings: ModelSettings = ModelSettings()
    history: int | None = None

    def blob(self) -> bytes:
        """The bytes that the log names by their hash."""
        return msgspec.json.encode(self)


class Checks(Protocol):
    """The checks that decide whether a result is verified."""

    @property
    def max_rounds(self) -> int:
        """How often failures are sent back to the agent."""
        ...

    async def plan(self, run_id: str) -> tuple[CheckStarted, ...]:
        """Name the checks of a run; none means that none are enabled."""
        ...

    async def run(self, check: CheckStarted, output: str) -> CheckEnded:
        """Run one check on what is there and on the answer."""
        ...


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has."""
    return len(text) // 4 + 1


class CallRunner(Protocol):
    """Runs calls that were let through."""

    async def run(self, state: CallState, scope: CallScope) -> Settled | Suspended:
        """Run a call to its one outcome: the events that settle it, its result last."""
        ...


class RunSetup(Fixed, frozen=True, kw_only=True):
    """Model, tools and rules of one run; `model_id` is the id that the model was asked for by.

    `stop_when` looks at the run after each step and tells whether it has done enough.
    """

    model_id: str
    model: Model
    head: RequestHead
    policy: Policy
    decider: Decider
    runner: CallRunner
    budget: Budget
    count: Callable[[str], int] = estimated_tokens
    tool_calls: str = NATIVE
    """How the model is told its tools and writes its calls."""
    limits: Limits = msgspec.field(default_factory=Limits)
    fallbacks: tuple[str, ...] = ()
    checks: Checks | None = None
    classifier: Classifier | None = None
    hooks: HookPort | None = None
    mode_id: str = "main"
    news: tuple[Event, ...] = ()
    """What its preparation has to tell the thread: recorded before the run begins or goes on."""
    after_plan: tuple[str, str | None] | None = None
    """The mode, and its model, in which an approved plan goes on."""
    concurrency: Concurrency = msgspec.field(default_factory=Concurrency)
    stop_when: Callable[[RunState], bool] | None = None

    def is_of(self, model_id: str | None, mode_id: str) -> bool:
        """Whether this is still the setup for a model and a mode."""
        return self.model_id == model_id and self.mode_id == mode_id

    @property
    def head_blob(self) -> bytes:
        """The request head as it is stored."""
        return self.head.blob()

    @property
    def policy_blob(self) -> bytes:
        """The compiled policy as it is stored."""
        return msgspec.json.encode(self.policy)


class Wanted(Fixed, frozen=True, kw_only=True):
    """What a run was asked to be (`send`), or what it already is (`started`).

    `mode`, `model`, `head` and `values` are what a started run has come to: it may have changed
    its mode, fallen back to another model, been told more, and its requests may begin differently.
    """

    send: Send | None = None
    started: RunStarted | None = None
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    mode: str | None = None
    model: str | None = None
    head: str | None = None


Prepare = Callable[[ThreadState, Wanted], Awaitable[RunSetup]]
"""Builds the setup of a run; raises `UserError` when it cannot."""


def names(setup: RunSetup) -> tuple[str, str]:
    """The hashes of head and policy."""
    return digest(setup.head_blob), digest(setup.policy_blob)
