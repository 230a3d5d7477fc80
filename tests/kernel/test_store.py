"""What every store promises: one suite for the file and for memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle.errors import BudgetBlocked, HeadMoved, LeaseLost, StoreError, ThreadInUse
from bridle.ports.store import Append, Batch, Reservation, Spent
from bridle.store.artefacts import FileArtefacts, MemoryArtefacts
from bridle.store.owner import this_process
from bridle.store.sqlite.store import SqliteStore
from bridle.types.chain import digest, first_break
from bridle.types.events import SettingsChanged, ThreadDeleted, ThreadRenamed
from bridle.types.ledger import Account
from support.stores import ANOTHER, ELSEWHERE, Clock, append, created, note, open_store, sent


@pytest.fixture(params=["file", "memory"])
async def store(request: Any, tmp_path: Path, clock: Clock) -> AsyncIterator[SqliteStore]:
    path = tmp_path / "contract.sqlite" if request.param == "file" else None
    async with open_store(path, clock) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_events_are_stamped_in_order_and_read_back(store: SqliteStore) -> None:
    written = await store.commit(append("thr_1", created(), note("a"), note("b")))
    assert [(e.seq, e.id) for e in written] == [(1, "thr_1.1"), (2, "thr_1.2"), (3, "thr_1.3")]
    assert {e.at for e in written} == {"2027-01-15T08:00:00.000000Z"}
    assert await store.events("thr_1") == list(written)
    assert await store.events("thr_1", after=1, limit=1) == [written[1]]
    records = await store.records("thr_1")
    head = await store.head("thr_1")
    assert (head.seq, head.hash) == (3, records[-1][1])
    assert first_break(records, head=(head.seq, head.hash)) is None
    assert await store.heads(["thr_1", "thr_none"]) == {"thr_1": 3}
    assert (await store.head("thr_none")).seq == 0


async def test_a_batch_is_written_whole_or_not_at_all(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created()))
    broken = Batch(
        blobs=(b"never",),
        accounts=(Account(id="never"),),
        appends=(
            Append(thread_id="thr_1", events=(note(), sent())),
            Append(thread_id="thr_2", events=(created("thr_2"),)),
            Append(thread_id="thr_1", events=(note(),), expect=99),
        ),
    )
    with pytest.raises(HeadMoved):
        await store.commit(broken)
    assert len(await store.events("thr_1")) == 1
    assert await store.thread("thr_2") is None
    assert await store.blob(digest(b"never")) is None
    assert await store.accounts("never") == []
    assert await store.unfinished() == []


async def test_a_decision_on_an_old_state_is_refused(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created(), note()))
    with pytest.raises(HeadMoved, match="at event 2, not 1"):
        await store.commit(append("thr_1", note(), expect=1))
    await store.commit(append("thr_1", note(), expect=2))


async def test_a_thread_begins_with_its_creation(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="no thread thr_1"):
        await store.commit(append("thr_1", note()))


async def test_a_deleted_thread_takes_no_more_events(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created(), ThreadDeleted()))
    assert await store.thread("thr_1") is None
    assert await store.threads(hidden=True) == []
    with pytest.raises(StoreError, match="deleted"):
        await store.commit(append("thr_1", note()))


async def test_the_same_input_twice_is_one_input(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created()))
    assert len(await store.commit(append("thr_1", sent()))) == 1
    assert await store.commit(append("thr_1", sent())) == ()
    assert len(await store.events("thr_1")) == 2
    assert await store.unfinished() == ["thr_1"]


async def test_a_setting_that_does_not_change_is_not_recorded(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created(), SettingsChanged(key="k", value={"a": 1})))
    assert await store.commit(append("thr_1", SettingsChanged(key="k", value={"a": 1}))) == ()
    await store.commit(append("thr_1", SettingsChanged(key="k", value=None)))
    assert await store.settings("thr_1") == {"k": None}


async def test_threads_are_listed_newest_first(store: SqliteStore, clock: Clock) -> None:
    for name in ("thr_1", "thr_2", "thr_3"):
        clock.time += 1
        await store.commit(append(name, created(name, hidden=name == "thr_3")))
    clock.time += 1
    await store.commit(append("thr_1", ThreadRenamed(title="first")))
    assert [t.id for t in await store.threads()] == ["thr_1", "thr_2"]
    assert [t.id for t in await store.threads(hidden=True)] == ["thr_1", "thr_3", "thr_2"]
    assert (await store.threads())[0].title == "first"
    assert await store.threads(resource_id="other") == []


async def test_a_live_owner_keeps_a_thread_until_its_lease_expires(
    store: SqliteStore, clock: Clock
) -> None:
    await store.commit(append("thr_1", created()))
    lease, taken = await store.take_lease("thr_1", ELSEWHERE, seconds=30)
    assert (lease.epoch, taken.type) == (1, "lease_taken")
    with pytest.raises(ThreadInUse) as refused:
        await store.take_lease("thr_1", ANOTHER, seconds=30)
    assert refused.value.owner == "pid 1 on elsewhere"
    assert refused.value.since == "2027-01-15T08:00:00.000000Z"
    clock.time += 20
    lease = await store.renew_lease(lease, seconds=30)
    clock.time += 20
    with pytest.raises(ThreadInUse):
        await store.take_lease("thr_1", ANOTHER, seconds=30)
    clock.time += 11
    assert await store.lease("thr_1") is None
    second, event = await store.take_lease("thr_1", ANOTHER, seconds=30)
    assert (second.epoch, event.took_over) == (2, "pid 1 on elsewhere")  # type: ignore[union-attr]
    with pytest.raises(LeaseLost):
        await store.renew_lease(lease, seconds=30)


async def test_a_dead_owner_on_this_host_is_taken_over_at_once(store: SqliteStore) -> None:
    import msgspec

    await store.commit(append("thr_1", created()))
    dead = msgspec.structs.replace(this_process(), pid=2**22 - 1)
    await store.take_lease("thr_1", dead, seconds=3600)
    assert await store.lease("thr_1") is None
    reused = msgspec.structs.replace(this_process(), started="long ago")
    await store.take_lease("thr_1", reused, seconds=3600)
    await store.take_lease("thr_1", this_process(), seconds=3600)
    found = await store.lease("thr_1")
    assert found is not None
    assert (found.owner, found.epoch) == (this_process(), 3)


async def test_a_late_write_of_a_former_owner_is_refused(store: SqliteStore, clock: Clock) -> None:
    await store.commit(append("thr_1", created()))
    old, _ = await store.take_lease("thr_1", ELSEWHERE, seconds=30)
    clock.time += 31
    await store.commit(append("thr_1", note("late, and nobody minds"), epoch=old.epoch))
    await store.take_lease("thr_1", ANOTHER, seconds=30)
    with pytest.raises(LeaseLost):
        await store.commit(append("thr_1", note("too late"), epoch=old.epoch))
    # the control: a writer that carries no epoch does write twice
    await store.commit(append("thr_1", note("unfenced")))
    assert [e.text for e in await store.events("thr_1") if e.type == "info"] == [  # type: ignore[union-attr]
        "late, and nobody minds",
        "unfenced",
    ]


async def test_a_lease_is_given_back_only_when_nothing_came_in(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created()))
    lease, taken = await store.take_lease("thr_1", ELSEWHERE, seconds=30)
    await store.commit(append("thr_1", sent()))
    with pytest.raises(HeadMoved):
        await store.release_lease(lease, expect=taken.seq)
    await store.release_lease(lease, expect=taken.seq + 1)
    assert await store.lease("thr_1") is None
    await store.take_lease("thr_1", ANOTHER, seconds=30)


async def test_a_failing_batch_does_not_hurt_the_others_of_its_group(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created()))
    refused: list[Exception] = []

    async def write(number: int) -> None:
        expect = 999 if number % 3 == 0 else None
        try:
            await store.commit(append("thr_1", note(str(number)), expect=expect))
        except HeadMoved as error:
            refused.append(error)

    async with anyio.create_task_group() as tasks:
        for number in range(60):
            tasks.start_soon(write, number)
    assert len(refused) == 20
    written = {e.text for e in await store.events("thr_1") if e.type == "info"}  # type: ignore[union-attr]
    assert written == {str(n) for n in range(60) if n % 3}
    assert first_break(await store.records("thr_1")) is None


async def test_an_event_that_could_not_be_read_back_is_not_written(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created()))
    with pytest.raises(ValueError, match="info event cannot be recorded"):
        await store.commit(append("thr_1", note("\udcff")))
    assert len(await store.events("thr_1")) == 1


async def test_a_reservation_counts_on_every_account_above(store: SqliteStore) -> None:
    accounts = (
        Account(id="root", max_tokens=100, max_usd=1.0),
        Account(id="kid", parent_id="root", max_tokens=80),
    )
    await store.commit(Batch(accounts=accounts))

    async def reserve(name: str, account: str, tokens: int, usd: float = 0.0) -> None:
        wanted = Reservation(id=name, account=account, tokens=tokens, usd=usd)
        await store.commit(Batch(reserve=wanted))

    await reserve("a", "kid", 60, 0.5)
    with pytest.raises(BudgetBlocked, match="kid"):
        await reserve("b", "kid", 30)
    with pytest.raises(BudgetBlocked, match="root"):
        await reserve("b", "root", 41)
    with pytest.raises(BudgetBlocked, match="root"):
        await reserve("b", "root", 1, 0.51)
    await store.commit(Batch(spent=(Spent(reservation="a", tokens=10, usd=0.1),)))
    await store.commit(Batch(spent=(Spent(reservation="a", tokens=10, usd=0.1),)))
    kid, root = await store.accounts("kid")
    assert (kid.spent_tokens, kid.reserved_tokens) == (10, 0)
    assert (root.spent_tokens, root.reserved_tokens, root.spent_usd) == (10, 0, 0.1)
    await reserve("c", "root", 90, 0.9)


async def test_a_closed_store_says_so(store: SqliteStore) -> None:
    await store.commit(append("thr_1", created()))
    await store.close()
    with anyio.fail_after(5), pytest.raises(StoreError, match="closed"):
        await store.commit(append("thr_1", note()))


@pytest.fixture(params=["file", "memory"])
def artefacts(request: Any, tmp_path: Path) -> Any:
    return FileArtefacts(tmp_path / "a") if request.param == "file" else MemoryArtefacts()


async def test_artefacts_are_named_by_their_content(artefacts: Any, tmp_path: Path) -> None:
    body = b"x" * 100_000
    names: set[str] = set()

    async def save() -> None:
        names.add(await artefacts.save(body))

    async with anyio.create_task_group() as tasks:  # the same output of parallel calls
        for _ in range(20):
            tasks.start_soon(save)
    assert names == {digest(body)}
    assert await artefacts.load(digest(body)) == body
    assert await artefacts.load("0" * 64) is None
    assert [p.name for p in tmp_path.glob("a/*")] in ([digest(body)], [])
    assert list(tmp_path.glob("a/.*")) == []
