"""What a store on a file promises beyond the contract: processes, migrations, projections."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.errors import StoreError
from bridle.store.schema import MIGRATIONS
from bridle.store.sqlite.opening import migrate
from bridle.types import events as ev
from bridle.types.chain import first_break
from bridle.types.content import Text
from bridle.types.messages import Message
from bridle.types.usage import Usage
from support.stores import append, check_projections, check_rows, created, note, open_store, sent
from support.torn import look

WRITER = Path(__file__).parent.parent / "support" / "write_settings.py"


def start(*argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *argv], stderr=subprocess.PIPE)


def finish(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err.decode()


async def test_four_processes_lose_no_setting(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with open_store(path) as store:
        await store.commit(append("thr_1", created()))
        finish([start(str(WRITER), str(path), who, "25") for who in "abcd"])
        found = await store.settings("thr_1")
        assert found == {f"{who}.{n}": n for who in "abcd" for n in range(25)}
        assert first_break(await store.records("thr_1")) is None


def test_the_control_processes_that_read_and_write_back_do_lose_settings(tmp_path: Path) -> None:
    path = tmp_path / "naive.json"
    path.write_text("{}")
    naive = (
        "import json, sys, pathlib\n"
        "p = pathlib.Path(sys.argv[1])\n"
        "for n in range(25):\n"
        "    try: d = json.loads(p.read_text())\n"
        "    except ValueError: d = {}\n"
        "    d[f'{sys.argv[2]}.{n}'] = n\n"
        "    p.write_text(json.dumps(d))\n"
    )
    for _ in range(5):
        finish([start("-c", naive, str(path), who) for who in "abcd"])
        lost = 100 - path.read_text().count(":")
        if lost > 0:
            return
    pytest.fail("the naive writers lost nothing in five attempts")


def test_many_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    program = (
        "import sys; from pathlib import Path\n"
        "from bridle.store.sqlite.opening import connect\n"
        "connect(Path(sys.argv[1])).close()\n"
    )
    finish([start("-c", program, str(path)) for _ in range(6)])
    db = sqlite3.connect(path)
    assert db.execute("pragma user_version").fetchone()[0] == len(MIGRATIONS)
    db.close()


def test_an_older_database_is_brought_up_to_date() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    db.execute("insert into blobs values ('h', x'00')")
    newer = (*MIGRATIONS, "create table later (x); create index by_x on later (x)")
    migrate(db, newer)
    migrate(db, newer)
    assert db.execute("pragma user_version").fetchone()[0] == len(MIGRATIONS) + 1
    assert db.execute("select count(*) from blobs").fetchone()[0] == 1
    assert db.execute("select count(*) from later").fetchone()[0] == 0


def test_a_failing_migration_changes_nothing() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    with pytest.raises(sqlite3.OperationalError):
        migrate(db, (*MIGRATIONS, "create table later (x); create nonsense"))
    assert db.execute("pragma user_version").fetchone()[0] == len(MIGRATIONS)
    assert not db.execute("select 1 from sqlite_master where name = 'later'").fetchall()


async def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "newer.sqlite"
    async with open_store(path) as store:
        await store.commit(append("thr_1", created()))
    db = sqlite3.connect(path)
    db.execute("pragma user_version = 99")
    db.close()
    async with open_store(path) as store:
        with pytest.raises(StoreError, match="newer Bridle"):
            await store.events("thr_1")


async def test_only_the_user_can_read_the_store(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store.sqlite"
    async with open_store(path) as store:
        await store.commit(append("thr_1", created()))
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0


async def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with open_store(tmp_path / "file" / "store.sqlite") as store:
        with pytest.raises(StoreError, match="cannot be opened"):
            await store.events("thr_1")


async def test_a_lost_index_is_mended_with_everything_kept(tmp_path: Path) -> None:
    """The salvage makes every row anew, so it equals the store that it was made from."""
    path = tmp_path / "whole.sqlite"
    async with open_store(path) as store:
        await store.commit(append("thr_1", created(), sent(), note("x" * 20_000)))
        await store.commit(append("thr_1", ev.SettingsChanged(key="k", value=[1, {"a": None}])))
        before = await store.records("thr_1")
    Path(f"{path}.damaged").touch()
    db = sqlite3.connect(path)
    db.execute("update events set hash = 'wrong' where seq = 4")
    db.execute("update events set hash = ? where seq = 4", (before[3][1],))
    db.commit()
    db.close()
    assert (await look(path)).heads == {"thr_1": 4}
    check_projections(path)


def events_of(thread: str) -> st.SearchStrategy[Any]:
    """Events about a few runs, calls and inputs of one thread."""
    number = st.sampled_from("123")
    runs = number.map(lambda n: f"run_{thread}{n}")
    call_ids = number.map(lambda n: f"run_{thread}1.1.{n}")
    waiting = number.map(lambda n: f"apr_{thread}{n}")
    inputs = number.map(lambda n: f"in_{thread}{n}")
    consumed = inputs.map(lambda name: (name,))
    asked = {"approval_id": waiting, "call_id": call_ids, "run_id": runs}
    message = st.builds(
        Message,
        id=st.just("m"),
        role=st.sampled_from(["user", "assistant"]),
        parts=st.just((Text("hi"),)),
    )
    return st.one_of(
        st.builds(ev.RunStarted, run_id=runs, consumes=consumed, model_id=st.none()),
        st.builds(ev.RunPaused, run_id=runs, waiting=st.just(())),
        st.builds(ev.RunResumed, run_id=runs),
        st.builds(
            ev.RunEnded,
            run_id=runs,
            reason=st.sampled_from(["end_turn", "error"]),
            verdict=st.just("claimed"),
            usage=st.just(Usage()),
        ),
        st.builds(ev.MessageEnded, run_id=runs, message=message),
        st.builds(
            ev.UsageUpdated, run_id=runs, usage=st.just(Usage()), cost_usd=st.sampled_from([0, 0.5])
        ),
        st.builds(
            ev.ApprovalRequired,
            tool=st.just("t"),
            args=st.just({"a": 1}),
            card=st.just({}),
            **asked,
        ),
        st.builds(ev.ApprovalAnswered, consumes=consumed, approved=st.booleans(), **asked),
        st.builds(
            ev.CallSuspended,
            run_id=runs,
            call_id=call_ids,
            tool=st.just("t"),
            pending_id=waiting,
            kind=st.sampled_from(["question", "subagent"]),
            payload=st.just({}),
        ),
        st.builds(
            ev.ToolReturned, run_id=runs, call_id=call_ids, tool=st.just("t"), result=st.just("")
        ),
        st.builds(ev.SettingsChanged, key=number, value=st.integers(0, 2)),
        st.builds(ev.ThreadRenamed, title=number),
        inputs.map(sent),
    )


steps = st.one_of([st.tuples(st.just(name), events_of(name)) for name in "ab"])


@settings(max_examples=30, deadline=None)
@given(st.lists(steps, max_size=25))
async def test_rows_are_what_the_log_says(steps: list[tuple[str, Any]]) -> None:
    async with open_store(None) as store:
        for name in "ab":
            await store.commit(append(f"thr_{name}", created(f"thr_{name}")))
        for name, event in steps:
            try:
                await store.commit(append(f"thr_{name}", event))
            except StoreError:
                continue  # a run that began twice: refused as a whole
        await store._reader.run(check_rows)
