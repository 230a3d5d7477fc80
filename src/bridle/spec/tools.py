"""Which tools an agent is offered."""

from __future__ import annotations

from bridle.spec.base import Section


class ToolsSection(Section, frozen=True, kw_only=True):
    """Which built-in tools are offered."""

    enabled: list[str] = []
    disabled: list[str] = []
    search_url: str | None = None
