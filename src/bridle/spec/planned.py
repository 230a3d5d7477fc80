"""Fields of the format that this version does not enforce: refused by name, never skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable

PLANNED = frozenset(
    [
        "inherits",
        "runtime",
        "tools.concurrency",
        "tools.timeout",
        "agents",
        "modes",
        "workflow",
        "mcp",
        "metadata",
        "limits.max_depth",
        "limits.max_parallel",
        "context.skills_dirs",
        "context.compaction",
        "context.observation",
        "context.memory",
        "context.pins",
        "observability.events",
        "observability.traces",
    ]
)


def unknown_field(name: str, at: tuple[str | int, ...], known: Iterable[str]) -> str:
    """Say why a field is refused, and the nearest name that exists."""
    where = ".".join(str(part) for part in at)
    full = f"{where}.{name}" if where else name
    if full in PLANNED:
        return f"{full!r} is not enforced by this version, so it is refused; remove it."
    return suggest(name, known, what=f"field in {where}" if where else "field")
