"""A torn or damaged database opens with every complete record, or says what to do."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from bridle.errors import StoreError
from support.stores import append, created, note, open_store
from support.torn import FRAME, Files, check_cut, crashed_files, cuts, look


@pytest.fixture
async def files(tmp_path: Path) -> Files:
    return await crashed_files(tmp_path)


async def test_a_log_cut_anywhere_keeps_all_complete_records(files: Files, tmp_path: Path) -> None:
    path = tmp_path / "cut.sqlite"
    said = sum([await check_cut(files, path, cut) for cut in cuts(files, step=997)])
    assert said > 20


async def test_an_uncut_log_says_nothing(files: Files, tmp_path: Path) -> None:
    found = await look(files.place(tmp_path / "whole.sqlite"))
    assert found.heads == files.commits[-1]
    assert found.notices == ()


async def test_a_database_cut_anywhere_keeps_what_is_whole_or_refuses(tmp_path: Path) -> None:
    files = await crashed_files(tmp_path, checkpoint=True)
    outcomes = set()
    for number, cut in enumerate(range(0, len(files.db), max(1, len(files.db) // 24))):
        path = tmp_path / f"cut{number}.sqlite"
        files.place(path)
        path.write_bytes(files.db[:cut])
        if number % 2:
            Path(f"{path}-wal").unlink()
        found = await look(path)
        if found.refused is not None:
            assert "holds no complete record. Move it away" in found.refused
            assert path.read_bytes() == files.db[:cut], "what is refused is left alone"
            outcomes.add("refused")
            continue
        for thread, head in found.heads.items():
            assert 1 <= head <= files.commits[-1][thread]
        if found.heads == files.commits[-1] and not found.notices:
            continue  # the log still has what the file lost
        assert "set aside as" in found.notices[0]
        assert len(list(tmp_path.glob(f"cut{number}.sqlite.damaged-*Z"))) == 1
        outcomes.add("kept some")
    assert outcomes >= {"refused", "kept some"}


async def test_a_database_without_its_head_keeps_every_record(tmp_path: Path) -> None:
    files = await crashed_files(tmp_path, checkpoint=True)
    for damage in (b"", b"\x00" * 4096, random.Random(1).randbytes(4096)):
        path = tmp_path / f"head{len(damage)}{damage[:1].hex()}.sqlite"
        files.place(path)
        path.write_bytes(damage + files.db[4096:] if damage else b"")
        found = await look(path)
        if damage:
            assert found.heads == files.commits[-1]
        else:  # the file is empty; what was not yet moved out of the log is still there
            assert found.refused or found.heads


async def test_damage_met_while_working_is_mended_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "met.sqlite"
    async with open_store(path) as store:
        for name in ("thr_a", "thr_b"):
            await store.commit(append(name, created(name), *(note("z" * 800) for _ in range(30))))
    body = bytearray(path.read_bytes())
    middle = len(body) // 2 // 4096 * 4096
    body[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(body)
    async with open_store(path) as store:

        async def read() -> None:
            for name in ("thr_a", "thr_b"):
                await store.events(name)

        with pytest.raises(StoreError, match=r"damaged .*start again"):
            await read()
    found = await look(path)
    assert "set aside" in found.notices[0]
    assert "later records dropped" in found.notices[0]
    assert min(found.heads.values()) >= 1
    assert (await look(path)).notices == ()


async def test_a_salvage_that_was_killed_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    async with open_store(path) as store:
        await store.commit(append("thr_a", created("thr_a")))
    path.rename(tmp_path / "s.sqlite.salvaged")
    (tmp_path / "s.sqlite.damaged-2027").write_bytes(b"the old one")
    assert (await look(path)).heads == {"thr_a": 1}


async def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    path.write_text("my notes, " * 1000)
    found = await look(path)
    assert found.refused is not None
    assert "name another store" in found.refused
    assert path.read_text() == "my notes, " * 1000
    other = tmp_path / "other.sqlite"
    db = sqlite3.connect(other)
    db.execute("create table theirs (x)")
    db.commit()
    db.close()
    found = await look(other)
    assert found.refused is not None
    assert "another program" in found.refused


async def test_a_flipped_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "flip.sqlite"
    async with open_store(path) as store:
        await store.commit(append("thr_a", created("thr_a"), note("first"), note("second")))
    db = sqlite3.connect(path)
    db.execute(
        "update events set body = cast(replace(body, 'first', 'worst') as blob) where seq = 2"
    )
    db.commit()
    db.close()
    from bridle.types.chain import first_break

    async with open_store(path) as store:
        assert first_break(await store.records("thr_a")) == 2


async def test_the_control_sqlite_alone_does_not_open_a_cut_database(tmp_path: Path) -> None:
    files = await crashed_files(tmp_path, checkpoint=True)
    path = tmp_path / "control.sqlite"
    path.write_bytes(files.db[: len(files.db) // 2])
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.DatabaseError):
        db.execute("select * from events").fetchall()
    db.close()
    assert FRAME == 4120
