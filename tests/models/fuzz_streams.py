"""Hostile streams: answers that were cut, mixed, broken and lied about, over real sockets.

    python tests/models/fuzz_streams.py [COUNT] [--wire chat] [--seed N]

runs COUNT (10,000) mutated streams for each wire format and prints what became of them. Whatever a
stream does, it ends in a ModelError or in an answer with one Finish at its end, in time; and no
answer comes from a stream that does not hold the format's finish event.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st

from bridle.errors import ModelError
from bridle.models.http import HttpClient, Timeouts
from bridle.ports.model import CallDelta, CallStart, Finish, StreamPart
from support.sse_reference import reference
from support.wire_server import CUT, Frame, Reply, WireServer
from support.wires import WIRES, ask, error_frame, frames, make

IN_TIME = 10.0

ITEMS: list[dict[str, Any]] = [
    {"text": "hello world — ünï 🎉", "chunks": 4},
    {"thinking": "first I think", "text": "then I speak", "chunks": 3},
    {"calls": [{"tool": "add", "args": {"a": 1, "b": "zwei"}}], "chunks": 3},
    {
        "thinking": "hm",
        "text": "two calls",
        "calls": [{"tool": "add", "args": {"a": 1}}, {"tool": "sub", "args": {"b": [1, {}]}}],
        "chunks": 2,
    },
    {"calls": [{"tool": "add", "args": {}}, {"tool": "add", "args": {}}], "chunks": 1},
]

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
NOISE = st.sampled_from(
    [
        b": comment\n\n",
        b"event: new_thing\ndata: {}\n\n",
        b"data: [DONE]\n\n",
        b"data: null\n\n",
        b"data: {\n\n",
        b"data: " + b"[" * 3000 + b"\n\n",
        b'data: {"error": {"message": 5, "code": []}}\n\n',
        b"\xff\xfe\xfd",
        b"\xef\xbb\xbf",
        b"\r",
        b"\x00",
        b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]}\n\n',
        b'data: {"type": "content_block_stop", "index": 0}\n\n',
        b'data: {"candidates": null}\n\n',
    ]
)
NUMBER = st.integers(0, 10**6)
MUTATION = st.one_of(
    st.tuples(st.just("drop"), NUMBER, st.none()),
    st.tuples(st.just("double"), NUMBER, st.none()),
    st.tuples(st.just("swap"), NUMBER, NUMBER),
    st.tuples(st.just("noise"), NUMBER, NOISE),
    st.tuples(st.just("error"), NUMBER, st.none()),
    st.tuples(st.just("value"), st.tuples(NUMBER, NUMBER), JUNK),
    st.tuples(st.just("remove"), st.tuples(NUMBER, NUMBER), st.none()),
    st.tuples(st.just("flip"), NUMBER, st.integers(0, 255)),
    st.tuples(st.just("delete"), NUMBER, st.integers(1, 40)),
    st.tuples(st.just("insert"), NUMBER, st.binary(min_size=1, max_size=10)),
    st.tuples(st.just("truncate"), NUMBER, st.none()),
)
FRAME_LEVEL = {"drop", "double", "swap", "noise", "error", "value", "remove"}
CASE = st.fixed_dictionaries(
    {
        "item": st.sampled_from(ITEMS),
        "mutations": st.lists(MUTATION, min_size=1, max_size=4),
        "cuts": st.lists(NUMBER, max_size=6),
        "crlf": st.booleans(),
        "framing": st.sampled_from(["chunked", "close", "length"]),
        "broken_off": st.booleans(),
        "content_type": st.sampled_from(
            ["text/event-stream", "text/event-stream; charset=utf-8", "text/plain", None]
        ),
    }
)


def mutate(wire: str, case: dict[str, Any]) -> bytes:
    """The bytes of a damaged answer."""
    parts = frames(wire, case["item"])
    for kind, where, what in case["mutations"]:
        if kind in FRAME_LEVEL and parts:
            _change_frames(wire, parts, kind, where, what)
    body = b"".join(parts)
    if case["crlf"]:
        body = body.replace(b"\n", b"\r\n")
    for kind, where, what in case["mutations"]:
        if kind not in FRAME_LEVEL and body:
            body = _change_bytes(body, kind, where % len(body), what)
    return body


def _change_frames(wire: str, parts: list[bytes], kind: str, where: Any, what: Any) -> None:
    place = (where[0] if isinstance(where, tuple) else where) % len(parts)
    match kind:
        case "drop":
            del parts[place]
        case "double":
            parts.insert(place, parts[place])
        case "swap":
            other = what % len(parts)
            parts[place], parts[other] = parts[other], parts[place]
        case "noise":
            parts.insert(place, what)
        case "error":
            parts.insert(place, error_frame(wire, "broken"))
        case "value" | "remove":
            parts[place] = _change_json(parts[place], kind, where[1], what)


def _change_json(frame: bytes, kind: str, which: int, what: Any) -> bytes:
    """Replace or remove one value somewhere inside a frame's JSON."""
    head, mark, text = frame.partition(b"data: ")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return frame
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = node.keys() if isinstance(node, dict) else range(len(node))
        for key in list(keys):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    if not isinstance(value, dict | list):
        return frame
    walk(value)
    if not places:
        return frame
    node, key = places[which % len(places)]
    if kind == "remove":
        del node[key]
    else:
        node[key] = what
    return head + mark + json.dumps(value).encode() + b"\n\n"


