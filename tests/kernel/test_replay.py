"""A log replays to itself; a changed one is reported at the first event that differs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle import Limits, Rules, Subagent, tool
from bridle.runs.replay.driver import Replayed, replay_thread
from bridle.testing import ScriptedModel, calls, fails, says
from bridle.types.chain import GENESIS, link
from bridle.types.events import decode_event, encode_event
from bridle.types.ledger import Price
from support.kernel import ByStep, make_harness
from support.stores import open_store

ran: list[str] = []


@tool(category="read", read_only=True, concurrency_safe=True, timeout=5)
async def look(name: str = "") -> str:
    """Look."""
    ran.append(name)
    return f"saw {name}"


async def recorded(path: Path) -> str:
    """A thread with two runs, a batch, a child and a failure; returns its id."""

    def script(request: Any) -> Any:
        if request.system == "kid":
            return says("kid is done")
        if request.step == 1:
            return [
                calls("look", name="a"),
                calls("look", name="b"),
                calls("subagent", agent_type="kid", task="t"),
            ]
        return says("done")

    kid = Subagent("kid", instructions="kid")
    model = ByStep(script, price=Price(input=1, output=2))
    async with make_harness(
        path, model, [look], subagents=[kid], limits=Limits(max_usd=1_000_000, timeout=60)
    ) as harness:
        session = await harness.session()
        for text in ("first", "second"):
            assert (await session.send(text)).reason == "end_turn"
        return session.thread_id


async def replay(path: Path, thread_id: str, **more: Any) -> Replayed:
    async with open_store(path) as store:
        return await replay_thread(store, thread_id, **more)


Change = Callable[[list[Any]], None]


def tamper(path: Path, thread_id: str, change: Change, *, rechain: bool) -> None:
    """Change events in the database; `rechain` makes the hashes follow again."""
    db = sqlite3.connect(path)
    query = "select body from events where thread_id = ? order by seq"
    events = [decode_event(body) for (body,) in db.execute(query, (thread_id,))]
    change(events)
    head = GENESIS
    for seq, event in enumerate(events, start=1):
        body = encode_event(event)
        head = link(head, body)
        db.execute(
            "update events set body = ? where thread_id = ? and seq = ?", (body, thread_id, seq)
        )
        if rechain:
            place = (head, thread_id, seq)
            db.execute("update events set hash = ? where thread_id = ? and seq = ?", place)
    if rechain:
        db.execute("update threads set head_hash = ? where id = ?", (head, thread_id))
    db.commit()
    db.close()


async def test_a_replay_calls_no_model_and_no_tool(tmp_path: Path) -> None:
    thread_id = await recorded(tmp_path / "store.db")
    ran.clear()
    found = await replay(tmp_path / "store.db", thread_id)
    assert found.equal
    assert ran == []
    assert found.events == found.injected + found.recomputed
    assert found.recomputed > 15
    assert len(found.children) == 2
    assert all(child.equal for child in found.children)


async def test_a_replay_can_stop_at_the_end_of_a_run(tmp_path: Path) -> None:
    thread_id = await recorded(tmp_path / "store.db")
    async with open_store(tmp_path / "store.db") as store:
        first = (await store.runs(thread_id=thread_id))[-1].run_id
        found = await replay_thread(store, thread_id, until=first)
        events = await store.events(thread_id)
    assert found.equal
    assert found.events < len(events)
    assert events[found.events - 1].type == "agent_end"


def changed(kind: str, **fields: Any) -> tuple[Change, list[int]]:
    """Change the first event of a kind; the list tells its seq afterwards."""
    place: list[int] = []

    def change(events: list[Any]) -> None:
        number = next(n for n, e in enumerate(events) if e.type == kind)
        place.append(number + 1)
        events[number] = msgspec.structs.replace(events[number], **fields)

    return change, place


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("tool_end", {"result": "saw something else"}),
        ("agent_start", {"task": "another task"}),
        ("input_admitted", {"input_id": "in_other"}),
        ("agent_end", {"reason": "error"}),
    ],
)
async def test_a_changed_record_is_found_by_its_hash(
    tmp_path: Path, kind: str, fields: dict[str, Any]
) -> None:
    path = tmp_path / "tampered.sqlite"
    thread_id = await recorded(path)
    change, place = changed(kind, **fields)
    tamper(path, thread_id, change, rechain=False)
    found = await replay(path, thread_id)
    assert not found.equal
    assert found.divergence is not None
    assert found.divergence.seq == place[0]
    assert "the record was changed" in found.divergence.actual


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("agent_end", {"reason": "error"}),
        ("permission_decided", {"effect": "ask"}),
        ("agent_paused", {"waiting": ()}),
        ("message_start", {"role": "tool"}),
        ("subagent_end", {"is_error": True}),
    ],
)
async def test_a_forged_decision_is_found_where_it_stands(
    tmp_path: Path, kind: str, fields: dict[str, Any]
) -> None:
    """The forger made all hashes follow; the loop still does not decide like that."""
    path = tmp_path / "forged.sqlite"
    thread_id = await recorded(path)
    change, place = changed(kind, **fields)
    tamper(path, thread_id, change, rechain=True)
    found = await replay(path, thread_id)
    assert not found.equal
    assert found.divergence is not None
    assert found.divergence.seq == place[0]
    assert len(str(found.divergence).splitlines()) == 3


async def test_a_missing_end_is_found(tmp_path: Path) -> None:
    path = tmp_path / "short.sqlite"
    thread_id = await recorded(path)
    db = sqlite3.connect(path)
    (last,) = db.execute("select max(seq) from events where thread_id = ?", (thread_id,)).fetchone()
    db.execute("delete from events where thread_id = ? and seq = ?", (thread_id, last))
    db.commit()
    db.close()
    found = await replay(path, thread_id)
    assert not found.equal
    assert found.divergence is not None
    assert found.divergence.seq == last


async def test_a_forged_child_is_found(tmp_path: Path) -> None:
    path = tmp_path / "child.sqlite"
    thread_id = await recorded(path)
    async with open_store(path) as store:
        (child, *_) = await store.children(thread_id)
    change, _ = changed("agent_end", verdict="verified")
    tamper(path, child, change, rechain=True)
    found = await replay(path, thread_id)
    assert found.divergence is None
    assert not found.equal


async def test_a_fallback_model_replays_with_its_own_price(tmp_path: Path) -> None:
    dear = ScriptedModel(
        [[says("half"), fails("cut")] for _ in range(9)], price=Price(output=1), id="dear/model"
    )
    cheap = ScriptedModel(
        [[says("more than half of it"), fails("cut")], says("whole")],
        price=Price(output=0.5),
        id="cheap/model",
    )
    models = {"dear/model": dear, "cheap/model": cheap}
    harness = make_harness(
        tmp_path / "store.db",
        None,
        resolve_model=models.__getitem__,
        fallbacks=["cheap/model"],
    )
    async with harness:
        session = await harness.session()
        result = await session.start("go", model="dear/model")
        assert (result.reason, result.text) == ("end_turn", "whole"), result.error
        settled = [
            e.usd for e in await session.run_events(result.run_id) if e.type == "budget_settled"
        ]
        assert settled[0] > 0
        assert settled[-2] > 0


async def test_rules_of_today_do_not_change_the_replay(tmp_path: Path) -> None:
    """The policy is a fact of the log: replay decides by it, whatever is configured now."""
    path = tmp_path / "store.db"
    model = ScriptedModel([calls("look"), says("x")])
    async with make_harness(path, model, [look], permissions=Rules(tools={"look": "deny"})) as h:
        session = await h.session()
        await session.send("go")
        thread_id = session.thread_id
    assert (await replay(path, thread_id)).equal
