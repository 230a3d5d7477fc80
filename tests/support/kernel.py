"""A harness over a real SQLite file with a scripted model, and what tests ask of its log."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import anyio

from bridle import Agent, Harness, Rules
from bridle.app.config import Ports
from bridle.journal.state import PASSING, ThreadState
from bridle.ports.clock import SystemClock
from bridle.runs.replay.driver import Replayed, replay_thread
from bridle.store.sqlite.store import SqliteStore
from bridle.testing import ScriptedModel
from bridle.types import events as ev
from bridle.types.messages import Message

ALLOW_ALL = Rules(profile="yolo")


class Impatient(SystemClock):
    """The machine's clock, except that nobody sleeps: retries come at once."""

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(0)


def make_harness(
    store: Path | Any,
    model: Any,
    tools: Sequence[Any] = (),
    *,
    instructions: str = "You are tested.",
    permissions: Any = ALLOW_ALL,
    ports: Ports | None = None,
    resolve_model: Callable[[str], Any] | None = None,
    **more: Any,
) -> Harness:
    """The short form of a harness, on a file or on a store that is there."""
    return Harness(
        id="t",
        store=f"sqlite:///{store}" if isinstance(store, Path) else store,
        agent=Agent(instructions, tools=list(tools)),
        model="scripted/queue",
        resolve_model=resolve_model or (lambda _id: model),
        permissions=permissions,
        ports=ports or Ports(clock=Impatient()),
        **more,
    )


class ByStep:
    """Answers by the number of the request in its run: the same after a kill as before.

    `script` takes the request and returns an item; it may look at `request.step` and
    `request.messages`.
    """

    def __init__(self, script: Callable[[Any], Any], *, price: Any = None, usage: Any = None):
        self.id = "scripted/queue"
        self.price = price
        self.context_window = None
        self._usage = usage
        self._script = script

    def stream(self, request: Any) -> Any:
        item = self._script(request)
        return ScriptedModel([item], usage=self._usage).stream(request)


async def thread_ids(store: Any) -> list[str]:
    """Every thread of a store, deleted ones too."""
    rows = await store._reader.run(lambda db: db.execute("select id from threads").fetchall())
    return [row[0] for row in rows]


async def replay_all(path: Path) -> list[Replayed]:
    """Replay every thread that has no parent, with its children."""
    store = SqliteStore(path, clock=SystemClock())
    try:
        return [await replay_thread(store, name) for name in await thread_ids(store)]
    finally:
        await store.close()


def check_history(messages: Iterable[Message]) -> None:
    """What every provider asks of a history; raises AssertionError with what is wrong."""
    listed = list(messages)
    for number, message in enumerate(listed):
        assert message.parts, f"message {number} ({message.role}) is empty"
        following = listed[number + 1] if number + 1 < len(listed) else None
        if message.role == "assistant" and message.calls:
            assert following is not None, "the last message has calls without results"
            assert following.role == "tool", f"{following.role} follows calls"
            answered = [part.call_id for part in following.parts]  # type: ignore[union-attr]
            assert answered == [call.id for call in message.calls], "results are not in order"
        if message.role == "tool":
            before = listed[number - 1] if number else None
            assert before is not None, "results without calls"
            assert before.role == "assistant", f"results follow {before.role}"
    seen = [message.id for message in listed]
    assert len(seen) == len(set(seen)), "a message is there twice"


def check_log(events: Sequence[ev.Event], *, finished: bool = True) -> None:
    """The promises of the kernel about any log, however it came about."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    started = [e.run_id for e in events if isinstance(e, ev.RunStarted)]
    ended = [e.run_id for e in events if isinstance(e, ev.RunEnded)]
    assert len(started) == len(set(started)), "a run began twice"
    assert len(ended) == len(set(ended)), "a run ended twice"
    if finished:
        assert sorted(map(str, started)) == sorted(map(str, ended)), "a run has no end"
    calls = [e.call_id for e in events if isinstance(e, ev.ToolCalled)]
    results = [e.call_id for e in events if isinstance(e, ev.ToolReturned)]
    assert len(results) == len(set(results)), "a call has two results"
    if finished:
        assert sorted(calls) == sorted(results), "a call has no result"
    admitted = [e.input_id for e in events if isinstance(e, ev.InputAdmitted)]
    consumed = list(itertools.chain.from_iterable(getattr(e, "consumes", ()) for e in events))
    assert len(admitted) == len(set(admitted)), "an input was admitted twice"
    assert len(consumed) == len(set(consumed)), "an input was dealt with twice"
    assert set(consumed) <= set(admitted)
    reserved = [e.reservation for e in events if isinstance(e, ev.BudgetReserved)]
    settled = [e.reservation for e in events if isinstance(e, ev.BudgetSettled)]
    assert len(settled) == len(set(settled)), "a reservation was settled twice"
    if finished:
        assert sorted(reserved) == sorted(settled), "a reservation was never settled"


async def check_folds(path: Path) -> None:
    """The fold of a log without its passing events is the fold of the log, wherever it ends."""
    store = SqliteStore(path, clock=SystemClock())
    try:
        for name in await thread_ids(store):
            events = await store.events(name)
            kept = await store.history(name, passing=PASSING)
            assert _folded(name, kept) == _folded(name, events)
            for end in range(1, min(len(events), LONGEST_LOG)):
                prefix = events[:end]
                ends = [0, 0, *(e.seq for e in prefix if isinstance(e, ev.MessageEnded))]
                outline = [e for e in prefix if e.type not in PASSING or e.seq > ends[-2]]
                assert _folded(name, outline) == _folded(name, prefix)
    finally:
        await store.close()


LONGEST_LOG = 200


def _folded(thread_id: str, events: Iterable[ev.Event]) -> ThreadState:
    state = ThreadState(thread_id)
    state.take(events)
    for run in (state.run, state.last_run):
        for call in run.calls if run is not None else ():
            if call.settled:
                call.effect = None  # what was decided of a call that has its result
    return state
