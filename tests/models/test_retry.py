from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import ModelError, ModelErrorKind
from bridle.models.breaker import COOL_DOWN, FAILURES_TO_OPEN, Breakers, Circuit
from bridle.models.retry import RetryPolicy, next_delay, watched
from bridle.ports.model import Finish, StreamPart, TextDelta

RETRYABLE: list[ModelErrorKind] = ["rate_limit", "unavailable", "timeout", "protocol", "cut"]
FINAL: list[ModelErrorKind] = ["authentication", "bad_request", "context_overflow", "refused"]
DOWN = ModelError("down", kind="unavailable")


@pytest.mark.parametrize("kind", FINAL)
def test_what_cannot_get_better_is_not_retried(kind: ModelErrorKind) -> None:
    assert next_delay(ModelError("no", kind=kind), 1) is None


def test_the_wait_doubles_up_to_its_cap_and_ends() -> None:
    policy = RetryPolicy(max_retries=8, base=1, cap=10)
    delays = [next_delay(DOWN, n, policy=policy, jitter=1.0) for n in range(1, 10)]
    assert delays == [1, 2, 4, 8, 10, 10, 10, 10, None]


@given(st.sampled_from(RETRYABLE), st.integers(1, 2), st.floats(0, 1))
def test_jitter_stays_within_the_upper_half(
    kind: ModelErrorKind, attempt: int, jitter: float
) -> None:
    error = ModelError("x", kind=kind)
    most = next_delay(error, attempt, jitter=1.0)
    delay = next_delay(error, attempt, jitter=jitter)
    assert most is not None
    assert delay is not None
    assert most / 2 <= delay <= most
    assert next_delay(error, attempt) is not None


def test_retry_after_is_the_least() -> None:
    error = ModelError("x", kind="rate_limit", retry_after=7)
    delay = next_delay(error, 1, jitter=0.0)
    assert delay is not None
    assert delay > 7


def test_a_provider_that_asks_for_too_much_is_given_up() -> None:
    assert next_delay(ModelError("x", kind="rate_limit", retry_after=3600), 1) is None


def test_what_cannot_be_read_is_tried_less_often() -> None:
    error = ModelError("x", kind="protocol")
    assert [next_delay(error, n) is not None for n in (1, 2, 3)] == [True, True, False]


async def test_a_watched_stream_passes_on_and_ends_when_silent() -> None:
    closed = False

    async def talk(pause: float) -> AsyncIterator[StreamPart]:
        nonlocal closed
        try:
            yield TextDelta("a")
            await anyio.sleep(pause)
            yield Finish(stop="end_turn")
        finally:
            closed = True

    assert len([part async for part in watched(talk(0), idle=5)]) == 2
    closed = False
    with pytest.raises(ModelError, match=r"said nothing for 0\.05 s") as error:
        [part async for part in watched(talk(10), idle=0.05)]
    assert error.value.kind == "timeout"
    assert closed


def test_failures_in_a_row_open_a_circuit_and_time_lets_one_try() -> None:
    now = 0.0
    breakers = Breakers(lambda: now)
    for _ in range(FAILURES_TO_OPEN):
        assert breakers.enter("p") is None
        breakers.failed("p", DOWN)
    assert breakers.state("p") == "open"
    assert breakers.enter("p") is not None
    assert breakers.enter("other") is None
    now = COOL_DOWN
    assert breakers.state("p") == "half_open"
    assert breakers.enter("p") is None
    assert breakers.enter("p") is not None
    breakers.failed("p", DOWN)
    assert breakers.enter("p") is not None
    now = 2 * COOL_DOWN
    assert breakers.enter("p") is None
    breakers.succeeded("p")
    assert breakers.state("p") == "closed"
    assert all(breakers.enter("p") is None for _ in range(3))


def test_a_user_who_asks_again_may_try_at_once() -> None:
    breakers = Breakers(lambda: 100.0)
    for _ in range(FAILURES_TO_OPEN):
        breakers.failed("p", DOWN)
    assert breakers.enter("p") is not None
    breakers.user_turn()
    assert breakers.enter("p") is None
    assert breakers.enter("p") is not None


def test_faults_of_the_request_say_nothing_of_the_provider() -> None:
    circuit = Circuit()
    for _ in range(20):
        circuit = circuit.failed(ModelError("x", kind="bad_request"), 0.0)
    assert circuit.allows(0.0)


def test_a_success_forgets_the_failures_before() -> None:
    circuit = Circuit()
    for _ in range(20):
        for _ in range(FAILURES_TO_OPEN - 1):
            circuit = circuit.failed(DOWN, 0.0)
        circuit = circuit.succeeded()
    assert circuit.allows(0.0)


def test_a_try_that_never_reports_back_does_not_block_for_ever() -> None:
    circuit = Circuit(failures=9, opened_at=0.0).started(COOL_DOWN)
    assert not circuit.allows(COOL_DOWN + 1)
    assert circuit.allows(2 * COOL_DOWN)


@given(st.lists(st.sampled_from(["ok", "down", "bad", "wait", "turn"]), max_size=60))
def test_a_circuit_never_locks_up(steps: list[str]) -> None:
    now = 0.0
    breakers = Breakers(lambda: now)
    for step in steps:
        if step == "wait":
            now += 11
        elif step == "turn":
            breakers.user_turn()
        elif breakers.enter("p") is None:
            if step == "ok":
                breakers.succeeded("p")
            else:
                kind: ModelErrorKind = "unavailable" if step == "down" else "bad_request"
                breakers.failed("p", ModelError("x", kind=kind))
    now += COOL_DOWN
    assert breakers.enter("p") is None
