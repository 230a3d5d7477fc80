"""Find the calls that a model printed instead of making them.

Models and the servers in front of them print calls in many shapes. Text about calls, quoted in
backticks or followed by an explanation, stays text, and so does what a model only thought.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from bridle.models.call_shapes import PrintedCall, Tools
from bridle.models.tagged_calls import tagged
from bridle.models.untagged_calls import untagged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.types.tools import ToolSpec


_END = re.compile(
    r"(?:(?:<\|(?:im_end|eot_id|eom_id|end|endoftext|return)\|>|</s>|<end_of_turn>|<turn\|>"
    r"|<｜end▁of▁sentence｜>)\s*)+\Z"
)
"""Tokens that end an answer, printed by servers that should have kept them."""


class Printed(msgspec.Struct, frozen=True):
    """The calls of a text: where the first one starts, and what is left after the last one."""

    start: int
    calls: tuple[PrintedCall, ...]
    after: str
    shape: str


def find_calls(text: str, specs: Iterable[ToolSpec]) -> Printed | None:
    """The calls in a text; None when it holds none and is just text."""
    tools = Tools(specs)
    if not tools.schemas:
        return None
    thought = text.rfind("</think>")
    past = thought + len("</think>") if thought >= 0 else 0
    said = _END.sub("", text[past:])
    found = tagged(said, tools) or untagged(said, tools)
    if found is None:
        return None
    return Printed(past + found.start, tuple(found.calls), found.after, found.shape)
