"""One ledger: any number of parallel children stay within the cap."""

from __future__ import annotations

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle import Limits, Subagent
from bridle.errors import BudgetBlocked
from bridle.ports.clock import SystemClock
from bridle.ports.store import Batch, Reservation, Spent
from bridle.store.sqlite.store import SqliteStore
from bridle.testing import ScriptedModel, calls, says
from bridle.types.ledger import Account, Ask, Price, Room, fit
from bridle.types.usage import Usage

ASKS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3000), st.integers(1, 5000), st.floats(0, 1)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(
    cap=st.integers(0, 60_000),
    parents=st.lists(st.integers(0, 5), min_size=6, max_size=6),
    usd=st.floats(0, 0.2),
    asks=ASKS,
)
def test_no_tree_of_requests_passes_its_cap(cap, parents, usd, asks):
    price = Price(input=1e-6, output=3e-6)

    async def main() -> None:
        store = SqliteStore(None, clock=SystemClock())
        ids = ["root"]
        accounts = [Account(id="root", max_tokens=cap, max_usd=usd)]
        for number, parent in enumerate(parents, 1):
            accounts.append(Account(id=f"a{number}", parent_id=ids[min(parent, number - 1)]))
            ids.append(f"a{number}")
        await store.commit(Batch(accounts=tuple(accounts)))
        under_way: list[tuple[str, Room]] = []
        for number, (who, given_in, wanted, share) in enumerate(asks):
            name = ids[who]
            ask = Ask(input_tokens=given_in, output_tokens=wanted, price=price)
            room = fit(ask, await store.accounts(name))
            if isinstance(room, Room):
                reservation = Reservation(
                    id=f"r{number}", account=name, tokens=room.tokens, usd=room.usd
                )
                try:
                    await store.commit(Batch(reserve=reservation))
                except BudgetBlocked:
                    raise AssertionError(
                        "what fits must be granted when nobody is faster"
                    ) from None
                under_way.append((f"r{number}", room))
            if under_way and number % 2:
                reserved, taken = under_way.pop(0)
                spent = Spent(
                    reservation=reserved, tokens=int(taken.tokens * share), usd=taken.usd * share
                )
                await store.commit(Batch(spent=(spent,)))
            (root,) = await store.accounts("root")
            assert root.spent_tokens + root.reserved_tokens <= cap
            assert root.spent_usd + root.reserved_usd <= usd + 1e-9
        await store.close()

    anyio.run(main)


async def test_twenty_parallel_subagents_stay_within_the_cap(opened):
    class Costly:
        """Uses what it is given, and says so."""

        id, context_window = "test/costly", None
        price = Price(input=0.0, output=1e-4)

        def stream(self, request):
            room = request.settings.max_output_tokens
            if request.system == "kid":
                usage = Usage(output_tokens=min(2000, room))
                return ScriptedModel([says("kid")], usage=usage).stream(request)
            done = any(message.role == "tool" for message in request.messages)
            batch = [calls("subagent", agent_type="kid", task=str(n)) for n in range(20)]
            usage = Usage(output_tokens=min(1000, room))
            return ScriptedModel([says("end") if done else batch], usage=usage).stream(request)

    limits = Limits(max_usd=2.0)
    kid = Subagent("kid", instructions="kid")
    async with opened(
        resolve_model=lambda _id: Costly(), subagents=[kid], limits=limits
    ) as harness:
        session = await harness.session()
        result = await session.send("go")
        (account,) = await harness.store.accounts(result.run_id)
        assert account.spent_usd <= 2.0
        assert account.reserved_usd == 0.0
        rows = await harness.store.runs(limit=100)
        ended = [row.reason for row in rows if row.parent_run_id is not None]
        assert len(ended) == 20
        assert "budget_exceeded" in ended
        assert "end_turn" in ended
