"""The typed graph of a run: runs, steps, calls and the runs below them.

An edge is `parent` (a run's step, a step's call, a call's child run), `next` (from one step to the
following one) or `parallel` (two calls of a step that really ran at the same time).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from bridle.runs.words import call_words, short
from bridle.types import events as ev
from bridle.types.base import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridle.runs.tree import Family

NodeKind = Literal["run", "step", "call"]
EdgeKind = Literal["parent", "next", "parallel"]
LABEL = 60


class Node(Fact, frozen=True, kw_only=True):
    """A run, a step of it, or a call; `state` is how it ended."""

    id: str
    kind: NodeKind
    label: str
    state: str
    seq: int
    thread_id: str
    duration_ms: int | None = None


class Edge(Fact, frozen=True, kw_only=True):
    """From one node to another."""

    source: str
    target: str
    kind: EdgeKind


class Graph(Fact, frozen=True, kw_only=True):
    """Nodes in the order of a walk from the root, and edges between them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def children(self, node_id: str) -> list[Node]:
        """The nodes right below one."""
        known = {node.id: node for node in self.nodes}
        return [known[e.target] for e in self.edges if e.kind == "parent" and e.source == node_id]

    def parallel(self) -> set[str]:
        """The calls that ran at the same time as another one."""
        return {name for e in self.edges if e.kind == "parallel" for name in (e.source, e.target)}


def graph(whole: Family) -> Graph:
    """Draw the graph of a run."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    _run(whole, nodes, edges)
    return Graph(nodes=tuple(nodes), edges=tuple(edges))


def _run(whole: Family, nodes: list[Node], edges: list[Edge]) -> None:
    nodes.append(_run_node(whole))
    returned = {e.call_id: e for e in whole.events if isinstance(e, ev.ToolReturned)}
    decided = {e.call_id: e for e in whole.events if isinstance(e, ev.PermissionDecided)}
    called = {e.call_id: e for e in whole.events if isinstance(e, ev.ToolCalled)}
    steps: list[str] = []
    for event in whole.events:
        if not isinstance(event, ev.MessageEnded) or event.message.role != "assistant":
            continue
        step = _step(event, len(steps) + 1)
        nodes.append(step)
        edges.append(Edge(source=whole.run_id, target=step.id, kind="parent"))
        if steps:
            edges.append(Edge(source=steps[-1], target=step.id, kind="next"))
        steps.append(step.id)
        calls = [called[call.id] for call in event.message.calls if call.id in called]
        for call in calls:
            end = returned.get(call.call_id)
            nodes.append(_call(call, decided.get(call.call_id), end))
            edges.append(Edge(source=step.id, target=call.call_id, kind="parent"))
            child = whole.children.get(call.call_id)
            if child is not None:
                edges.append(Edge(source=call.call_id, target=child.run_id, kind="parent"))
                _run(child, nodes, edges)
        edges += _parallel([e for c in calls if (e := returned.get(c.call_id)) is not None])


def _run_node(whole: Family) -> Node:
    started = next((e for e in whole.events if isinstance(e, ev.RunStarted)), None)
    ended = next((e for e in reversed(whole.events) if isinstance(e, ev.RunEnded)), None)
    paused = any(isinstance(e, ev.RunPaused) for e in whole.events[-1:])
    state = f"{ended.reason}, {ended.verdict}" if ended is not None else "running"
    return Node(
        id=whole.run_id,
        kind="run",
        label=short(started.task, LABEL) if started is not None else whole.run_id,
        state="awaiting" if paused else state,
        seq=started.seq if started is not None else 0,
        thread_id=whole.thread_id,
        duration_ms=_between(started, ended),
    )


def _between(started: ev.Event | None, ended: ev.Event | None) -> int | None:
    if started is None or ended is None:
        return None
    return int((_time(ended.at) - _time(started.at)) / timedelta(milliseconds=1))


def _step(event: ev.MessageEnded, number: int) -> Node:
    said = short(event.message.text, LABEL)
    return Node(
        id=event.message.id,
        kind="step",
        label=f"step {number}" + (f": {said}" if said else ""),
        state=event.message.stop or "",
        seq=event.seq,
        thread_id=event.thread_id,
    )


def _call(
    call: ev.ToolCalled, decided: ev.PermissionDecided | None, end: ev.ToolReturned | None
) -> Node:
    if end is None:
        state = "waiting" if decided is not None and decided.effect == "ask" else "open"
    elif end.denied:
        state = "denied"
    else:
        state = "failed" if end.is_error else "done"
    return Node(
        id=call.call_id,
        kind="call",
        label=short(call_words(call), LABEL),
        state=state,
        seq=call.seq,
        thread_id=call.thread_id,
        duration_ms=end.duration_ms if end is not None else None,
    )


def _parallel(ends: Sequence[ev.ToolReturned]) -> Iterator[Edge]:
    """Neighbours in the order of their beginnings whose times overlap."""
    spans = sorted((*_span(end), end.call_id) for end in ends if not end.denied)
    for (_, first_end, first), (second_start, _, second) in pairwise(spans):
        if second_start < first_end:
            yield Edge(source=first, target=second, kind="parallel")


def _span(end: ev.ToolReturned) -> tuple[datetime, datetime]:
    at = _time(end.at)
    return at - timedelta(milliseconds=end.duration_ms), at


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
