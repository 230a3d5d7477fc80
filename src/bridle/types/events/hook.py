"""The event of a hook."""

from typing import ClassVar, Literal

from bridle.types.events.base import Event, Origin
from bridle.types.permissions import Verdict
from bridle.types.tools import CallFacts

HookOutcome = Literal["passed", "allowed", "asked", "blocked", "changed", "halted", "failed"]
HookMoment = Literal["opening", "gate", "returned", "closing", "reaction", "shutdown"]


class HookRan(Event, frozen=True, kw_only=True, tag="hook_ran"):
    """A hook was run, and this is what came of it; a replay takes it from here.

    `effect` is what it decides about a call, `facts` what its changed arguments mean. `context` is
    told to the model, `text` stands in the place of the user's. A `halt` ends the run.
    """

    origin: ClassVar[Origin] = "input"

    hook: str
    event: str
    hook_type: str
    moment: HookMoment
    outcome: HookOutcome
    duration_ms: int
    layer: str
    source: str | None = None
    call_id: str | None = None
    input_id: str | None = None
    effect: Verdict | None = None
    reason: str | None = None
    facts: CallFacts | None = None
    context: str | None = None
    text: str | None = None
    halt: bool = False
