"""Recompute the hash chains of a run's tree, and compare everything that is named by its hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.runs.tree import decoded, named_artefacts, named_blobs
from bridle.types import events as ev
from bridle.types.base import Fact
from bridle.types.chain import GENESIS, digest, first_break, link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.runs.tree import Log, Tree


class Problem(Fact, frozen=True, kw_only=True):
    """Something that is not as it was written; `seq` is the first event that shows it."""

    thread_id: str
    seq: int | None
    what: str

    def __str__(self) -> str:
        place = f"event {self.seq} of {self.thread_id}" if self.seq else self.thread_id
        return f"{place}: {self.what}"


class Verified(Fact, frozen=True, kw_only=True):
    """What was checked, and what is wrong. `head` stands for the whole log of the run's thread.

    A chain shows a change only to who knows a hash that was made before it: keep `head` elsewhere
    and compare.
    """

    run_id: str
    thread_id: str
    threads: int
    events: int
    blobs: int
    head: str
    problems: tuple[Problem, ...] = ()


def verify(tree: Tree) -> Verified:
    """Check every log of a tree, the bonds between them, and the blobs that they name."""
    problems = [problem for log in tree.logs.values() for problem in _log(log)]
    if not problems:
        problems += [
            p for log in tree.logs.values() for p in (*_bonds(tree, log), *_kept(tree, log))
        ]
    root = tree.logs[tree.root]
    return Verified(
        run_id=tree.run_id,
        thread_id=tree.root,
        threads=len(tree.logs),
        events=sum(len(log.records) for log in tree.logs.values()),
        blobs=len(tree.blobs) + len(tree.artefacts),
        head=root.hash,
        problems=tuple(problems),
    )


def _log(log: Log) -> Iterator[Problem]:
    if not log.records:
        yield Problem(thread_id=log.thread_id, seq=None, what="its log is missing")
        return
    broken = first_break(log.records, head=(log.seq, log.hash))
    if broken is not None:
        yield Problem(thread_id=log.thread_id, seq=broken, what=_break(log, broken))
        return
    for seq, _, body in log.records:
        event = decoded(body)
        if event is None or (event.seq, event.thread_id) != (seq, log.thread_id):
            yield Problem(thread_id=log.thread_id, seq=seq, what="it is not an event of this place")
            return


def _break(log: Log, seq: int) -> str:
    if seq > len(log.records):
        return f"it is missing; the log had {log.seq} events"
    number, recorded, body = log.records[seq - 1]
    if number != seq:
        return f"it is missing; event {number} follows instead"
    before = log.records[seq - 2][1] if seq > 1 else GENESIS
    found = link(before, body)
    if found != recorded:
        return f"it was changed: it hashes to {found[:16]}…, recorded was {recorded[:16]}…"
    return f"the log does not end as it was recorded ({log.hash[:16]}…)"


def _bonds(tree: Tree, log: Log) -> Iterator[Problem]:
    """A child's log must have come by the hash that its parent recorded when it ended."""
    started: dict[str, ev.SubagentStarted] = {}
    for event in log.events():
        if isinstance(event, ev.SubagentStarted):
            started[event.call_id] = event
        if not isinstance(event, ev.SubagentEnded) or event.head is None:
            continue
        start = started.get(event.call_id)
        child = tree.logs.get(start.child_thread_id) if start is not None else None
        if child is None or event.head not in {found for _, found, _ in child.records}:
            name = child.thread_id if child is not None else log.thread_id
            what = (
                f"its log is not the one that event {event.seq} of {log.thread_id} was bound to "
                f"({event.head[:16]}…)"
            )
            yield Problem(thread_id=name, seq=None, what=what)


def _kept(tree: Tree, log: Log) -> Iterator[Problem]:
    events = log.events()
    for kind, names, kept in (
        ("blob", named_blobs(events), tree.blobs),
        ("artefact", named_artefacts(events), tree.artefacts),
    ):
        for name, seq in names.items():
            if name not in kept:
                what = f"the {kind} {name[:16]}… that it names is missing"
                yield Problem(thread_id=log.thread_id, seq=seq, what=what)
            elif digest(kept[name]) != name:
                what = f"the {kind} {name[:16]}… that it names was changed"
                yield Problem(thread_id=log.thread_id, seq=seq, what=what)
