"""Facts: they are read back as they were written, ids sort, limits and budgets add up."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.types.chain import GENESIS, first_break, link
from bridle.types.events import DurableEvent, Event, decode_event, encode_event
from bridle.types.ids import call_id, derive_id, event_id, make_id, ulid
from bridle.types.ledger import DUST_USD, Account, Ask, NoRoom, Price, Room, fit
from bridle.types.limits import MIN_OUTPUT_TOKENS, Limits
from bridle.types.ops import Op
from bridle.types.usage import Usage
from support.strategies import struct, values_of

EVENTS: tuple[type[Event], ...] = get_args(DurableEvent)
few = settings(max_examples=15, deadline=None)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_an_event_is_read_back_as_it_was_written(kind: type[Event]) -> None:
    @few
    @given(struct(kind))
    def check(event: Any) -> None:
        again = decode_event(encode_event(event))
        assert again == event
        assert type(again) is kind
        normal = encode_event(again)
        assert encode_event(decode_event(normal)) == normal

    check()


LATER = [
    (kind, field.name)
    for kind in EVENTS
    for field in msgspec.structs.fields(kind)
    if field.default is msgspec.UNSET
]
RECIPE = (
    b'{"type":"message_start","seq":9,"id":"thr_1.9","at":"2026-01-01T00:00:00.000000Z",'
    b'"thread_id":"thr_1","run_id":"run_1","parent":null,"v":1,"message_id":"run_1.1.answer",'
    b'"role":"assistant","request":{"model":"a/b","head":"h","messages":1,"prefix":"p",'
    b'"max_output_tokens":null,"price":null}}'
)


@pytest.mark.parametrize(("kind", "field"), LATER, ids=lambda it: getattr(it, "__name__", it))
def test_a_field_that_came_later_is_left_out_where_it_was_not_written(
    kind: type[Event], field: str
) -> None:
    """The hash of a record is in the chain: reading it must not change its bytes."""

    @few
    @given(struct(kind))
    def check(event: Any) -> None:
        old = encode_event(msgspec.structs.replace(event, **{field: msgspec.UNSET}))
        old = encode_event(decode_event(old))
        assert field not in msgspec.json.decode(old)
        assert encode_event(decode_event(old)) == old

    check()


def test_a_recipe_from_before_formats_were_recorded_keeps_its_bytes() -> None:
    assert encode_event(decode_event(RECIPE)) == RECIPE


@few
@given(values_of(Op))
def test_an_op_is_read_back_as_it_was_written(op: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(op), type=Op) == op


def test_every_event_has_a_name_of_its_own() -> None:
    tags = [kind.__struct_config__.tag for kind in EVENTS]
    assert len(tags) == len(set(tags))


instants = st.integers(0, 2**48 - 1)
noise = st.binary(min_size=10, max_size=10)


@given(instants, instants, noise, noise)
def test_ids_sort_by_time(one: int, other: int, a: bytes, b: bytes) -> None:
    first, second = make_id("run", one, a), make_id("run", other, b)
    if one != other:
        assert (first < second) == (one < other)
    assert (first == second) == ((one, a) == (other, b))
    assert len(ulid(one, a)) == 26


@given(instants, noise, st.text(max_size=20), st.text(max_size=20))
def test_a_derived_id_follows_from_its_source(at: int, rest: bytes, one: str, other: str) -> None:
    run = make_id("run", at, rest)
    assert derive_id("apr", run + one) == derive_id("apr", run + one)
    assert (derive_id("apr", run + one) == derive_id("apr", run + other)) == (one == other)
    assert derive_id("apr", run) != derive_id("sub", run)
    assert derive_id("apr", run)[4:14] == run[4:14], "it sorts with the run that it came from"
    assert len(derive_id("apr", one)) == len(run)


def test_names_of_calls_and_events_tell_their_place() -> None:
    assert call_id("run_X", 3, 1) == "run_X.3.1"
    assert event_id("thr_X", 41) == "thr_X.41"


@given(st.lists(st.binary(max_size=8), max_size=8), st.data())
def test_a_chain_tells_where_it_was_changed(bodies: list[bytes], data: Any) -> None:
    records, head = [], GENESIS
    for seq, body in enumerate(bodies, start=1):
        head = link(head, body)
        records.append((seq, head, body))
    assert first_break(records, head=(len(records), head)) is None
    if not records:
        return
    place = data.draw(st.integers(0, len(records) - 1))
    seq, found, body = records[place]
    changed = [*records[:place], (seq, found, body + b"!"), *records[place + 1 :]]
    assert first_break(changed) == seq
    missing = [*records[:place], *records[place + 1 :]]
    assert first_break(missing, head=(len(records), head)) == seq


limits = struct(Limits)


@few
@given(limits, limits, limits)
def test_combined_limits_are_the_smaller_of_each(a: Limits, b: Limits, c: Limits) -> None:
    both = a.within(b)
    assert both == b.within(a)
    assert a.within(a) == a
    assert a.within(b).within(c) == a.within(b.within(c))
    for name in Limits.__struct_fields__:
        given_ = [v for v in (getattr(a, name), getattr(b, name)) if v is not None]
        assert getattr(both, name) == (min(given_) if given_ else None)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="max_steps"):
        Limits(max_steps=-1)


money = st.floats(0, 10, allow_nan=False).map(lambda value: round(value, 6))
tokens = st.integers(0, 200_000)
accounts = st.builds(
    Account,
    id=st.just("a"),
    max_usd=st.none() | money,
    max_tokens=st.none() | tokens,
    spent_usd=money,
    spent_tokens=tokens,
    reserved_usd=money,
    reserved_tokens=tokens,
)
prices = st.builds(
    Price,
    input=st.sampled_from([0.0, 1e-6, 3e-6, 1e-4]),
    output=st.sampled_from([0.0, 1e-6, 15e-6, 1e-3]),
)
asks = st.builds(Ask, input_tokens=tokens, output_tokens=st.integers(1, 100_000), price=prices)
chains = st.lists(accounts, max_size=4)


@settings(max_examples=150, deadline=None)
@given(asks, chains)
def test_what_fits_stays_below_every_cap_on_the_way(ask: Ask, chain: list[Account]) -> None:
    found = fit(ask, chain)
    if isinstance(found, NoRoom):
        return
    assert min(MIN_OUTPUT_TOKENS, ask.output_tokens) <= found.output_tokens <= ask.output_tokens
    assert found.tokens == ask.input_tokens + found.output_tokens
    for account in chain:
        if account.max_tokens is not None:
            used = account.spent_tokens + account.reserved_tokens
            assert used + found.tokens <= account.max_tokens
        if account.max_usd is not None and found.usd:
            used_usd = account.spent_usd + account.reserved_usd
            assert used_usd + found.usd <= account.max_usd + 2 * DUST_USD


@settings(max_examples=150, deadline=None)
@given(asks, chains)
def test_no_room_is_final_unless_reservations_alone_are_in_the_way(
    ask: Ask, chain: list[Account]
) -> None:
    found = fit(ask, chain)
    free = [msgspec.structs.replace(a, reserved_usd=0.0, reserved_tokens=0) for a in chain]
    alone = fit(ask, free)
    if isinstance(found, NoRoom):
        assert found.final == isinstance(alone, NoRoom)
    else:
        assert isinstance(alone, Room)
        assert alone.output_tokens >= found.output_tokens


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000), prices)
def test_a_cost_is_the_sum_of_its_parts(plain: int, cached: int, out: int, price: Price) -> None:
    usage = Usage(input_tokens=plain + cached, cached_tokens=cached, output_tokens=out)
    assert price.cost(usage) == pytest.approx((plain + cached) * price.input + out * price.output)
    cheap = msgspec.structs.replace(price, cached=0.0)
    assert cheap.cost(usage) == pytest.approx(plain * price.input + out * price.output)
    assert (usage + usage).total_tokens == 2 * usage.total_tokens
