"""One ledger for the whole tree: whatever runs in parallel, no cap is passed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle import Limits, Subagent, tool
from bridle.agent.budget import LedgerBudget
from bridle.errors import BudgetBlocked
from bridle.ports.store import Batch, Reservation, Spent
from bridle.store.sqlite.store import SqliteStore
from bridle.testing import ScriptedModel, calls, says
from bridle.types.ledger import DUST_USD, Account, Ask, NoRoom, Price, Room
from bridle.types.usage import Usage
from support.kernel import ByStep, Impatient, check_log, make_harness, thread_ids
from support.mortal import Mortal, stranger
from support.outline import only
from support.stores import open_store

FLAT = st.builds(
    Price,
    input=st.sampled_from([0.0, 1e-6, 3e-6]),
    output=st.sampled_from([0.0, 5e-6, 1e-4]),
    cached=st.sampled_from([None, 1e-7]),
    cache_write=st.sampled_from([None, 4e-6]),
)
PRICES = FLAT | st.builds(
    lambda base, tiers: msgspec.structs.replace(base, tiers=tiers),
    FLAT,
    st.tuples(st.tuples(st.integers(1, 3000), FLAT)),
)
CAPS = st.tuples(st.none() | st.integers(0, 20_000), st.none() | st.sampled_from([0.0, 0.01, 0.3]))


@st.composite
def trees(draw: Any) -> list[Account]:
    """Accounts, each below an earlier one."""
    caps = draw(st.lists(CAPS, min_size=1, max_size=7))
    accounts = []
    for number, (tokens, usd) in enumerate(caps):
        parent = None if number == 0 else f"a{draw(st.integers(0, number - 1))}"
        accounts.append(Account(id=f"a{number}", parent_id=parent, max_tokens=tokens, max_usd=usd))
    return accounts


@st.composite
def requests(draw: Any) -> tuple[int, Ask, float]:
    """Whose request it is, what it asks for, and how much of its room it will use."""
    ask = Ask(
        input_tokens=draw(st.integers(0, 4000)),
        output_tokens=draw(st.integers(1, 6000)),
        price=draw(PRICES),
    )
    return draw(st.integers(0, 6)), ask, draw(st.floats(0, 1))


@settings(max_examples=40, deadline=None)
@given(trees(), st.lists(requests(), max_size=12))
async def test_any_tree_of_parallel_requests_stays_below_every_cap(
    tree: list[Account], asked: list[tuple[int, Ask, float]]
) -> None:
    async with open_store(None) as store:
        await store.commit(Batch(accounts=tuple(tree)))
        budget = LedgerBudget(store=store, clock=Impatient())
        names = itertools.count()
        made: list[Room] = []

        async def request(who: int, ask: Ask, used: float) -> None:
            account = tree[who % len(tree)].id
            while True:
                room = await budget.room(ask, account)
                if isinstance(room, NoRoom):
                    return
                name = f"r{next(names)}"
                wanted = Reservation(id=name, account=account, tokens=room.tokens, usd=room.usd)
                try:
                    await store.commit(Batch(reserve=wanted))
                except BudgetBlocked:
                    continue
                break
            await check_caps(store, tree)
            await anyio.sleep(0)
            usage = Usage(
                input_tokens=ask.input_tokens,
                output_tokens=int(room.output_tokens * used),
                cache_write_tokens=int(ask.input_tokens * used),
            )
            usd = ask.price.cost(usage)
            assert usd <= room.usd + DUST_USD  # a request never costs more than was reserved
            spent = Spent(reservation=name, tokens=usage.total_tokens, usd=usd)
            await store.commit(Batch(spent=(spent,)))
            made.append(room)

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for who, ask, used in asked:
                    tasks.start_soon(request, who, ask, used)
        for account in await check_caps(store, tree):
            assert account.reserved_tokens == 0
            assert account.reserved_usd == pytest.approx(0, abs=DUST_USD)


async def check_caps(store: SqliteStore, tree: list[Account]) -> list[Account]:
    found = [(await store.accounts(account.id))[0] for account in tree]
    for account in found:
        if account.max_tokens is not None:
            assert account.spent_tokens + account.reserved_tokens <= account.max_tokens
        if account.max_usd is not None:
            used = account.spent_usd + account.reserved_usd
            assert used <= account.max_usd + 2 * DUST_USD
    return found


async def test_the_control_looking_before_spending_is_not_enough() -> None:
    """Ten requests that look at what is spent and then spend: the cap is passed."""
    cap, spent = 10_000, [0]

    async def naive() -> None:
        if spent[0] + 2000 <= cap:
            await anyio.sleep(0)
            spent[0] += 2000

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(naive)
    assert spent[0] > cap


@tool(category="read", read_only=True, concurrency_safe=True)
async def look(name: str = "") -> str:
    """Look."""
    return "seen"


def busy_children(count: int) -> Any:
    """A parent that starts many children, each of which would go on for ever."""

    def script(request: Any) -> Any:
        if request.system == "kid":
            return calls("look", name=f"{request.run_id}{request.step}")
        if request.step == 1:
            return [calls("subagent", agent_type="kid", task=str(n)) for n in range(count)]
        return says("enough")

    return script


@pytest.mark.parametrize("cap", [{"max_tokens": 60_000}, {"max_usd": 0.06}], ids=str)
async def test_twenty_children_at_once_never_pass_the_cap(opened: Any, cap: Any) -> None:
    usage = Usage(input_tokens=300, output_tokens=700)
    model = ByStep(busy_children(20), price=Price(input=1e-6, output=1e-6), usage=usage)
    kid = Subagent("kid", instructions="kid", allowed_tools=["look"])
    harness = await opened(model, [look], subagents=[kid], limits=Limits(**cap))
    session = await harness.session()
    with anyio.fail_after(60):
        result = await session.send("go")
    store = harness.store
    runs = await store.runs()
    assert len(runs) == 21
    assert all(run.status == "ended" for run in runs)
    reasons = {run.reason for run in runs if run.parent_run_id is not None}
    assert reasons == {"budget_exceeded"}
    (account,) = await store.accounts(result.run_id)
    assert account.reserved_tokens == 0
    if "max_tokens" in cap:
        assert 30_000 < account.spent_tokens <= 60_000
    else:
        assert 0.03 < account.spent_usd <= 0.06 + DUST_USD
    steps = sum(run.steps for run in runs)
    assert account.spent_tokens == steps * 1000
    for thread_id in await thread_ids(store):
        check_log(await store.events(thread_id))


async def test_the_request_of_a_killed_process_counts_at_its_worst(tmp_path: Path) -> None:
    class Stuck:
        id, context_window = "scripted/queue", None
        price = Price(input=1e-6, output=1e-6)
        asked = anyio.Event()

        async def stream(self, request: Any) -> Any:
            self.asked.set()
            await anyio.sleep_forever()
            yield

    path = tmp_path / "store.db"
    model = Stuck()
    store = Mortal(path)
    harness = make_harness(store, model, limits=Limits(max_tokens=20_000))
    await harness.init()
    harness._engine.dispatcher.drain.owner = stranger()
    session = await harness.session()
    run = session.start("go")
    await run.begin()
    await model.asked.wait()
    (before,) = await store.accounts(run.id)
    assert before.reserved_tokens > 0
    store.die()
    await harness.destroy()
    await store.inner.close()
    model = ScriptedModel([says("again")], price=Stuck.price)
    async with make_harness(path, model, limits=Limits(max_tokens=20_000)) as harness:
        session = await harness.session()
        await session.resume()
        assert (await session.wait(run.id)).text == "again"
        (account,) = await harness.store.accounts(run.id)
        assert account.reserved_tokens == 0
        events = await session.run_events(run.id)
        assert only(events, "budget_settled") == ["budget_settled estimated", "budget_settled"]
        orphan, real = [e for e in events if e.type == "budget_settled"]
        assert orphan.tokens == before.reserved_tokens
        assert account.spent_tokens == orphan.tokens + real.tokens
