"""The card of an approval: what a call would do, in the words of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridle.types.permissions import Decision
    from bridle.types.tools import CallFacts


def card(tool: str, facts: CallFacts, args: dict[str, Any], decision: Decision) -> dict[str, Any]:
    """Tell what is asked, why, and what "always" would mean."""
    return {
        "title": f"{tool}: {facts.command}" if facts.command else tool,
        "command": facts.command,
        "files": list(facts.paths),
        "hosts": list(facts.hosts),
        "reversible": facts.read_only or (not facts.destructive and facts.category == "edit"),
        "why": decision.reason,
        "arguments": sorted(args),
        "always": {"category": facts.category, "tool": tool},
    }
