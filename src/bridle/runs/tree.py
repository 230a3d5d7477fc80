"""A run as it is stored: its thread's log, the logs of the threads below it, and what they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.errors import StoreError
from bridle.types import events as ev
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridle.ports.artefacts import Artefacts
    from bridle.ports.store import Store

Record = tuple[int, str, bytes]
"""Seq, hash and body of an event, as they are stored."""


class Log(Fixed, frozen=True, kw_only=True):
    """One thread's records, and where the store says that they end."""

    thread_id: str
    seq: int
    hash: str
    records: list[Record]

    def events(self) -> list[ev.DurableEvent]:
        """The events; raises `StoreError` where one cannot be read."""
        found: list[ev.DurableEvent] = []
        for seq, _, body in self.records:
            event = decoded(body)
            if event is None:
                raise StoreError(
                    f"Event {seq} of {self.thread_id} cannot be read. "
                    "Look at the record with: bridle verify RUN"
                )
            found.append(event)
        return found


class Tree(Fixed, frozen=True, kw_only=True):
    """The logs of a run's thread (`root`) and of all threads below it, parents first."""

    run_id: str
    root: str
    logs: dict[str, Log]
    blobs: dict[str, bytes] = msgspec.field(default_factory=dict)
    artefacts: dict[str, bytes] = msgspec.field(default_factory=dict)


class Family(Fixed, frozen=True, kw_only=True):
    """The events of a run, and the runs that its calls started."""

    run_id: str
    thread_id: str
    events: tuple[ev.DurableEvent, ...]
    children: dict[str, Family] = msgspec.field(default_factory=dict)
    """By the call that waits for them."""

    def everyone(self) -> Iterator[Family]:
        """This run and all below it, parents first."""
        yield self
        for child in self.children.values():
            yield from child.everyone()


def decoded(body: bytes) -> ev.DurableEvent | None:
    """An event, or None where the body is not one."""
    try:
        return ev.decode_event(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


async def read_tree(
    store: Store, thread_id: str, *, run_id: str, artefacts: Artefacts | None = None
) -> Tree:
    """Read the logs; with `artefacts` also every blob and artefact that they name."""
    logs: dict[str, Log] = {}
    waiting = [thread_id]
    while waiting:
        name = waiting.pop(0)
        if name in logs:
            continue
        logs[name] = await _log(store, name)
        waiting += [
            event.child_thread_id
            for event in _readable(logs[name])
            if isinstance(event, ev.SubagentStarted) and event.child_thread_id
        ]
    tree = Tree(run_id=run_id, root=thread_id, logs=logs)
    if artefacts is None:
        return tree
    events = [event for log in logs.values() for event in _readable(log)]
    for name in named_blobs(events):
        if (blob := await store.blob(name)) is not None:
            tree.blobs[name] = blob
    for name in named_artefacts(events):
        if (kept := await artefacts.load(name)) is not None:
            tree.artefacts[name] = kept
    return tree


async def _log(store: Store, thread_id: str) -> Log:
    records = await store.records(thread_id)
    head = await store.head(thread_id)
    return Log(thread_id=thread_id, seq=head.seq, hash=head.hash, records=records)


def _readable(log: Log) -> list[ev.DurableEvent]:
    return [event for _, _, body in log.records if (event := decoded(body)) is not None]


def named_blobs(events: Iterable[ev.Event]) -> dict[str, int]:
    """The blobs that events name, each with the seq of the first that does."""
    found: dict[str, int] = {}
    for event in events:
        names: tuple[str, ...] = ()
        match event:
            case ev.RunStarted() | ev.PrefixBroken():
                names = (event.head, event.policy)
            case ev.MessageStarted(request=request) if request is not None:
                names = (request.head,)
            case _:
                pass
        for name in names:
            if name:
                found.setdefault(name, event.seq)
    return found


def named_artefacts(events: Iterable[ev.Event]) -> dict[str, int]:
    """The artefacts that events name, each with the seq of the first that does."""
    found: dict[str, int] = {}
    for event in events:
        if isinstance(event, ev.ToolReturned) and event.artefact:
            found.setdefault(event.artefact, event.seq)
    return found


def family(tree: Tree) -> Family:
    """The run of a tree with the runs below it."""
    events = {name: log.events() for name, log in tree.logs.items()}
    return _family(tree.run_id, tree.root, events)


def _family(run_id: str, thread_id: str, events: dict[str, list[ev.DurableEvent]]) -> Family:
    own = tuple(event for event in events.get(thread_id, ()) if event.run_id == run_id)
    children = {
        event.call_id: _family(event.child_run_id, event.child_thread_id, events)
        for event in own
        if isinstance(event, ev.SubagentStarted)
    }
    return Family(run_id=run_id, thread_id=thread_id, events=own, children=children)
