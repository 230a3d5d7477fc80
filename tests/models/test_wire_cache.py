from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bridle.models.wire import HeadCache, WireCache
from bridle.types.messages import Message, user_message
from bridle.types.tools import ToolSpec


def counting(max_bytes: int = 10**9) -> tuple[WireCache[bytes], list[str]]:
    encoded: list[str] = []

    def encode(message: Message) -> bytes:
        encoded.append(message.id)
        return message.text.encode()

    return WireCache(encode, len, max_bytes=max_bytes), encoded


def test_a_growing_history_is_encoded_once() -> None:
    cache, encoded = counting()
    messages = [user_message(f"m{n}", str(n)) for n in range(50)]
    for count in range(1, 51):
        assert cache.all(messages[:count]) == [str(n).encode() for n in range(count)]
    assert encoded == [f"m{n}" for n in range(50)]


def test_memory_stays_bounded_over_many_threads() -> None:
    cache, _ = counting(max_bytes=100_000)
    for thread in range(500):
        cache.all([user_message(f"{thread}.{n}", "x" * 1000) for n in range(5)])
    assert cache._bytes <= 100_000
    assert len(cache) <= 100


def test_a_history_larger_than_the_bound_is_still_sent_whole() -> None:
    cache, _ = counting(max_bytes=1000)
    messages = [user_message(f"m{n}", "x" * 500) for n in range(20)]
    assert len(cache.all(messages)) == 20
    assert cache._bytes <= 1000


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.text(max_size=3)), max_size=6)))
def test_the_cache_never_changes_what_is_sent(requests: list[list[tuple[int, str]]]) -> None:
    cache, _ = counting(max_bytes=900)
    for request in requests:
        messages = [user_message(f"m{number}", text) for number, text in request]
        assert cache.all(messages) == [message.text.encode() for message in messages]
        assert cache._bytes == sum(len(w) + 200 for _, w in cache._entries.values())


def test_a_head_is_encoded_once_and_again_when_a_tool_changes() -> None:
    calls: list[str] = []

    def encode(system: str, tools: tuple[ToolSpec, ...]) -> bytes:
        calls.append(system)
        return b"".join(tool.description.encode() for tool in tools)

    cache = HeadCache(encode)

    def tools(text: str) -> tuple[ToolSpec, ...]:
        return (ToolSpec(name="t", description=text, parameters={}),)

    assert cache.get("s", tools("a")) == b"a"
    assert cache.get("s", tools("a")) == b"a"
    assert cache.get("s", tools("b")) == b"b"
    assert cache.get("s", tools("a")) == b"a"
    assert len(calls) == 3
