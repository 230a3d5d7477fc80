"""Conditions of a hook: it runs only when what it would be told fulfils all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from bridle.errors import ConfigError, suggest
from bridle.types.base import Fact

OPERATORS = ("equals", "not_equals", "matches", "contains", "in", "exists")
FIELDS = (
    "tool_name", "tool_input", "tool_response", "prompt", "message", "cwd", "permission_mode",
    "mode", "model", "depth", "agent_type", "source", "reason", "error", "title", "task",
    "notification_type",
)  # fmt: skip
"""The first part of a condition's field."""


class Condition(Fact, frozen=True, kw_only=True):
    """One field of what a hook is told, such as `tool_input.path`, and what it must be."""

    field: str
    operator: str
    value: Any

    def holds(self, data: Mapping[str, Any]) -> bool:
        """Whether it is fulfilled; a field that is not there fulfils only `exists: false`."""
        found, there = _find(data, self.field)
        match self.operator:
            case "exists":
                return there is bool(self.value)
            case "not_equals":
                return not there or found != self.value
            case _ if not there:
                return False
            case "equals":
                return bool(found == self.value)
            case "matches":
                return fnmatchcase(str(found), str(self.value))
            case "contains":
                return str(self.value) in (found if isinstance(found, list) else str(found))
            case _:
                return found in self.value


def read_conditions(given: Sequence[Mapping[str, Any]]) -> tuple[Condition, ...]:
    """Check conditions as they are written: a `field` and one operator."""
    return tuple(_read(entry) for entry in given)


def _read(entry: Any) -> Condition:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("field"), str):
        raise ConfigError(
            "A condition is a field and one operator, such as "
            "{field: tool_input.path, matches: '*.py'}."
        )
    root = str(entry["field"]).partition(".")[0]
    if root not in FIELDS:
        raise ConfigError(suggest(root, FIELDS, what="field of a condition"))
    operators = [str(key) for key in entry if key != "field"]
    unknown = next((name for name in operators if name not in OPERATORS), None)
    if unknown is not None:
        raise ConfigError(suggest(unknown, OPERATORS, what="operator"))
    if len(operators) != 1:
        raise ConfigError(f"A condition has one operator of {', '.join(OPERATORS)}.")
    value = entry[operators[0]]
    if operators[0] == "in" and not isinstance(value, list | tuple):
        raise ConfigError("The operator `in` needs a list.")
    if operators[0] == "exists" and not isinstance(value, bool):
        raise ConfigError("The operator `exists` is true or false.")
    return Condition(field=str(entry["field"]), operator=operators[0], value=value)


def _find(data: Mapping[str, Any], field: str) -> tuple[Any, bool]:
    found: Any = data
    for name in field.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None, False
        found = found[name]
    return found, True
