"""Databases that were cut or damaged: what is left must open, or say what to do."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import StoreError
from bridle.types.chain import first_break
from support.kernel import thread_ids
from support.stores import append, created, note, open_store, sent

FRAME = 24 + 4096


@dataclass(frozen=True)
class Files:
    """A database and its log as a crash leaves them, with the heads after each commit."""

    db: bytes
    wal: bytes
    commits: tuple[dict[str, int], ...]

    def place(self, path: Path) -> Path:
        path.write_bytes(self.db)
        path.with_name(f"{path.name}-wal").write_bytes(self.wal)
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
        return path

    @property
    def boundaries(self) -> list[int]:
        """Where in the log each transaction ends."""
        ends = [32]
        for place in range(32, len(self.wal) - FRAME + 1, FRAME):
            if struct.unpack_from(">6I", self.wal, place)[1]:
                ends.append(place + FRAME)
        return ends


async def crashed_files(directory: Path, *, checkpoint: bool = False) -> Files:
    """Write two threads, and take the files while the store is still open."""
    path = directory / "crashed.sqlite"
    heads: dict[str, int] = {}
    commits: list[dict[str, int]] = []
    async with open_store(path) as store:

        async def write(thread: str, *events: object) -> None:
            written = await store.commit(append(thread, *events))  # type: ignore[arg-type]
            heads[thread] = written[-1].seq
            commits.append(dict(heads))

        await write("thr_a", created("thr_a"))
        await write("thr_b", created("thr_b"), sent("in_b", "run_b"))
        for number in range(12):
            await write("thr_a", note(f"{number} " + "x" * 700 * (number % 4)))
        await write("thr_b", note("y" * 9000))
        if checkpoint:
            await store._writer.run(lambda db: db.execute("select 1").fetchone())
            import sqlite3

            other = sqlite3.connect(path)
            other.execute("pragma wal_checkpoint(full)")
            other.close()
        await write("thr_a", note("the last one"), note("and its twin"))
        copies = directory / "copies"
        copies.mkdir(exist_ok=True)
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", copies / f"taken{suffix}")
    wal = copies / "taken-wal"
    return Files((copies / "taken").read_bytes(), wal.read_bytes(), tuple(commits))


@dataclass(frozen=True)
class Found:
    """What a store said when it was opened: the heads of its threads, and its notices."""

    heads: dict[str, int]
    notices: tuple[str, ...]
    refused: str | None = None


async def look(path: Path) -> Found:
    """Open a store and check that everything in it holds together."""
    try:
        async with open_store(path) as store:
            heads = {}
            for name in await thread_ids(store):
                records = await store.records(name)
                head = await store.head(name)
                assert first_break(records, head=(head.seq, head.hash)) is None
                assert len(await store.events(name)) == head.seq
                heads[name] = head.seq
            name = f"thr_probe{len(heads)}"
            probe = await store.commit(append(name, created(name)))
            assert probe[0].seq == 1, "it can be written"
            return Found(heads, tuple(store.notices))
    except StoreError as error:
        return Found({}, (), str(error))


def cuts(files: Files, step: int) -> Iterator[int]:
    """Places in the last two transactions: around every border, and every `step` bytes."""
    start, *_, end = files.boundaries[-3:]
    borders = {p + d for p in files.boundaries[-3:] for d in (-1, 0, 1, 23, 24, 25)}
    yield from sorted({*borders, *range(start, end, step)} & set(range(start, end + 1)))


async def check_cut(files: Files, path: Path, cut: int) -> bool:
    """Cut the log at a place, open it, and check what is there; returns whether it was torn."""
    files.place(path)
    Path(f"{path}-wal").write_bytes(files.wal[:cut])
    found = await look(path)
    assert found.refused is None
    whole = sum(1 for end in files.boundaries[1:] if end <= cut)
    before = len(files.boundaries) - 1 - len(files.commits)
    assert found.heads == files.commits[whole - before - 1], f"cut at {cut}"
    torn = cut not in files.boundaries
    assert bool(found.notices) == torn, f"cut at {cut}: {found.notices}"
    if torn:
        assert "cut before its end" in found.notices[0]
    return torn
