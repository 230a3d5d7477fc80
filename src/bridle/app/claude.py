"""Permissions from the settings of another tool: `.claude/settings.json` of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.errors import ConfigError, SpecError
from bridle.hooks.claude import FILES, line_of, read_settings
from bridle.permissions.compile import from_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridle.types.permissions import Rule

EFFECTS = ("deny", "ask", "allow")


def claude_rules(root: Path) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules of such files, and notices of what has no effect here.

    Raises `SpecError` with the line of a refusal that cannot be read: a guard is not skipped.
    """
    patterns: dict[str, list[str]] = {effect: [] for effect in EFFECTS}
    places: dict[str, str] = {}
    notices: list[str] = []
    for path in [root / name for name in FILES if (root / name).is_file()]:
        settings, text = read_settings(path)
        section = settings.get("permissions", {})
        if not isinstance(section, dict):
            raise SpecError("permissions is not an object", file=str(path))
        for effect, pattern in _entries(section, path):
            line = line_of(text, pattern)
            try:
                from_settings({effect: [pattern]})
            except ConfigError as error:
                if effect != "allow":
                    told = f"permissions.{effect}: {error}"
                    raise SpecError(told, file=str(path), line=line) from error
                notices.append(f"{path}:{line}: {pattern!r} allows nothing here: {error}")
                continue
            places[f"{effect}[{len(patterns[effect])}]"] = f"{path}:{line}"
            patterns[effect].append(pattern)
        others = [name for name in section if name not in EFFECTS]
        notices += [f"{path}: permissions.{name} has no effect here" for name in others]
    return from_settings(patterns, at=places.get), tuple(notices)


def _entries(section: dict[str, Any], path: Path) -> Iterator[tuple[str, str]]:
    for effect in EFFECTS:
        patterns = section.get(effect, [])
        if not isinstance(patterns, list) or not all(isinstance(one, str) for one in patterns):
            raise SpecError(f"permissions.{effect} is not a list of texts", file=str(path))
        yield from ((effect, pattern) for pattern in patterns)
