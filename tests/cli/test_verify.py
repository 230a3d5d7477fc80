"""`bridle verify` finds what was changed behind Bridle's back."""

from __future__ import annotations

import sqlite3

from bridle.types.chain import GENESIS, link
from support.cli import Bridle


def database(bridle: Bridle) -> sqlite3.Connection:
    return sqlite3.connect(bridle.home / "b" / "bridle.db")


def test_an_untouched_record_is_whole(recorded: Bridle) -> None:
    done = recorded("verify", "last")
    assert done.code == 0, done.err
    assert done.out.startswith("ok: ")
    (row,) = recorded("verify", "last", "--json").json
    assert row["ok"]
    assert row["threads"] == 1
    assert row["events"] > 10
    assert row["blobs"] >= 2
    assert recorded("verify", "last", "--head", row["head"]).code == 0
    assert recorded("verify", "last", "--head", "f" * 64).code == 1


def test_a_flipped_byte_is_found_with_its_seq(recorded: Bridle) -> None:
    db = database(recorded)
    with db:
        seq, body = db.execute(
            "select seq, body from events where type = 'tool_end' order by seq"
        ).fetchone()
        changed = bytearray(body)
        changed[len(changed) // 2] ^= 1
        db.execute("update events set body = ? where seq = ?", (bytes(changed), seq))
    db.close()
    done = recorded("verify", "last")
    assert done.code == 1
    assert f"event {seq} of thr_" in done.err
    (row,) = recorded("verify", "last", "--json").json
    assert not row["ok"]
    assert row["problems"][0]["seq"] == seq


def test_a_record_that_was_edited_as_text_is_found(recorded: Bridle) -> None:
    db = database(recorded)
    with db:
        db.execute("update events set body = replace(body, 'echo hi', 'echo ho')")
        db.execute("update blobs set body = replace(body, 'You', 'Thou')")
    db.close()
    done = recorded("verify", "last")
    assert (done.code, done.out) == (1, "")
    assert "it was changed" in done.err
    assert recorded("replay", "last").code == 1


def test_a_log_with_a_hole_is_told_by_every_command(recorded: Bridle) -> None:
    db = database(recorded)
    with db:
        db.execute(
            "delete from events where seq = (select min(seq) from events where type = 'tool_start')"
        )
    db.close()
    for command in ("verify", "replay", "evidence"):
        done = recorded(command, "last")
        assert done.code == 1, command
        assert "Traceback" not in done.err
    assert "bridle verify RUN" in recorded("evidence", "last").err


def test_a_file_that_is_no_bundle_is_not_taken_for_a_run(recorded: Bridle) -> None:
    (recorded.cwd / "evidence.zip").write_bytes(b"PK")
    done = recorded("verify", "evidence.zip")
    assert done.code == 2
    assert "evidence.zip cannot be read as a bundle" in done.err


def test_a_missing_end_and_a_changed_blob_are_found(recorded: Bridle) -> None:
    db = database(recorded)
    with db:
        db.execute("update blobs set body = cast(body || x'20' as blob)")
    done = recorded("verify", "last")
    assert done.code == 1
    assert "broken: " in done.err
    assert "that it names was changed" in done.err
    with db:
        (last,) = db.execute("select max(seq) from events").fetchone()
        db.execute("delete from events where seq = ?", (last,))
    db.close()
    done = recorded("verify", "last")
    assert done.code == 1
    assert f"event {last} " in done.err
    assert "missing" in done.err


def test_a_forged_child_does_not_fit_its_parent(parent: Bridle) -> None:
    done = parent("verify", "last")
    assert done.code == 0, done.err
    assert "in 2 threads" in done.out
    db = database(parent)
    with db:
        (child,) = db.execute("select id from threads where parent_thread is not null").fetchone()
        head = GENESIS
        rows = db.execute("select seq, body from events where thread_id = ? order by seq", (child,))
        for seq, body in rows.fetchall():
            forged = bytes(body).replace(b"is fine", b"is evil")
            head = link(head, forged)
            db.execute(
                "update events set body = ?, hash = ? where thread_id = ? and seq = ?",
                (forged, head, child, seq),
            )
        db.execute("update threads set head_hash = ? where id = ?", (head, child))
    db.close()
    done = parent("verify", "last")
    assert done.code == 1
    assert child in done.err
    assert "bound" in done.err
