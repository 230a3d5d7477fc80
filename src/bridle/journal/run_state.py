"""What the log says of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.types.base import Moving
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.journal.calls import CallState
    from bridle.ports.tools import Helper
    from bridle.types import events as ev
    from bridle.types.content import ToolCall
    from bridle.types.messages import Message


class OpenRequest(Moving):
    """A model request that was started and has no answer in the log yet."""

    message_id: str
    reservation: ev.BudgetReserved | None


class RunState(Moving):
    """One run: what it was given and what it has used."""

    run_id: str
    start: ev.RunStarted
    steps: int = 0
    tool_calls: int = 0
    usage: Usage = msgspec.field(default_factory=Usage)
    cost_usd: float = 0.0
    unpriced: bool = False
    """Whether something was asked of a model whose price is not known."""
    request: OpenRequest | None = None
    reservation: ev.BudgetReserved | None = None
    calls: list[CallState] = msgspec.field(default_factory=list)
    asked: tuple[ToolCall, ...] = ()
    """The calls of the last message; `calls` are those of them that were recorded."""
    last: Message | None = None
    addressed: bool = False
    """Whether somebody spoke since `last`, which may be empty and then is in no history."""
    text: str = ""
    """The last words of the model, where it had any."""
    files: dict[str, None] = msgspec.field(default_factory=dict)
    """What its calls changed, in order."""
    mode_id: str = "main"
    head: str = ""
    measured: tuple[int, int] = (0, 0)
    """Tokens of the last request and its answer, as told, and the weight of the thread then."""
    model_id: str | None = None
    fallen: int = 0
    """How many of the fallback models were taken."""
    paused: bool = False
    paused_at: str = ""
    parked_seconds: float = 0.0
    failures: int = 0
    """Requests that failed since the last answer."""
    error: ev.ErrorRaised | None = None
    exhausted: str | None = None
    expired: bool = False
    halted: ev.HookRan | None = None
    """The hook that ended the run."""
    told: list[str] = msgspec.field(default_factory=list)
    """Words of hooks that the model reads when its calls are settled."""
    closed: int | None = None
    """The step after which hooks let the run end."""
    kept_on: int = 0
    """How often hooks did not."""
    checks: dict[str, ev.CheckEnded] = msgspec.field(default_factory=dict)
    rounds: int = 0
    """How often failed checks were sent back."""
    retold: int = 0
    """How often an answer of the wrong form was sent back."""
    trail: list[tuple[str, ...]] = msgspec.field(default_factory=list)
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    """The request's context: what the run began with, then what steers and answers brought."""
    ended: ev.RunEnded | None = None
    satisfied: bool = False
    """Whether what `stop_when` looks for was found."""
    helpers: dict[str, Helper] = msgspec.field(default_factory=dict)
    """The children that no call waits for, by the call that started them."""

    @property
    def open_calls(self) -> list[CallState]:
        """The calls of the present step without a result, in order."""
        return [call for call in self.calls if not call.settled]

    @property
    def open_children(self) -> list[ev.SubagentStarted]:
        """The children that still work, waited for or not."""
        waited = [call.child for call in self.open_calls if call.child is not None]
        return waited + [one.started for one in self.helpers.values() if one.ended is None]

    @property
    def held_calls(self) -> list[CallState]:
        """The calls that hooks are asked about before they are decided."""
        return [call for call in self.calls if call.held]
