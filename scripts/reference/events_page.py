"""docs/reference/events.md from bridle.types.events."""

from __future__ import annotations

import importlib
from typing import get_args

import msgspec
from markdown import first_line, flat, table, written

from bridle.types import events

EVENTS_INTRO = """# Events

One vocabulary for the log, the stream, user interfaces and export. `bridle events RUN --json` and
`bridle run --output-format stream-json` print one JSON object per line; in Python they are frozen
structs of `bridle.types.events`.

Every durable event has this envelope: `seq` (dense per thread), `id` (thread and seq), `type`,
`at` (stamped at commit), `thread_id`, `run_id` (null for events of the thread itself), `parent`
and `v` (the version of its shape). Live events have no `seq` and no `id`: they are shown while
something happens and not stored.

*Origin* tells what replay does with an event. **External** events are written by others than the
drain (an admission, a lease); **input** events bring something new into the log (a model's words,
a tool's result); both are put back from the log. **Derived** events follow from those before
them: replay computes them again and compares.
"""

EVENT_MODULES = ("thread", "run", "message", "tool", "hook", "session", "files", "host", "live")


def events_page() -> str:
    kinds = [*get_args(events.DurableEvent), *get_args(events.AnyLiveEvent)]
    parts = [EVENTS_INTRO]
    for name in EVENT_MODULES:
        module = importlib.import_module(f"bridle.types.events.{name}")
        here = [kind for kind in kinds if kind.__module__ == module.__name__]
        kinds = [kind for kind in kinds if kind not in here]
        parts.append(f"## {first_line(module)}\n")
        parts.append(table(("type", "class", "origin", "what", "fields"), map(event_row, here)))
    assert not kinds, f"no page part for {kinds}"
    return "\n".join(parts)


def event_row(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    envelope = events.LiveEvent if issubclass(kind, events.LiveEvent) else events.Event
    known = set(envelope.__struct_fields__)
    fields = [
        f"`{field.name}`{'' if field.required else '?'}: {written(kind, field.name)}"
        for field in msgspec.structs.fields(kind)
        if field.name not in known
    ]
    origin = getattr(kind, "origin", "live")
    name = str(kind.__struct_config__.tag)
    return f"`{name}`", f"`{kind.__name__}`", origin, flat(kind.__doc__), "<br>".join(fields)
