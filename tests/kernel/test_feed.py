"""A feed is history, then live: no gap, no duplicate, whoever writes and however slow one reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.journal.bus import Bus
from bridle.journal.feed import Feed
from bridle.journal.recorder import Journal
from bridle.store.sqlite.store import SqliteStore
from bridle.types.content import Text
from bridle.types.events import Event, MessageDelta, MessageEnded, MessageStarted, Noted
from bridle.types.messages import Message
from support.stores import append, created, note, open_store

THREAD = "thr_1"


def delta(text: str) -> MessageDelta:
    return MessageDelta(thread_id=THREAD, message_id="m", delta=text)


@pytest.fixture
async def journal() -> AsyncIterator[Journal]:
    async with open_store(None) as store:
        journal = Journal(store=store, bus=Bus())
        await journal.append(THREAD, created(THREAD))
        yield journal


def feed_of(journal: Journal, **more: Any) -> Feed:
    return Feed(store=journal.store, bus=journal.bus, thread_id=THREAD, **more)


async def collect(feed: Feed, into: list[Any]) -> None:
    async for event in feed.events():
        into.append(event)


def seqs(events: list[Any]) -> list[int]:
    return [event.seq for event in events if isinstance(event, Event)]


ACTIONS = st.lists(st.sampled_from(["ours", "theirs", "live", "read", "pause"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(ACTIONS, st.integers(0, 5), st.integers(1, 6))
async def test_any_interleaving_gives_every_event_once(
    actions: list[str], after: int, capacity: int
) -> None:
    """`theirs` are commits that the bus is not told of, as those of another process."""
    async with open_store(None) as store:
        journal = Journal(store=store, bus=Bus())
        await journal.append(THREAD, created(THREAD), *(note() for _ in range(5)))
        feed = feed_of(journal, after=after, capacity=capacity)
        stream = feed.events()
        got: list[Any] = []
        for action in actions:
            match action:
                case "ours":
                    await journal.append(THREAD, note("ours"))
                case "theirs":
                    await store.commit(append(THREAD, note("theirs")))
                case "live":
                    journal.live(delta("x"))
                case "read":
                    with anyio.move_on_after(0) as scope:
                        got.append(await anext(stream))
                    if scope.cancelled_caught:  # it ended the stream: begin another at its place
                        feed.close()
                        last = seqs(got)[-1] if seqs(got) else after
                        feed = feed_of(journal, after=last, capacity=capacity)
                        stream = feed.events()
                case _:
                    await anyio.sleep(0)
        await journal.append(THREAD, note("the last one"))
        head = (await store.head(THREAD)).seq
        while not got or got[-1].seq != head:
            got.append(await anext(stream))
        await stream.aclose()  # type: ignore[attr-defined]
        assert seqs(got) == list(range(after + 1, head + 1))


async def test_concurrent_writers_are_read_in_order(journal: Journal) -> None:
    got: list[Any] = []
    feed = feed_of(journal, capacity=8)
    feed.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(collect, feed, got)

        async def write(who: int) -> None:
            for number in range(20):
                if number % 3:
                    await journal.append(THREAD, note(f"{who}.{number}"))
                else:
                    await journal.store.commit(append(THREAD, note(f"{who}.{number}")))

        async with anyio.create_task_group() as writers:
            for who in range(5):
                writers.start_soon(write, who)
        await journal.append(THREAD, note("end"))
        with anyio.fail_after(20):
            while seqs(got)[-1:] != [102]:
                await anyio.sleep(0.01)
        feed.close()
    assert seqs(got) == list(range(1, 103))


async def test_a_slow_reader_loses_its_place_and_not_an_event(journal: Journal) -> None:
    feed = feed_of(journal, capacity=4)
    stream = feed.events()
    got = [await anext(stream)]
    for number in range(50):
        journal.live(delta(str(number)))
        await journal.append(THREAD, note(str(number)))
    feed.close()
    got += [event async for event in stream]
    assert seqs(got) == list(range(1, 52))
    assert len(feed._buffer) == 0


async def test_a_throwing_listener_hurts_nobody(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    def broken(_event: Any) -> None:
        raise RuntimeError("subscriber")

    stop = journal.bus.subscribe(broken, thread_id=THREAD)
    journal.bus.subscribe(lambda event: heard.append(event.type))
    await journal.append(THREAD, note())
    stop()
    stop()
    await journal.append(THREAD, note())
    assert heard == ["info", "info"]
    assert caplog.text.count("A subscriber failed on info") == 1


async def test_what_was_missed_live_is_not_shown_after_its_message(journal: Journal) -> None:
    feed = feed_of(journal)
    feed.open()
    await journal.append(THREAD, MessageStarted(message_id="m", role="assistant"))
    journal.live(delta("half a "))
    message = Message(id="m", role="assistant", parts=(Text("half a word"),))
    await journal.append(THREAD, MessageEnded(message=message))
    journal.live(delta("of the next"))
    feed.close()
    got = [event async for event in feed.events()]
    assert [event.type for event in got] == [
        "thread_created",
        "message_start",
        "message_end",
        "message_update",
    ]


async def test_a_late_reader_is_told_the_open_message_so_far(journal: Journal) -> None:
    await journal.append(THREAD, MessageStarted(message_id="m", role="assistant"))
    journal.live(delta("so "))
    journal.live(delta("far"))
    feed = feed_of(journal, after=2)
    feed.open()
    journal.live(delta(" so good"))
    feed.close()
    got = [event async for event in feed.events()]
    assert "".join(event.delta for event in got) == "so far so good"  # type: ignore[union-attr]


async def test_a_foreign_commit_between_two_of_ours_is_published_in_its_place(
    journal: Journal,
) -> None:
    heard: list[int] = []
    journal.bus.subscribe(lambda event: heard.append(event.seq or 0), thread_id=THREAD)
    await journal.append(THREAD, note("2"))
    await journal.store.commit(append(THREAD, note("3")))
    await journal.append(THREAD, note("4"))
    assert heard == [2, 3, 4]


async def test_the_control_a_listener_that_only_hears_the_bus_misses_foreign_commits(
    journal: Journal,
) -> None:
    heard: list[str] = []
    store = journal.store
    assert isinstance(store, SqliteStore)
    deaf = Journal(store=store, bus=Bus())
    deaf.bus.subscribe(lambda event: heard.append(event.text) if isinstance(event, Noted) else None)
    await store.commit(append(THREAD, note("theirs")))
    await deaf.append(THREAD, note("ours"))
    assert heard == ["ours"]
