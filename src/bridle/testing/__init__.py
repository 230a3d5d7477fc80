"""For tests of agents: a model that plays a script, faults included. No network, no clock."""

from bridle.models.scripted import (
    ScriptedModel,
    calls,
    cuts,
    fails,
    malformed,
    says,
    slow,
    stalls,
    thinks,
    uses,
)

__all__ = [
    "ScriptedModel",
    "calls",
    "cuts",
    "fails",
    "malformed",
    "says",
    "slow",
    "stalls",
    "thinks",
    "uses",
]
