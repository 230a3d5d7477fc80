"""Take secrets out of texts before anybody keeps them.

What comes from outside (a user's input, a tool's output, a model's words) passes here first, so
that what is in memory is what is in the log. Doing it twice changes nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from bridle.errors import ConfigError
from bridle.journal.shapes import ANCHORS, OPENINGS, SHORTEST, SPACED, Shape
from bridle.types.base import Fixed
from bridle.types.content import File, Image, Thinking
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from bridle.journal.chunks import Chunks

T = TypeVar("T")
SMALL = 20_000
LONGEST_PLAIN = 256
NO_TEXT = frozenset({bool, int, float})
VARIABLE = lazy(r"[A-Z][A-Z0-9_]*")
"""An entry of `redact` that names a variable; any other is an expression."""

MARK = lazy(r"\[redacted:[A-Za-z0-9_-]+\]")


def mark(name: str) -> str:
    """What stands where a secret was."""
    return f"[redacted:{name}]"


class Known(Fixed, frozen=True):
    """A text that is hidden wherever it stands, and what stands there instead."""

    text: str
    shown: str


class Everything:
    """Contains whatever is asked for."""

    def __contains__(self, _text: object) -> bool:
        """Yes."""
        return True


class Redactor(Fixed, frozen=True, kw_only=True):
    """Hides known texts, then what looks like a secret, then what the user's expressions match."""

    known: tuple[Known, ...] = ()
    shapes: bool = True
    expressions: tuple[re.Pattern[str], ...] = ()
    _beginnings: Container[str] = ()

    def __post_init__(self) -> None:
        """Work out once what is asked of every piece of a stream."""
        spaced = any(any(map(str.isspace, entry.text)) for entry in self.known)
        found: Container[str] = {
            entry.text[:size]
            for entry in self.known
            for size in range(1, min(len(entry.text), LONGEST_PLAIN) + 1)
        }
        anything = spaced or bool(self.expressions)
        msgspec.structs.force_setattr(self, "_beginnings", Everything() if anything else found)

    @property
    def openings(self) -> dict[str, tuple[str, ...]]:
        """How shapes may begin, by the first character."""
        return OPENINGS if self.shapes else {}

    @property
    def beginnings(self) -> Container[str]:
        """What may begin a known text; everything where that cannot be told."""
        return self._beginnings

    def text(self, text: str) -> str:
        """The text without secrets; the very same object where it has none."""
        for entry in self.known:
            if entry.text in text:
                text = text.replace(entry.text, entry.shown)
        if self.shapes:
            text = _without_shapes(text)
        for expression in self.expressions:
            text = expression.sub(_hide_match, text)
        return text

    def value(self, value: T) -> T:
        """A value of any shape without secrets in its texts; keys and attachments stay."""
        if not (self.known or self.shapes or self.expressions):
            return value
        return self._value(value)  # type: ignore[no-any-return]

    def _value(self, value: Any) -> Any:
        if not value or type(value) in NO_TEXT:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            changed = {key: self._value(inner) for key, inner in value.items()}
            return changed if any(changed[key] is not value[key] for key in value) else value
        if isinstance(value, list | tuple):
            items = [self._value(inner) for inner in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, msgspec.Struct) and not isinstance(value, Image | File):
            return self._struct(value)
        return value

    def _struct(self, value: msgspec.Struct) -> Any:
        changes: dict[str, Any] = {}
        inside = msgspec.structs.astuple(value)
        for field, before in zip(value.__struct_fields__, inside, strict=True):
            if not before or type(before) in NO_TEXT:
                continue  # most fields: an event is written with ten of them
            if field == "private":  # a provider's own bytes; they would not be accepted changed
                continue
            after = self._value(before)
            if after is not before:
                changes[field] = after
        if changes and isinstance(value, Thinking):  # its signature was for other words
            changes["private"] = None
        return msgspec.structs.replace(value, **changes) if changes else value

    def chunks(self) -> Chunks:
        """The same for a text that comes in pieces."""
        from bridle.journal.chunks import Chunks

        return Chunks(self)


NOTHING_HIDDEN = Redactor(shapes=False)


def _without_shapes(text: str) -> str:
    narrow = text
    if len(text) < SMALL:  # most small outputs hold no word that is long enough
        narrow = "\n".join([word for word in text.split() if len(word) >= SHORTEST])
        if any(anchor in text for anchor in SPACED):
            narrow = text
    if narrow:
        for anchor, shape in ANCHORS:
            if anchor in narrow:
                text = _without(shape, anchor, text)
    return text


def _without(shape: Shape, anchor: str, text: str) -> str:
    """Look at every place where the anchor stands; the rest is never looked at."""
    pieces: list[str] = []
    done = at = 0
    while (at := text.find(anchor, at)) >= 0:
        span = shape.find(text, at, done)
        if span is None:
            at += len(anchor)
            continue
        start, end = span
        pieces += (text[done:start], mark(shape.name))
        done = at = end
    return "".join((*pieces, text[done:])) if pieces else text


def _span(found: re.Match[str]) -> tuple[int, int]:
    return found.span("secret" if "secret" in found.re.groupindex else 0)


def _hide_match(found: re.Match[str]) -> str:
    start, end = _span(found)
    if MARK.fullmatch(found[0]) or start == end:
        return found[0]
    base = found.start()
    return found[0][: start - base] + mark("custom") + found[0][end - base :]


def forms(value: str, shown: str) -> Iterator[Known]:
    """A value as it is, and as it looks in JSON, in a URL, in hex and in base64."""
    import base64
    from urllib.parse import quote

    yield Known(value, shown)
    raw = value.encode("utf-8", "surrogateescape")
    yield Known(msgspec.json.encode(value).decode()[1:-1], shown)
    yield Known(quote(value, safe=""), shown)
    yield Known(quote(value), shown)
    yield Known(raw.hex(), shown)
    for offset in range(3):  # a value inside of a longer text begins at any of three places
        body = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        first = (0, 2, 3)[offset]
        whole = (offset + len(raw)) * 8 // 6  # the last character depends on what follows
        core = body[first:whole]
        if len(core) >= 8:
            yield Known(core, shown)


def in_order(found: Iterable[Known]) -> tuple[Known, ...]:
    """Without repetitions, the longest first: a value may be a part of another."""
    unique = {entry.text: entry for entry in reversed(list(found))}
    return tuple(sorted(unique.values(), key=lambda entry: (-len(entry.text), entry.text)))


def expression(entry: str) -> re.Pattern[str]:
    """An entry of `redact` that is an expression; raises `ConfigError` for one that is none."""
    try:
        found = re.compile(entry)
    except re.error as error:
        raise ConfigError(
            f"redact: {entry!r} is neither the name of a variable nor a regular expression: {error}"
        ) from error
    if found.match("") is not None:
        raise ConfigError(f"redact: {entry!r} matches everything, also no text at all.")
    return found
