"""Calls in tags and special tokens: the shapes that models are trained on, whole or broken.

Each shape is a pattern with a reader of its body. A shape that is closed badly, or not at all,
still counts; a body that cannot be read as a call does not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.models.call_shapes import Found, PrintedCall, Tools
from bridle.models.tag_bodies import (
    gemma,
    labelled,
    leading_json,
    named_json,
    own_tags,
    parameters,
    tag_body,
)

if TYPE_CHECKING:
    from bridle.models.tag_bodies import Body

_WORD = r"(?:\w+[:_-]|[｜|]+DSML[｜|]+)?(?:tool|function|action|plugin)[\w:▁-]*"
_TAG = rf"(?:<[｜|]?/?[｜|]?{_WORD}[｜|]?(?:\s[^<>]*)?>|\[/?(?:END_)?TOOL_(?:CALL|REQUEST|USE)\])"
"""Any tag or token about tools: `<tool_call>`, `</Tool-Call>`, `<|tool_call_start|>`, …"""


def tagged(text: str, tools: Tools) -> Found | None:
    """The calls of the first shape that the text holds; None when there are none."""
    for shape, pattern, read in _SHAPES:
        if found := _find(text, shape, pattern, read, tools):
            return found
    names = "|".join(re.escape(name) for name in tools.schemas if f"</{name}>" in text)
    if not names:
        return None
    own = re.compile(rf"<(?P<name>{names})>(?P<body>.*?)</(?P=name)>", re.DOTALL)
    return _find(text, "own tags", own, own_tags, tools)


def _find(
    text: str, shape: str, pattern: re.Pattern[str], read: Body, tools: Tools
) -> Found | None:
    calls: list[PrintedCall] = []
    first, last = len(text), 0
    for match in pattern.finditer(text):
        if _is_quoted(text, match):
            continue
        if found := read(match, tools):
            calls += found
            first, last = min(first, match.start()), match.end()
    if not calls:
        return None
    after = re.sub(r"\A\s*(?:```|\])\s*", "", _LEFTOVER.sub("", text[last:]))
    return Found(
        start=len(_OPENERS.sub("", text[:first])),
        calls=calls,
        shape=shape,
        after="" if _INVENTED.match(text, last) or _INVENTED.match(after) else after.strip(),
    )


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """In inline code, or in a fence that more text follows: the model talks about calls."""
    line = text.rfind("\n", 0, match.start()) + 1
    if text[line : match.start()].replace("```", "").count("`") % 2:
        return True
    if text[: match.start()].count("```") % 2 == 0:
        return False
    _, closed, rest = text[match.end() :].partition("```")
    return bool(closed and rest.strip())


_LEFTOVER = re.compile(
    rf"{_TAG}|</?[^<>\s]*invoke>|</arguments>|</s>|<tool_call\|>|<｜end▁of▁sentence｜>"
    r"|<\|(?:eom_id|eot_id|im_end|call|end)\|>",
    re.IGNORECASE,
)
_OPENERS = re.compile(
    rf"(?:(?:{_TAG}(?:function)?|```\w*|\bnull|<\|(?:start|channel)\|>\w*|\bcommentary)\s*)+\Z",
    re.IGNORECASE,
)
_INVENTED = re.compile(
    r"\s*(?:</\w+>\s*)?(?:<(?:tool|function)_?(?:resp|out|res)|Observation:)", re.IGNORECASE
)
"""A result that the model made up after its call."""


def _shape(pattern: str, *, lines: bool = False) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL | (re.MULTILINE if lines else 0))


_SHAPES: tuple[tuple[str, re.Pattern[str], Body], ...] = (
    (
        "invoke tags",
        _shape(
            r"""<[^<>\s/]*?invoke\s+name=["'](?P<name>[^"'<>]+)["'][^<>]*>(?P<body>.*?)"""
            r"(?:</[^<>\s]*?invoke>|(?=<[^<>\s/]*?invoke\s)|\Z)"
        ),
        parameters,
    ),
    (
        "function= tags",
        _shape(
            r"""<function(?:=|\s+name=)["']?(?P<name>[\w.:-]+)["']?\s*>(?P<body>.*?)"""
            r"(?:</function>|(?=<function[=\s])|</tool_call>|\Z)"
        ),
        parameters,
    ),
    (
        "deepseek tokens",
        _shape(
            r"<[｜|]tool▁call▁begin[｜|]>(?:function<[｜|]tool▁sep[｜|]>)?(?P<name>[\w.:-]+)"
            r"(?:<[｜|]tool▁sep[｜|]>|\s)(?P<body>.*?)(?:<[｜|]tool▁calls?▁end[｜|]>|\Z)"
        ),
        named_json,
    ),
    (
        "kimi tokens",
        _shape(
            r"<\|tool_call_begin\|>\s*(?P<name>[\w.:-]+)\s*<\|tool_call_argument_begin\|>"
            r"(?P<body>.*?)(?:<\|tool_call_end\|>|<\|tool_calls_section_end\|>|\Z)"
        ),
        named_json,
    ),
    (
        "harmony channel",
        _shape(
            r"to=functions\.(?P<name>[\w.-]+)[^{]*?(?:<\|message\|>|json\s*(?=\{))(?P<body>.*?)"
            r"(?:<\|call\|>|<\|end\|>|\Z)"
        ),
        named_json,
    ),
    (
        "mistral named",
        _shape(
            r"\[TOOL_CALLS\]\s*(?P<name>[A-Za-z_][\w.-]*)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*"
            r"(?P<body>\{.*?)(?=\[TOOL_CALLS\]|</s>|\Z)"
        ),
        named_json,
    ),
    (
        "mistral list",
        _shape(r"(?:\[TOOL_CALLS\]|functools)\s*(?P<body>\[.*?)(?=</s>|\Z)"),
        leading_json,
    ),
    (
        "python tag",
        _shape(r"(?P<open><\|python_tag\|>)(?P<body>.*?)(?:<\|eom_id\|>|<\|eot_id\|>|\Z)"),
        tag_body,
    ),
    (
        "gemma tokens",
        _shape(
            r"<(?:\|tool_call|start_function_call)>(?P<body>.*?)"
            r"(?:<tool_call\|>|<end_function_call>|\Z)"
        ),
        gemma,
    ),
    (
        "tool tags",
        re.compile(rf"(?P<open>{_TAG})(?P<body>.*?)(?=(?:{_TAG})|\Z)", re.DOTALL | re.IGNORECASE),
        tag_body,
    ),
    (
        "calling tool",
        _shape(r"\[Calling tool:\s*(?P<name>[\w.-]+)\((?P<body>\{.*?\})\)\s*\]?(?=\s|\Z)"),
        named_json,
    ),
    (
        "functionary",
        _shape(r"^>>>\s*(?P<name>[\w.-]+)\s*\n(?P<body>\{.*?)(?=^>>>|\Z)", lines=True),
        named_json,
    ),
    (
        "action and input",
        _shape(
            r"^\s*(?:Action|Tool|Function):\s*`?(?P<name>[\w.-]+)`?\s*\n+\s*"
            r"(?:Action Input|Input|Arguments|Args|Parameters):\s*(?P<body>.*?)"
            r"(?=^\s*(?:Observation|Thought|Action):|\Z)",
            lines=True,
        ),
        labelled,
    ),
)
