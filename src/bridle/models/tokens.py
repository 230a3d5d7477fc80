"""How many tokens a text has, without asking anybody.

With the extra `[tokens]` (splintr, which ships its vocabularies) texts are counted exactly for the
models whose tokenizer is known; everything else is an estimate and says so. A whole request is
always an estimate: the template that a server puts around it is not known.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.ports.model import ModelRequest
    from bridle.types.content import Part
    from bridle.types.messages import Message
    from bridle.types.tools import ToolSpec

IMAGE_TOKENS = 1_500
"""What an image costs at most with the large providers, whatever its size in bytes."""

MESSAGE_TOKENS = 4
"""What the template adds around a message, about."""


class TokenCount(msgspec.Struct, frozen=True):
    """A number of tokens, and whether it is known or estimated."""

    value: int
    exact: bool

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(self.value + other.value, self.exact and other.exact)


_EXACT = (
    (r"gpt-oss", "o200k_harmony"),
    (r"(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5|o1|o3|o4-mini|gpt-5(-|$))", "o200k_base"),
    (r"(gpt-4(-|$)|gpt-3\.5)", "cl100k_base"),
    (r"(meta-)?llama-?3", "llama3"),
    (r"deepseek-(v3|r1|chat|reasoner)", "deepseek_v3"),
    (r"qwen-?(2|2\.5|3)(-|:|$)", "qwen3"),
    (r"glm-?4", "glm4"),
    (r"gemma-?3", "gemma3"),
    (r"gemma-?4", "gemma4"),
    (r"phi-?4", "phi4"),
    (r"kimi-k2", "kimi_k2"),
)
"""Names of models and the vocabulary they are known to use."""

_ALIKE = ((r"gpt-|codex", "o200k_base"), (r"deepseek", "deepseek_v3"), (r"qwen", "qwen3"))
"""Families whose newer members are counted with an older vocabulary: close, but not exact."""

_WEIGHTS = (
    (bytes(range(97, 123)), 0.25),
    (bytes(range(65, 91)), 0.5),
    (bytes(range(48, 58)), 1.0),
    (b" \t", 0.08),
    (b"\n\r", 0.3),
    (bytes(c for c in range(33, 127) if not chr(c).isalnum()), 0.5),
    (bytes(range(128, 256)), 0.27),
)
"""Tokens per byte of a kind, fitted to three vocabularies on code, prose, JSON and listings."""

_HEAVIER = ((r"anthropic/|claude", 1.2),)
"""Models whose tokenizers are known to cut finer."""


def count(text: str, model: str) -> TokenCount:
    """Count a text for a model, given by its full id."""
    encode, exact = _tokenizer(model)
    if encode is not None:
        try:
            return TokenCount(len(encode(text)), exact)
        except UnicodeEncodeError:  # half a surrogate pair: no provider would get it as it is
            return TokenCount(len(encode(text.encode("utf-8", "replace").decode())), exact=False)
    return TokenCount(estimate(text, model), exact=False)


def estimate(text: str, model: str = "") -> int:
    """Estimate a text by the kinds of its characters; one pass in C for each kind."""
    raw = text.encode("utf-8", "surrogatepass")
    size = len(raw)
    tokens = sum((size - len(raw.translate(None, kind))) * weight for kind, weight in _WEIGHTS)
    for pattern, factor in _HEAVIER:
        if re.search(pattern, model):
            tokens *= factor
    return max(1, round(tokens)) if text else 0


def count_message(message: Message, model: str) -> TokenCount:
    """Count a message with what surrounds it; never exact."""
    total = sum(_part(part, model) for part in message.parts) + MESSAGE_TOKENS
    return TokenCount(total, exact=False)


def count_tools(tools: tuple[ToolSpec, ...], model: str) -> TokenCount:
    """Count the descriptions of tools, as they are sent; never exact."""
    if not tools:
        return TokenCount(0, exact=False)
    return TokenCount(count(msgspec.json.encode(tools).decode(), model).value, exact=False)


def count_request(request: ModelRequest, model: str) -> TokenCount:
    """Count everything that a request sends; never exact."""
    total = count(request.system, model).value + count_tools(request.tools, model).value
    total += sum(count_message(message, model).value for message in request.messages)
    return TokenCount(total, exact=False)


def _part(part: Part, model: str) -> int:
    match part:
        case Text() | Thinking():
            return count(part.text, model).value
        case ToolCall():
            return count(part.tool + msgspec.json.encode(part.args).decode(), model).value
        case ToolResult():
            return count(part.text, model).value + IMAGE_TOKENS * len(part.images)
        case Image():
            return IMAGE_TOKENS
        case File():
            return max(IMAGE_TOKENS, len(part.data) // 8)
        case other:
            assert_never(other)


@cache
def _tokenizer(model: str) -> tuple[Callable[[str], Any] | None, bool]:
    """The encoder for a model and whether it is the model's own; None without the extra."""
    name = model.lower().rpartition("/")[2]
    for table, exact in ((_EXACT, True), (_ALIKE, False)):
        for pattern, vocabulary in table:
            if re.match(pattern, name):
                return _load(vocabulary), exact
    return None, False


@cache
def _load(vocabulary: str) -> Callable[[str], Any] | None:
    try:
        import splintr
    except ImportError:
        return None
    encode: Callable[[str], Any] = splintr.Tokenizer.from_pretrained(vocabulary).encode_ordinary
    return encode
