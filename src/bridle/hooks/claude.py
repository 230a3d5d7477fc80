"""Hooks from the settings of another tool: `.claude/settings.json` of a project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ConfigError, SpecError
from bridle.hooks.content import with_content
from bridle.hooks.define import Bound, Hook, bind
from bridle.hooks.moments import CLAUDE, MOMENTS, UNKNOWN_YET

if TYPE_CHECKING:
    from pathlib import Path

FILES = (".claude/settings.json", ".claude/settings.local.json")
TIMEOUT = 60.0
"""What such a file means when it gives none."""

LARGEST = 1_000_000
MATCHED = {
    "SessionStart": "source", "SessionEnd": "reason", "Notification": "notification_type",
    "SubagentStart": "agent_type", "SubagentStop": "agent_type",
}  # fmt: skip
"""What a matcher is about where it is not about a tool; elsewhere it means nothing there."""

_PLAIN = re.compile(r"[\w-]+(?:\|[\w-]+)*")
_ENTRY = frozenset({"type", "command", "url", "timeout", "statusMessage"})


def read_claude(root: Path) -> tuple[tuple[Bound, ...], tuple[str, ...]]:
    """The hooks of such files, and notices of events that do not exist here.

    Raises `SpecError` with the line of a hook that cannot be run: a guard is not skipped.
    """
    found: list[Bound] = []
    notices: list[str] = []
    for name in FILES:
        path = root / name
        if path.is_file():
            _read(path, root, found, notices)
    return tuple(found), tuple(notices)


def read_settings(path: Path) -> tuple[dict[str, Any], str]:
    """What such a file says, and its text; raises `SpecError` where it is not one."""
    text = path.read_bytes()[: LARGEST + 1]
    if len(text) > LARGEST:
        raise SpecError(f"is larger than {LARGEST} bytes", file=str(path))
    try:
        settings = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise SpecError(f"is not a JSON object: {error}", file=str(path)) from error
    return settings, text.decode("utf-8", "replace")


def _read(path: Path, root: Path, found: list[Bound], notices: list[str]) -> None:
    settings, text = read_settings(path)
    if settings.get("disableAllHooks") is True:
        return
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise SpecError("hooks is not an object", file=str(path))
    for event, groups in hooks.items():
        line = line_of(text, event)
        moment = MOMENTS.get(CLAUDE.get(event, ("", ""))[0])
        if event in UNKNOWN_YET or (moment is not None and moment.missing is not None):
            notices.append(f"{path}:{line}: hooks on {event} are not run: it does not exist here")
            continue
        for number, (matcher, entry) in enumerate(_entries(groups, path, line)):
            try:
                hook = _hook(event, matcher, entry)
                bound = bind(
                    hook,
                    number,
                    layer="project",
                    source=f"{path}:{line}",
                    dialect="claude",
                    root=root,
                )
            except ConfigError as error:
                raise SpecError(f"hooks.{event}: {error}", file=str(path), line=line) from error
            found.append(with_content(bound))


def _entries(groups: Any, path: Path, line: int) -> list[tuple[str | None, dict[str, Any]]]:
    """Every command with the matcher of its group."""
    found: list[tuple[str | None, dict[str, Any]]] = []
    for group in groups if isinstance(groups, list) else [groups]:
        named = group if isinstance(group, dict) else {}
        entries = named.get("hooks")
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise SpecError("a group of hooks has a list of hooks", file=str(path), line=line)
        found += [(named.get("matcher"), entry) for entry in entries]
    return found


def _hook(event: str, matcher: str | None, entry: dict[str, Any]) -> Hook:
    kind = entry.get("type", "command")
    if kind not in ("command", "http"):
        raise ConfigError(f"Hooks of type {kind!r} are not available yet; have command and http.")
    unknown = next((name for name in entry if name not in _ENTRY), None)
    if unknown is not None:
        raise ConfigError(f"The field {unknown!r} of a hook is not available yet.")
    moment = MOMENTS.get(CLAUDE.get(event, (event, ""))[0])
    about_tools = moment is not None and moment.about_tools and event not in MATCHED
    matcher = None if matcher in ("", "*") else matcher
    return Hook(
        event=event,
        command=entry.get("command") if kind == "command" else None,
        url=entry.get("url") if kind == "http" else None,
        matcher=matcher if about_tools else None,
        conditions=_conditions(event, matcher),
        timeout=entry.get("timeout", TIMEOUT),
    )


def _conditions(event: str, matcher: str | None) -> list[dict[str, Any]]:
    """A matcher that is about something else than a tool, as a condition."""
    if event not in MATCHED or matcher is None:
        return []
    if not _PLAIN.fullmatch(matcher):
        raise ConfigError(f"The matcher {matcher!r} on {event} is not a list of names with |.")
    values = matcher.split("|")
    if event == "SessionEnd" and "other" in values:
        return []
    return [{"field": MATCHED[event], "in": values}]


def line_of(text: str, name: str) -> int:
    """The line on which a name or a value stands."""
    lines = text.splitlines()
    quoted = msgspec.json.encode(name).decode()
    return next((number for number, line in enumerate(lines, 1) if quoted in line), 1)
