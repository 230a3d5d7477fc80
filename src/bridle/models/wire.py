"""Encoding once: the wire bytes of messages and heads, kept between requests; JSON both ways."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from bridle.errors import ModelError
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from bridle.types.messages import Message
    from bridle.types.tools import ToolSpec

T = TypeVar("T")
W = TypeVar("W")

MAX_CACHED_BYTES = 64 * 1024 * 1024
_ENTRY_OVERHEAD = 200
_MAX_HEADS = 32
_SURROGATES = lazy("[\ud800-\udfff]")

encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


class WireCache(Generic[W]):
    """What each message looks like on one wire, encoded when it is first sent.

    An entry is found by the message's id and used only while the message is the same one, so a
    message that was shortened or edited is encoded again. The least recently used entries are
    dropped when all together pass the bound. A history that goes on where the last request ended
    is not looked up again, message by message.
    """

    def __init__(
        self,
        encode_message: Callable[[Message], W],
        size: Callable[[W], int],
        *,
        max_bytes: int = MAX_CACHED_BYTES,
    ) -> None:
        self._encode = encode_message
        self._measure = size
        self._max = max_bytes
        self._entries: OrderedDict[str, tuple[Message, W]] = OrderedDict()
        self._bytes = 0
        self._last: tuple[list[Message], list[W]] = ([], [])

    def all(self, messages: Iterable[Message]) -> list[W]:
        """The wire forms of the messages, in order."""
        asked = list(messages)
        known, wires = self._last
        if asked[: len(known)] != known:
            known, wires = [], []
        self._last = asked, wires + self._look_up(asked[len(known) :])
        return self._last[1]

    def _look_up(self, messages: list[Message]) -> list[W]:
        entries = self._entries
        recent = entries.move_to_end
        found: list[W] = []
        for message in messages:
            entry = entries.get(message.id)
            if entry is not None and (entry[0] is message or entry[0] == message):
                recent(message.id)
                found.append(entry[1])
            else:
                found.append(self._add(message, entry))
        while self._bytes > self._max and entries:
            _, (_, wire) = entries.popitem(last=False)
            self._bytes -= self._measure(wire) + _ENTRY_OVERHEAD
        return found

    def _add(self, message: Message, old: tuple[Message, W] | None) -> W:
        if old is not None:
            self._bytes -= self._measure(old[1]) + _ENTRY_OVERHEAD
            del self._entries[message.id]
        wire = self._encode(message)
        self._entries[message.id] = (message, wire)
        self._bytes += self._measure(wire) + _ENTRY_OVERHEAD
        return wire

    def __len__(self) -> int:
        return len(self._entries)


class HeadCache:
    """The encoded tools and system text: the same tuple of tools is encoded once."""

    def __init__(self, encode_head: Callable[[str, tuple[ToolSpec, ...]], bytes]) -> None:
        self._encode = encode_head
        self._heads: OrderedDict[Hashable, tuple[tuple[ToolSpec, ...], bytes]] = OrderedDict()

    def get(self, system: str, tools: tuple[ToolSpec, ...]) -> bytes:
        """The bytes that begin a request."""
        key = (system, tuple(tool.name for tool in tools))
        entry = self._heads.get(key)
        if entry is not None and (entry[0] is tools or entry[0] == tools):
            self._heads.move_to_end(key)
            return entry[1]
        head = self._encode(system, tools)
        self._heads[key] = (tools, head)
        self._heads.move_to_end(key)
        if len(self._heads) > _MAX_HEADS:
            self._heads.popitem(last=False)
        return head


def decode(data: str, decoder: msgspec.json.Decoder[T], provider: str) -> T:
    """Read one JSON text of a stream.

    Half surrogates, which some servers send when an emoji is cut between two tokens, become
    U+FFFD. Raises ModelError(kind="protocol") when it is not JSON of the expected shape.
    """
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    import json

    try:
        clean = _SURROGATES.sub("\ufffd", json.dumps(json.loads(data), ensure_ascii=False))
        return decoder.decode(clean)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        shown = data if len(data) <= 200 else f"{data[:200]}…"
        raise ModelError(
            f"{provider} sent what cannot be read ({_first_line(error)}): {shown!r}",
            kind="protocol",
            provider=provider,
        ) from None


def arguments_text(value: object) -> str:
    """The JSON text of a call's arguments, which some servers send as an object."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode(value).decode()


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
