from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import ModelError
from bridle.models.sse import SseEvent, SseParser
from support.sse_reference import reference

LINES = st.sampled_from(
    [
        b"data: one",
        b"data:two",
        b"data",
        b"data:  three",
        b"event: tick",
        b"event:",
        b": comment",
        b"id: 7",
        b"nonsense",
        b"",
        b"",
        "data: ünï ☃ 🎉".encode(),
        b"data: \xff\xfe",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def parse(pieces: list[bytes]) -> list[SseEvent]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)]


@given(
    st.lists(st.tuples(LINES, ENDS), max_size=30),
    st.booleans(),
    st.lists(st.integers(0, 400), max_size=20),
)
def test_any_cut_gives_what_the_whole_gives(
    lines: list[tuple[bytes, bytes]], bom: bool, cuts: list[int]
) -> None:
    stream = (b"\xef\xbb\xbf" if bom else b"") + b"".join(line + end for line, end in lines)
    # A CR at the very end may be half a CRLF: what follows decides, so end with a full line.
    stream += b"\n"
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert parse(pieces) == reference(stream)


@given(st.binary(max_size=500), st.integers(1, 50))
def test_any_bytes_are_survived(stream: bytes, size: int) -> None:
    pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
    assert parse(pieces) == parse([stream])


def test_an_event_without_its_empty_line_is_not_given_out() -> None:
    assert parse([b"data: one\n\ndata: two\n"]) == [SseEvent("", "one")]


def test_an_event_over_the_bound_is_an_error() -> None:
    parser = SseParser(max_event_bytes=1000)
    for _ in range(100):
        parser.feed(b": keep-alive\n\n" * 100)
        parser.feed(b"data: " + b"x" * 900 + b"\n\n")
    parser.feed(b"data: " + b"x" * 900 + b"\n")
    with pytest.raises(ModelError, match="larger than 1000 bytes"):
        parser.feed(b"data: " + b"x" * 900 + b"\n")


def test_a_line_without_an_end_is_bounded_too() -> None:
    parser = SseParser(max_event_bytes=1000)
    for _ in range(10):
        parser.feed(b"x" * 100)
    with pytest.raises(ModelError):
        parser.feed(b"x")


def test_a_huge_event_in_small_pieces_is_not_quadratic() -> None:
    parser = SseParser()
    parser.feed(b"data: ")
    for _ in range(40_000):
        assert parser.feed(b"x" * 256) == []
    (event,) = parser.feed(b"\n\n")
    assert len(event.data) == 40_000 * 256
