"""How each generation of Claude is asked to think."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bridle.ports.model import Reasoning

_NEW = re.compile(r"claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])")
_OLD = re.compile(r"claude-(\d)(?:[-.](\d))?-([a-z]+)")
_BUDGETS = {"low": 2048, "medium": 8192, "high": 24576}
_MIN_BUDGET = 1024
_ALWAYS_ON = frozenset({"fable", "mythos"})


class Version(NamedTuple):
    """A Claude model's family and number; (0, 0) for other models behind the same format."""

    family: str
    number: tuple[int, int]


def version_of(model: str) -> Version:
    """Read the family and the number from a model id."""
    if new := _NEW.search(model):
        return Version(new[1], (int(new[2]), int(new[3] or 0)))
    if old := _OLD.search(model):
        return Version(old[3], (int(old[1]), int(old[2] or 0)))
    return Version("", (0, 0))


def default_max_tokens(version: Version) -> int:
    """An output limit that every model of the generation takes; the format requires one."""
    if version.number >= (3, 7):
        return 32_000
    return 4096 if (3, 0) <= version.number < (3, 5) else 8192


def thinking_fields(
    version: Version, reasoning: Reasoning, max_tokens: int, *, resuming: bool = False
) -> tuple[dict[str, Any] | None, str | None]:
    """The `thinking` object and the effort for a model; None leaves a field out.

    From 4.6 on the model decides how much it thinks and takes an effort; before, it gets a budget
    of tokens, which must leave room for the answer.
    """
    if version.number >= (4, 6):
        return _adaptive(version, reasoning)
    budget = min(_BUDGETS.get(reasoning, 0), max_tokens - _MIN_BUDGET)
    if budget < _MIN_BUDGET or resuming:
        return None, None
    return {"type": "enabled", "budget_tokens": budget}, None


def thinks(thinking: dict[str, Any] | None) -> bool:
    """Whether the model thinks by this object; then a temperature is refused."""
    return thinking is not None and thinking["type"] != "disabled"


def _adaptive(version: Version, reasoning: Reasoning) -> tuple[dict[str, Any] | None, str | None]:
    if reasoning == "off":
        return _off(version)
    thinking = {"type": "adaptive"}
    if version.number >= (4, 7):
        thinking["display"] = "summarized"  # left out of the answer otherwise
    return thinking, reasoning


def _off(version: Version) -> tuple[dict[str, Any] | None, str | None]:
    family, number = version
    if family in _ALWAYS_ON or (family == "opus" and number >= (5, 5)):
        return None, "low"  # it cannot be turned off
    if family == "sonnet" and number >= (5, 5):
        return {"type": "between_tools"}, None
    if number >= (5, 0):
        return {"type": "disabled"}, None
    return None, None
