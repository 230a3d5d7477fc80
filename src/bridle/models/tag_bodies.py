"""Read what stands inside a tag that announces a call; None when it is not a call after all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from bridle.models import loose_json
from bridle.models.call_shapes import PrintedCall, Tools, call, calls_of, python_calls, values
from bridle.models.loose_json import Torn, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    Body = Callable[[re.Match[str], Tools], list[PrintedCall] | None]

_PARAMETER = re.compile(
    r"""<[^<>\s]*?parameter(?:=|\s+name=)["']?(?P<key>[\w.-]+)["']?[^<>]*>(?P<value>.*?)"""
    r"(?:(?P<shut></[^<>\s]*?parameter>)|(?=<[^<>\s]*?parameter[=\s])|$)",
    re.DOTALL,
)
_PAIR = re.compile(
    r"<\w*arg_key>(.*?)</\w*arg_key>\s*<\w*arg_value>(.*?)(?:</\w*arg_value>|$)", re.DOTALL
)
_PARTS = re.compile(
    r"<name>(?P<name>.*?)</name>\s*<(?:arguments|parameters|args|input)>(?P<args>.*?)(?:</|$)",
    re.DOTALL,
)
_NAMED = re.compile(r"(?:call:)?\s*(?P<name>[\w.:-]+)\s*(?P<args>\{.*)", re.DOTALL)


def tag_body(match: re.Match[str], tools: Tools) -> list[PrintedCall] | None:
    """JSON, key and value tags, `call:f{…}`, `f` and JSON, or Python."""
    body = match["body"].strip()
    if not body:
        return None
    if "arg_key>" in body:
        return _typed_call(re.split(r"<\w*arg_key>", body)[0], dict(_PAIR.findall(body)), tools)
    if named := _PARTS.match(body) or _NAMED.match(body):
        return _one(call(tools, named["name"], named["args"], explicit=True))
    if body[0] in "{[`":
        return _json_body(body, tools) or python_calls(body, tools, explicit=True)
    if re.fullmatch(r"[\w.-]+", body):
        announced = "call" in match["open"].lower() and tools.known(body)
        return _one(call(tools, body, {}, explicit=True)) if announced else None
    return python_calls(body, tools, explicit=True)


def parameters(match: re.Match[str], tools: Tools) -> list[PrintedCall] | None:
    """A named call whose parameters are tags of their own, closed or not; or JSON."""
    body = match["body"]
    if body.lstrip().startswith("{"):
        return _one(call(tools, match["name"], body, explicit=True))
    pairs = {found["key"]: _value(found) for found in _PARAMETER.finditer(body)}
    if not pairs and body.strip():
        return None
    return _typed_call(match["name"], pairs, tools)


def named_json(match: re.Match[str], tools: Tools) -> list[PrintedCall] | None:
    """The JSON of a call whose name stands before it, fenced or not."""
    body = _unfenced(match["body"])
    if re.fullmatch(r'"\{.*\}"', body, re.DOTALL):
        body = body[1:-1]
    found = call(tools, match["name"], body, explicit=True)
    if found and tools.known(found.tool) is None and not found.torn:
        args = msgspec.json.decode(found.arguments)
        return _one(call(tools, tools.by_keys(args) or match["name"], args, explicit=True))
    return _one(found)


def gemma(match: re.Match[str], tools: Tools) -> list[PrintedCall] | None:
    """`call:f{key:<|"|>value<|"|>}`."""
    named = _NAMED.match(match["body"].replace("<escape>", '<|"|>').strip())
    return _one(call(tools, named["name"], named["args"], explicit=True)) if named else None


def leading_json(match: re.Match[str], tools: Tools) -> list[PrintedCall] | None:
    """A JSON list, whatever follows it."""
    try:
        value, _ = loose_json.read(match["body"], 0)
    except Unreadable:
        return None
    return calls_of(value, tools, explicit=True)


def labelled(match: re.Match[str], tools: Tools) -> list[PrintedCall] | None:
    """`Action: f` and its input on the next line; plain text is the first parameter."""
    known = tools.known(match["name"])
    if known is None:
        return None
    body = match["body"].strip()
    if body.startswith(("{", "```")):
        return named_json(match, tools)
    keys = list(tools.properties(known))
    args = {keys[0]: body.strip("\"'")} if keys and body not in ("", "None") else {}
    return _one(call(tools, known, args, explicit=True))


def own_tags(match: re.Match[str], tools: Tools) -> list[PrintedCall] | None:
    """`<f><key>value</key></f>`, for a tool that exists and keys that it has."""
    known = tools.known(match["name"])
    if known is None:
        return None
    args = {
        key: re.sub(r"\A\n|\n\Z", "", found["value"])
        for key in tools.properties(known)
        if (found := re.search(rf"<{key}>(?P<value>.*?)</{key}>", match["body"], re.DOTALL))
    }
    return _typed_call(known, args, tools) if args else None


def _json_body(body: str, tools: Tools) -> list[PrintedCall] | None:
    body = _unfenced(body)
    try:
        found = [calls_of(value, tools, explicit=True) for value in values(body)]
    except Torn:
        name = re.search(r'"(?:name|tool|function)"\s*:\s*"([\w.-]+)"', body)
        return [PrintedCall(tools.known(name[1]) or name[1], body, torn=True)] if name else None
    except Unreadable:
        return None
    return None if not found or None in found else [c for cs in found for c in cs or []]


def _typed_call(name: str, args: dict[str, str], tools: Tools) -> list[PrintedCall] | None:
    known = tools.known(name)
    return _one(call(tools, name, tools.typed(known or "", args), explicit=True))


def _value(found: re.Match[str]) -> str:
    """A closed parameter keeps its spaces, but not the line breaks that belong to its tags."""
    return re.sub(r"\A\n|\n\Z", "", found["value"]) if found["shut"] else found["value"].strip()


def _unfenced(body: str) -> str:
    return re.sub(r"^\s*```\w*\n?|```\s*$", "", body.strip()).strip()


def _one(found: PrintedCall | None) -> list[PrintedCall] | None:
    return None if found is None else [found]
