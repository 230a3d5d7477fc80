"""Which part of a harness a failure points to."""

from __future__ import annotations

from bridle.types.base import Fact


class Dimension(Fact, frozen=True, kw_only=True):
    """A part of a harness, and the field of the spec that sets it."""

    id: str
    label: str
    field: str


DIMENSIONS = {
    one.id: one
    for one in (
        Dimension(id="D1", label="model selection", field="model_policy"),
        Dimension(id="D2", label="context assembly", field="context"),
        Dimension(id="D3", label="memory management", field="context.memory"),
        Dimension(id="D4", label="tool ecosystem", field="agents.tools"),
        Dimension(id="D5", label="execution environment", field="execution_policy.sandbox"),
        Dimension(id="D6", label="evaluation and reward", field="checks"),
        Dimension(id="D7", label="control and safety", field="execution_policy"),
        Dimension(id="D8", label="observability", field="observability"),
        Dimension(id="D9", label="training bridge", field="metadata"),
    )
}
MODEL = ("authentication", "bad_request", "rate_limit", "unavailable", "timeout", "protocol", "cut")
BY_TYPE = {
    **dict.fromkeys((*MODEL, "configuration", "refused"), "D1"),
    "context_overflow": "D2",
    "unknown_tool": "D4",
    "sandbox": "D5",
    "output_invalid": "D6",
    "store": "D8",
}


def dimension_of(error_type: str) -> Dimension:
    """The dimension of a failure; what nothing else explains is a matter of control."""
    return DIMENSIONS[BY_TYPE.get(error_type, "D7")]
