"""Server-sent events from bytes, however they are cut into pieces."""

from __future__ import annotations

from typing import NamedTuple

from bridle.errors import ModelError
from bridle.types.regex import lazy

MAX_EVENT_BYTES = 64 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_LINE_END = lazy(rb"\r\n|\n|\r")


class SseEvent(NamedTuple):
    """One event: its name (empty when none was given) and its data lines, joined."""

    name: str
    data: str


class SseParser:
    """Turns pieces of an event stream into events.

    Any cut is allowed: within a frame, a line, a CRLF or a character. Bytes that are not UTF-8
    become U+FFFD. An event that was not ended by an empty line is never given out.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._line: list[bytes] = []
        self._line_size = 0
        self._data_size = 0
        self._name = ""
        self._data: list[str] = []
        self._started = False
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes; give the events that they complete.

        Raises ModelError(kind="protocol") when one event is larger than the bound.
        """
        if not chunk:
            return []
        if self._after_cr:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            lines = _LINE_END.split(chunk)
        else:
            lines = chunk.split(b"\n")
        events: list[SseEvent] = []
        if len(lines) > 1:
            if self._line:
                self._line.append(lines[0])
                lines[0] = b"".join(self._line)
                self._line.clear()
            last = lines.pop()
            self._line_size = 0
            for line in lines:
                self._take(line, events)
        else:
            last = lines[0]
        if last:
            self._line.append(last)
            self._line_size += len(last)
        if self._line_size + self._data_size > self._max:
            raise ModelError(
                f"One event of the stream is larger than {self._max} bytes", kind="protocol"
            )
        return events

    def _take(self, line: bytes, events: list[SseEvent]) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(SseEvent(self._name, "\n".join(self._data)))
                self._data = []
                self._data_size = 0
            self._name = ""
            return
        if line.startswith(b"data:"):
            value = line[6:] if line[5:6] == b" " else line[5:]
            self._data.append(value.decode("utf-8", "replace"))
            self._data_size += len(line)
            return
        name, _, value = line.partition(b":")
        if name == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        elif name == b"data":
            self._data.append("")
