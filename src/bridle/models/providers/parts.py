"""What every wire format treats alike: attachments, call ids, parts of another origin."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bridle.types.content import File, Image, ToolCall, ToolResult

_TEXT_TYPES = frozenset(
    {
        "application/json",
        "application/toml",
        "application/xml",
        "application/x-yaml",
        "application/yaml",
        "application/javascript",
    }
)


class CallIdRule(NamedTuple):
    """Which ids a provider takes, and how others are replaced."""

    pattern: re.Pattern[str]
    prefix: str
    length: int


COMMON_ID = CallIdRule(re.compile(r"[A-Za-z0-9_-]{1,40}"), "call_", 24)
NINE_LETTERS = CallIdRule(re.compile(r"[A-Za-z0-9]{9}"), "", 9)


def data_url(part: Image | File) -> str:
    """The attachment as a `data:` URL."""
    return f"data:{part.media_type};base64,{part.data}"


def file_text(part: File) -> str | None:
    """A text file as text that names it; None when it is binary."""
    if not part.media_type.startswith("text/") and part.media_type not in _TEXT_TYPES:
        return None
    try:
        content = base64.b64decode(part.data).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return f'<file name="{part.name}">\n{content}\n</file>'


def wire_call_id(part: ToolCall | ToolResult, rule: CallIdRule = COMMON_ID) -> str:
    """The id that ties a result to its call on the wire.

    It is the provider's own where there is one; an id that breaks the rule, as one of another
    provider may, is replaced by a hash, the same for call and result.
    """
    own = part.provider_id or (part.id if hasattr(part, "id") else part.call_id)
    if rule.pattern.fullmatch(own):
        return own
    return rule.prefix + hashlib.sha256(own.encode()).hexdigest()[: rule.length]


def is_own(origin: str | None, model_id: str) -> bool:
    """Whether private data was made by this model and may be sent back to it.

    An origin is a full model id, or a provider's name where all its models understand it.
    """
    return origin is not None and origin in {model_id, model_id.partition("/")[0]}
