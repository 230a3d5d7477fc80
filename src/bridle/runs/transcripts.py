"""Calls that were made before: in our own runs, and in other tools' JSONL transcripts."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ConfigError
from bridle.permissions.calls import facts_of
from bridle.runs.words import call_words
from bridle.types import events as ev
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridle.runs.tree import Family
    from bridle.types.permissions import Verdict
    from bridle.types.tools import CallFacts

MAX_DEPTH = 40


class Past(Fixed, frozen=True, kw_only=True):
    """A call in a workspace, what was decided about it, and whether a person refused it."""

    origin: str
    words: str
    tool: str
    facts: CallFacts
    effect: Verdict
    refused: bool = False
    root: str | None = None


def past_calls(whole: Family, *, root: str | None = None) -> Iterator[Past]:
    """The calls of a run and of those below it that were decided."""
    for member in whole.everyone():
        called = {e.call_id: e for e in member.events if isinstance(e, ev.ToolCalled)}
        refused = {
            e.call_id
            for e in member.events
            if isinstance(e, ev.ApprovalAnswered) and not e.approved
        }
        for event in member.events:
            call = called.get(event.call_id) if isinstance(event, ev.PermissionDecided) else None
            if not isinstance(event, ev.PermissionDecided) or call is None:
                continue
            args = call.facts.args or call.args
            yield Past(
                origin=event.id,
                words=call_words(call),
                tool=call.tool,
                facts=msgspec.structs.replace(call.facts, args=args),
                effect=event.effect,
                refused=event.call_id in refused,
                root=root,
            )


def read_transcript(path: Path) -> list[Past]:
    """The calls of a JSONL transcript; they ran, so they count as allowed."""
    found: list[Past] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ConfigError(f"{path}:{number} is not JSON: {error}") from error
        for tool, args in _uses(value, 0):
            facts = facts_of(tool, args)
            what = facts.command or ", ".join(facts.paths or facts.hosts) or "…"
            found.append(
                Past(
                    origin=f"{path.name}:{number}",
                    words=f"{tool}({what})",
                    tool=tool,
                    facts=facts,
                    effect="allow",
                )
            )
    return found


def _uses(value: Any, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls in the forms that harnesses write: tool_use, function_call, tool_calls, tool_start."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for entry in value:
            yield from _uses(entry, depth + 1)
    if not isinstance(value, dict):
        return
    kind, name = value.get("type"), value.get("name")
    if kind == "tool_use" and isinstance(name, str):
        yield name, _args(value.get("input"))
    elif kind == "function_call" and isinstance(name, str):
        yield name, _args(value.get("arguments"))
    elif kind == "tool_start" and isinstance(value.get("tool"), str):
        yield value["tool"], _args(value.get("args"))
    elif isinstance(value.get("function"), dict) and isinstance(value["function"].get("name"), str):
        yield value["function"]["name"], _args(value["function"].get("arguments"))
    else:
        for entry in value.values():
            yield from _uses(entry, depth + 1)


def _args(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.MsgspecError:
            return {}
    if not isinstance(value, dict):
        return {}
    args: dict[str, Any] = value
    command = args.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        plain = len(command) == 3 and command[1] in ("-c", "-lc")
        args = {**args, "command": command[2] if plain else shlex.join(command)}
    return args
