"""Garbage: snapshots of runs that are too old to be undone, artefacts that no event names, and
what processes left in their private temporary directories when they were killed.

What a run within the kept time needs is never dropped, nor what was written within it, whoever
wrote it: another store may name it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.app.paths import default_store, state_directory
from bridle.app.records import open_records
from bridle.errors import ConfigError
from bridle.ports.clock import SystemClock, from_iso
from bridle.types.base import Fact
from bridle.types.events import CheckpointTaken
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.ports.store import Store
    from bridle.sandbox.pruning import Pruned

DAY = 86_400.0
ALL = 1_000_000_000
_HASH = lazy(r"[0-9a-f]{64}", re.ASCII)


class Garbage(Fact, frozen=True, kw_only=True):
    """What was dropped, or would be, in one place."""

    kind: str
    place: str
    items: int
    bytes: int
    note: str | None = None


class Collected(Fact, frozen=True, kw_only=True):
    """Everything that was dropped, or would be."""

    dry_run: bool
    runs_kept: int
    garbage: tuple[Garbage, ...]

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(entry.bytes for entry in self.garbage)


class Places(Fact, frozen=True, kw_only=True):
    """Where garbage lies: the private repositories, and the artefacts beside the store."""

    snapshots: Path
    artefacts: Path | None


def places_of(url: str, state: Path) -> Places:
    """The places that belong to a store."""
    scheme, separator, rest = url.partition("://")
    artefacts = None
    if separator and scheme == "sqlite":
        artefacts = Path(rest[1:]).expanduser().resolve().parent / "artefacts"
    return Places(snapshots=state / "checkpoints", artefacts=artefacts)


async def collect_garbage(url: str | None, *, keep_days: float, dry_run: bool) -> Collected:
    """Collect for the user's own store, or for the one that a URL names."""
    places = places_of(url or default_store(), state_directory())
    async with open_records(url) as store:
        now = SystemClock().now()
        found = await collect(store, places, keep_days=keep_days, now=now, dry_run=dry_run)
    return msgspec.structs.replace(found, garbage=(*found.garbage, *_temporary(dry_run=dry_run)))


async def collect(
    store: Store, places: Places, *, keep_days: float, now: float, dry_run: bool
) -> Collected:
    """Drop garbage, or tell what would be dropped."""
    if keep_days < 0:
        raise ConfigError("The time that is kept cannot be negative.")
    before = now - keep_days * DAY
    named, trees, runs = await _needed(store, before)
    garbage = await _snapshots(places.snapshots, trees, before, dry_run=dry_run)
    garbage += _artefacts(places.artefacts, named, before, dry_run=dry_run)
    return Collected(dry_run=dry_run, runs_kept=runs, garbage=tuple(garbage))


async def _needed(store: Store, before: float) -> tuple[set[str], set[str], int]:
    """The hashes that any event names, and the trees and number of the runs that are kept."""
    rows = await store.runs(limit=ALL)
    kept = {row.run_id for row in rows if row.ended_at is None or from_iso(row.ended_at) >= before}
    threads = {row.thread_id for row in rows}
    threads |= {thread.id for thread in await store.threads(hidden=True)}
    named: set[str] = set()
    trees: set[str] = set()
    for thread_id in sorted(threads):
        for _seq, _hash, body in await store.records(thread_id):
            named.update(_HASH.findall(body.decode("utf-8", "replace")))
        for event in await store.events(thread_id):
            if isinstance(event, CheckpointTaken) and (
                event.run_id in kept or from_iso(event.at) >= before
            ):
                trees |= {event.before, event.after}
    return named, trees - {""}, len(kept)


async def _snapshots(
    directory: Path, trees: set[str], before: float, *, dry_run: bool
) -> list[Garbage]:
    from bridle.sandbox.pruning import prune
    from bridle.sandbox.supervisor import Supervisor

    found: list[Garbage] = []
    for repository in _inside(directory):
        pruned = await prune(
            str(repository), trees, before=before, dry_run=dry_run, processes=Supervisor()
        )
        if pruned.objects or pruned.whole or pruned.problem:
            found.append(_snapshot(pruned))
    return found


def _inside(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


def _snapshot(pruned: Pruned) -> Garbage:
    note = pruned.problem or ("no kept run worked there" if pruned.whole else None)
    return Garbage(
        kind="snapshots",
        place=pruned.directory,
        items=pruned.objects,
        bytes=pruned.bytes,
        note=note,
    )


def _artefacts(
    directory: Path | None, named: set[str], before: float, *, dry_run: bool
) -> Iterator[Garbage]:
    """Artefacts that no event names; left alone where another store shares the directory."""
    if directory is None or not directory.is_dir():
        return
    others = sorted(path.name for path in directory.parent.glob("*.db"))
    found = [
        path
        for path in directory.iterdir()
        if path.is_file() and path.name not in named and path.stat().st_mtime < before
    ]
    if not found:
        return
    if len(others) > 1:
        note = f"left alone: {', '.join(others)} share the directory"
        yield Garbage(kind="artefacts", place=str(directory), items=0, bytes=0, note=note)
        return
    size = sum(path.stat().st_size for path in found)
    for path in found if not dry_run else ():
        path.unlink(missing_ok=True)
    yield Garbage(kind="artefacts", place=str(directory), items=len(found), bytes=size)


def _temporary(*, dry_run: bool) -> Iterator[Garbage]:
    """What no living process holds; no run needs it."""
    from bridle.sandbox.temps import sweep

    stale = sweep(dry_run=dry_run)
    if stale.items:
        yield Garbage(kind="temporary", place=stale.place, items=stale.items, bytes=stale.bytes)


def as_objects(collected: Collected) -> list[dict[str, object]]:
    """One object per place."""
    return [
        {**msgspec.to_builtins(entry), "dry_run": collected.dry_run} for entry in collected.garbage
    ]
