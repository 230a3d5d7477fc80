"""Calls without any tags: fenced or bare JSON, Python, a name with its JSON.

Such text may well be meant for the reader, so it counts only at the very end of an answer and only
for tools that exist.
"""

from __future__ import annotations

import re

import msgspec

from bridle.models import loose_json
from bridle.models.call_shapes import (
    Found,
    PrintedCall,
    Tools,
    call,
    calls_of,
    python_calls,
    values,
)
from bridle.models.loose_json import Unreadable

_FENCE = re.compile(r"```[ \t]*(?P<info>[\w+-]*)[ \t]*\n(?P<body>.*?)\n?[ \t]*```", re.DOTALL)
_JSON_FENCES = ("", "json", "json5", "jsonc", "text")
_TRIES = 8


def untagged(text: str, tools: Tools) -> Found | None:
    """The calls that end the text; None when there are none."""
    for shape, look in (
        ("fenced json", _fenced),
        ("bare json", _bare),
        ("python", _python),
        ("name and json", _named),
    ):
        if found := look(text, tools):
            start, calls = found
            return Found(start=start, calls=calls, shape=shape)
    return None


def _fenced(text: str, tools: Tools) -> tuple[int, list[PrintedCall]] | None:
    """One or more fences at the end of the text, each of which is a call."""
    fences = list(_FENCE.finditer(text))
    calls: list[PrintedCall] = []
    end = len(text)
    for fence in reversed(fences):
        if text[fence.end() : end].strip():
            break
        alone = not text[: fence.start()].strip()
        found = _fence_calls(fence, tools, alone=alone)
        if found is None:
            break
        calls = found + calls
        end = fence.start()
    return (end, calls) if calls else None


def _fence_calls(fence: re.Match[str], tools: Tools, *, alone: bool) -> list[PrintedCall] | None:
    info = fence["info"].lower()
    for_tools = info.startswith(("tool", "function"))
    found = _implied(fence["body"], tools) if info in _JSON_FENCES or for_tools else None
    if found is None and (for_tools or (info in ("python", "py") and alone)):
        found = python_calls(fence["body"], tools, explicit=False)
    return found


def _implied(body: str, tools: Tools) -> list[PrintedCall] | None:
    try:
        found = [calls_of(value, tools, explicit=False) for value in values(body)]
    except Unreadable:
        return None
    return None if not found or None in found else [c for cs in found for c in cs or []]


def _bare(text: str, tools: Tools) -> tuple[int, list[PrintedCall]] | None:
    """JSON at the start of a line that goes on to the end of the text.

    What is read and turns out to be something else is skipped whole: data stays data.
    """
    if text.lstrip().startswith('"{'):
        return _quoted(text, tools)
    past, tries = 0, 0
    for match in re.finditer(r"^[ \t]*(?=[\[{])", text, re.MULTILINE):
        if match.start() < past or text[: match.start()].count("```") % 2:
            continue
        tries += 1
        if tries > _TRIES or not tools.mentioned(text[match.end() :]):
            return None
        if found := _implied(text[match.end() :], tools):
            return match.start(), found
        try:
            _, past = loose_json.read(text, match.end())
        except Unreadable:
            continue
    return None


def _quoted(text: str, tools: Tools) -> tuple[int, list[PrintedCall]] | None:
    """The whole answer is a JSON string that holds JSON."""
    try:
        inner = loose_json.loads(text)
    except Unreadable:
        return None
    found = _implied(inner, tools) if isinstance(inner, str) else None
    return (0, found) if found else None


def _python(text: str, tools: Tools) -> tuple[int, list[PrintedCall]] | None:
    """Python calls that are the whole answer, or a list of them that ends it."""
    if found := python_calls(text, tools, explicit=False):
        return 0, found
    if match := _LIST.search(text):
        listed = python_calls(match["list"], tools, explicit=False)
        return (match.start(), listed) if listed else None
    if match := re.fullmatch(r"\s*(?P<name>[\w.-]+)\((?P<args>\w+:.*)\)\s*", text, re.DOTALL):
        one = call(tools, match["name"], f"{{{match['args']}}}", explicit=False)
        return None if one is None else (0, [one])
    return None


def _named(text: str, tools: Tools) -> tuple[int, list[PrintedCall]] | None:
    """A tool's name and JSON that fits it, alone or as the last lines of the text."""
    match = _NAMED.search(text)
    known = tools.known(match["name"]) if match else None
    if match is None or known is None:
        return None
    found = call(tools, known, match["args"], explicit=False)
    if found is None or not tools.fits(known, msgspec.json.decode(found.arguments)):
        return None
    return match.start(), [found]


_LIST = re.compile(r"^\s*(?P<list>\[[A-Za-z_][\w.]*\([^\n]*\)\s*\])\s*\Z", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(
    r"^[ \t]*(?P<name>[A-Za-z_][\w.-]*)[ \t]*:?\s*(?P<args>\{.*\})\s*\Z", re.DOTALL | re.MULTILINE
)
