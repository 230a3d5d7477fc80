"""Events about a run: its start, its pauses, its end, and what went wrong."""

from typing import Any, ClassVar

import msgspec

from bridle.types.events.base import Event, Origin
from bridle.types.ledger import Price
from bridle.types.limits import Limits
from bridle.types.runs import Failure, Reason, RunVerdict
from bridle.types.usage import Usage


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a parked run waits for."""

    id: str
    kind: str
    call_id: str


class RunStarted(Event, frozen=True, kw_only=True, tag="agent_start"):
    """A run begins. What it is bound by is named here and kept with the log.

    `head` and `policy` are hashes of blobs: the stable part of every request (instructions and
    tools) and the compiled policy. `parallel` is how many calls run at once, in all and of one
    category: what may have been running when a process died follows from it. `check_rounds` is how
    often failed checks are sent back to the agent.
    """

    origin: ClassVar[Origin] = "input"

    consumes: tuple[str, ...]
    model_id: str | None
    fallbacks: tuple[str, ...] = ()
    mode_id: str = "main"
    task: str = ""
    head: str = ""
    policy: str = ""
    limits: Limits = Limits()
    parallel: tuple[int, int] = (5, 3)
    price: Price | None = None
    account: str = ""
    depth: int = 0
    parent_run_id: str | None = None
    context: dict[str, Any] = msgspec.field(default_factory=dict)
    check_rounds: int = 0


class RunPaused(Event, frozen=True, kw_only=True, tag="agent_paused"):
    """Nothing can go on until something that the run waits for is answered."""

    waiting: tuple[Waiting, ...]


class RunResumed(Event, frozen=True, kw_only=True, tag="agent_resumed"):
    """An answer came and the run goes on."""


class RunEnded(Event, frozen=True, kw_only=True, tag="agent_end"):
    """The last event of a run, with its one reason."""

    reason: Reason
    verdict: RunVerdict
    usage: Usage
    cost_usd: float = 0.0
    error: Failure | None = None
    consumes: tuple[str, ...] = ()


class ErrorRaised(Event, frozen=True, kw_only=True, tag="error"):
    """Something failed; whether the run ends is told by what follows."""

    origin: ClassVar[Origin] = "input"

    error: Failure
    retryable: bool = False


class Noted(Event, frozen=True, kw_only=True, tag="info"):
    """Something that a user should know; `code` names what it is about."""

    origin: ClassVar[Origin] = "input"

    code: str
    text: str
    consumes: tuple[str, ...] = ()
    call_id: str | msgspec.UnsetType = msgspec.UNSET


class CheckStarted(Event, frozen=True, kw_only=True, tag="check_start"):
    """A check of the run's result begins."""

    origin: ClassVar[Origin] = "input"

    name: str
    command: str
    timeout: float = 300.0


class CheckEnded(Event, frozen=True, kw_only=True, tag="check_end"):
    """What a check said. Only this decides whether a result is verified."""

    origin: ClassVar[Origin] = "input"

    name: str
    passed: bool
    output: str
    exit_code: int | None
    duration_ms: int