def _change_bytes(body: bytes, kind: str, place: int, what: Any) -> bytes:
    match kind:
        case "flip":
            return body[:place] + bytes([what]) + body[place + 1 :]
        case "delete":
            return body[:place] + body[place + what :]
        case "insert":
            return body[:place] + what + body[place:]
        case "truncate":
            return body[:place]
        case _:
            raise ValueError(kind)


def says_its_end(wire: str, body: bytes) -> bool:
    """Whether the stream holds the event that ends an answer, read without our parser."""
    return any(_ends(wire, name, data) for name, data in reference(body))


def _ends(wire: str, name: str, data: str) -> bool:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    kind = value.get("type") or name
    match wire:
        case "responses":
            return kind in {"response.completed", "response.incomplete"}
        case "anthropic":
            return kind == "message_stop"
        case "chat":
            return _any_candidate(value.get("choices"), "finish_reason")
        case _:
            feedback = value.get("promptFeedback")
            blocked = isinstance(feedback, dict) and bool(feedback.get("blockReason"))
            return blocked or _any_candidate(value.get("candidates"), "finishReason")


def _any_candidate(candidates: Any, key: str) -> bool:
    entries = candidates if isinstance(candidates, list) else ()
    return any(isinstance(entry, dict) and entry.get(key) for entry in entries)


class Bench:
    """One server, one client and one event loop for all streams of a campaign."""

    def __init__(self, wire: str) -> None:
        self.wire = wire
        self.outcomes: Counter[str] = Counter()
        self._runner = asyncio.Runner()
        self._server = WireServer()
        self._runner.run(self._server.__aenter__())
        self._http = HttpClient(timeouts=Timeouts(idle=3, total=6))
        self._model = make(wire, self._server.url, self._http)

    def close(self) -> None:
        self._runner.run(self._http.aclose())
        self._runner.run(self._server.__aexit__())
        self._runner.close()

    def play(self, case: dict[str, Any]) -> None:
        """Serve one damaged answer and check what comes of it."""
        body = mutate(self.wire, case)
        places = sorted({cut % (len(body) + 1) for cut in case["cuts"]} | {0, len(body)})
        pieces: list[Frame] = [body[a:b] for a, b in itertools.pairwise(places)]
        if case["broken_off"] and case["framing"] != "length":
            pieces.append(CUT)
        reply = Reply(pieces, content_type=case["content_type"], framing=case["framing"])
        self._server.handler = lambda _: reply
        parts, error = self._runner.run(self._answer())
        self._check(body, parts, error)

    async def _answer(self) -> tuple[list[StreamPart], ModelError | None]:
        parts: list[StreamPart] = []
        with anyio.fail_after(IN_TIME):
            try:
                async for part in self._model.stream(ask()):
                    parts.append(part)
            except ModelError as error:
                return parts, error
        return parts, None

    def _check(self, body: bytes, parts: list[StreamPart], error: ModelError | None) -> None:
        started: set[int] = set()
        for part in parts:
            if isinstance(part, CallStart):
                assert part.index not in started
                assert part.tool
                started.add(part.index)
            elif isinstance(part, CallDelta):
                assert part.index in started
        finishes = [part for part in parts if isinstance(part, Finish)]
        if error is not None:
            assert not finishes
            assert str(error)
            self.outcomes[error.kind] += 1
            return
        assert len(finishes) == 1
        assert parts[-1] is finishes[0]
        assert says_its_end(self.wire, body), "an answer from a stream without its end"
        self.outcomes["answered" if not started else "answered with calls"] += 1


def campaign(wire: str, count: int, seed: int) -> Counter[str]:
    """Run a number of damaged streams through one wire format."""
    bench = Bench(wire)

    @with_seed(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(CASE)
    def run(case: dict[str, Any]) -> None:
        bench.play(case)

    check: Callable[[], None] = run
    try:
        check()
    finally:
        bench.close()
    return bench.outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--wire", choices=WIRES)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    for wire in (options.wire,) if options.wire else WIRES:
        begun = time.monotonic()
        outcomes = campaign(wire, options.count, options.seed)
        spent = time.monotonic() - begun
        told = ", ".join(f"{name} {number}" for name, number in outcomes.most_common())
        print(f"{wire}: {sum(outcomes.values())} streams in {spent:.0f} s: {told}", flush=True)


if __name__ == "__main__":
    main()
