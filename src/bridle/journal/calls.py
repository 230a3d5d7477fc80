"""The state of one tool call, as the log tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bridle.types.base import Moving

if TYPE_CHECKING:
    from bridle.types.content import ToolCall
    from bridle.types.events import SubagentStarted, ToolReturned
    from bridle.types.permissions import Verdict
    from bridle.types.tools import CallFacts, PendingKind

CallStage = Literal["held", "decided", "asked", "suspended", "settled"]


class CallState(Moving):
    """One call of the present step: what was decided about it and how far it came."""

    call: ToolCall
    facts: CallFacts
    index: int
    effect: Verdict | None = None
    stage: CallStage = "decided"
    pending_id: str | None = None
    pending_kind: PendingKind | None = None
    started_at: str = ""
    payload: dict[str, Any] = msgspec.field(default_factory=dict)
    resumed: Any = None
    approved: bool = False
    """Somebody said yes to it, as it is now."""
    child: SubagentStarted | None = None
    result: ToolReturned | None = None

    @property
    def settled(self) -> bool:
        """Whether the call has its one result."""
        return self.stage == "settled"

    @property
    def held(self) -> bool:
        """Whether hooks are asked before it is decided."""
        return self.stage == "held"

    @property
    def to_run(self) -> ToolCall:
        """The call with the arguments that were decided on."""
        if self.facts.args is None:
            return self.call
        return msgspec.structs.replace(self.call, args=self.facts.args)

    @property
    def waiting(self) -> bool:
        """Whether the call waits for somebody else."""
        return self.stage in ("asked", "suspended")
