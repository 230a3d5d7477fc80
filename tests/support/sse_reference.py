"""Server-sent events by the letter of the specification: slow, whole, and not ours."""

from __future__ import annotations


def reference(stream: bytes) -> list[tuple[str, str]]:
    """The events (name, data) of a whole stream."""
    text = stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8", "replace")
    events: list[tuple[str, str]] = []
    name, data = "", []
    for line in text.removeprefix("\ufeff").split("\n")[:-1]:
        field, _, value = line.partition(":")
        if not line:
            if data:
                events.append((name, "\n".join(data)))
            name, data = "", []
        elif field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.removeprefix(" ")
    return events
