"""What happened, why, what it cost, and a bundle that proves it elsewhere."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from support.cli import Bridle


def seq_of(bridle: Bridle, kind: str, nth: int = 0, **fields: str) -> int:
    events = bridle("events", "last", "--json").lines
    wanted = {"type": kind, **fields}
    found = [e["seq"] for e in events if wanted.items() <= e.items()]
    return int(found[nth])


def test_why_names_rule_place_steps_and_the_smallest_change(recorded: Bridle) -> None:
    seq = seq_of(recorded, "permission_decided", effect="deny")
    done = recorded("why", f"last@{seq}")
    assert done.code == 0, done.err
    assert "rule      spec:denied_commands[0]" in done.out
    assert "harness.yaml:6" in done.out
    assert "remove spec:denied_commands[0]" in done.out
    (row,) = recorded("why", f"last@{seq}", "--json").json
    assert row["decision"]["effect"] == "deny"
    assert [step["stage"] for step in row["decision"]["trace"]] == ["scope", "safety", "deny"]
    assert row["decision"]["flip_gives"] == "allow"
    assert row["causes"][0]["type"] == "tool_start"
    assert row["causes"][-1]["type"] == "input_admitted"
    # the same by the event's own id, by its call, and for an allowed call
    assert recorded("why", row["id"], "--json").json == [row]
    assert recorded("why", row["decision"]["call_id"], "--json").json[0]["decision"]
    allowed = seq_of(recorded, "permission_decided", 0, effect="allow")
    (row,) = recorded("why", f"last@{allowed}", "--json").json
    assert row["decision"]["flip_gives"] == "deny"


def test_why_of_other_events_leads_back_to_the_input(recorded: Bridle) -> None:
    seq = seq_of(recorded, "agent_end")
    (row,) = recorded("why", f"last@{seq}", "--json").json
    assert row["decision"] is None
    assert row["causes"][-1]["what"] == "send: look at my notes"
    for wrong in ("last@999", "nonsense", "thr_x.1"):
        done = recorded("why", wrong)
        assert done.code == 2
        assert done.out == ""


def test_evidence_in_every_format(recorded: Bridle) -> None:
    text = recorded("evidence", "last")
    assert text.code == 0, text.err
    for part in ("look at my notes", "bash(git push)", "added    out.txt", "whole: "):
        assert part in text.out
    (row,) = recorded("evidence", "last", "--format", "json").json
    assert [(c["path"], c["status"]) for c in row["changed"]] == [("out.txt", "added")]
    assert row["changes_from"] == "trees"
    assert [d["effect"] for d in row["decided"]] == ["allow", "deny", "allow", "allow"]
    assert row["spent"]["total"]["requests"] == 4
    page = recorded("evidence", "last", "--format", "html").out
    assert page.startswith("<!doctype html>")
    assert "spec:denied_commands[0]" in page


def test_evidence_escapes_what_came_from_outside(bridle: Bridle) -> None:
    done = bridle("run", "<script>alert(1)</script>", "--model", "scripted/script.yaml")
    assert done.code == 0, done.err
    page = bridle("evidence", "last", "--format", "html").out
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_bundle_is_checked_without_the_store(recorded: Bridle, tmp_path: Path) -> None:
    bundle = tmp_path / "evidence.zip"
    done = recorded("evidence", "last", "--bundle", str(bundle))
    assert done.code == 0, done.err
    elsewhere = Bridle(cwd=tmp_path, home=tmp_path / "nobody")
    found = elsewhere("verify", str(bundle), "--json")
    assert found.code == 0, found.err
    assert found.json == recorded("verify", "last", "--json").json
    assert not (tmp_path / "nobody").exists()
    first = bundle.read_bytes()
    recorded("evidence", "last", "--bundle", str(bundle))
    assert bundle.read_bytes() == first

    forged = rewritten(bundle, tmp_path / "forged.zip", b"buy milk", b"buy beer")
    done = elsewhere("verify", str(forged))
    assert done.code == 1
    assert f"event {seq_of(recorded, 'tool_end', tool='read_file')} of thr_" in done.err

    damaged = tmp_path / "damaged.zip"
    body = bytearray(first)
    body[len(body) // 3] ^= 0xFF
    damaged.write_bytes(bytes(body))
    assert elsewhere("verify", str(damaged)).code in (1, 2)


@pytest.mark.parametrize("part", ["blobs/", "evidence.json", "threads/"])
def test_a_bundle_that_lacks_a_part_is_not_whole(
    recorded: Bridle, tmp_path: Path, part: str
) -> None:
    bundle, less = tmp_path / "evidence.zip", tmp_path / "less.zip"
    assert recorded("evidence", "last", "--bundle", str(bundle)).code == 0
    with zipfile.ZipFile(bundle) as whole, zipfile.ZipFile(less, "w") as target:
        dropped = next(name for name in whole.namelist() if name.startswith(part))
        for name in whole.namelist():
            if name != dropped:
                target.writestr(name, whole.read(name))
    done = recorded("verify", str(less))
    assert done.code == 1
    assert "missing" in done.err or "changed" in done.err


def rewritten(source: Path, target: Path, old: bytes, new: bytes) -> Path:
    """A bundle with other events and a manifest that fits them."""
    import hashlib
    import json

    with zipfile.ZipFile(source) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    for name in members:
        if name.endswith(".jsonl"):
            members[name] = members[name].replace(old, new, 1)
    manifest = json.loads(members["manifest.json"])
    manifest["files"] = {
        name: hashlib.sha256(body).hexdigest()
        for name, body in members.items()
        if name != "manifest.json"
    }
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as made:
        for name, body in members.items():
            made.writestr(name, body)
    return target


def test_cost_counts_subagents(parent: Bridle) -> None:
    (row,) = parent("cost", "last", "--json").json
    assert [run["depth"] for run in row["runs"]] == [0, 1]
    assert row["runs"][1]["parent_run_id"] == row["runs"][0]["run_id"]
    assert row["total"]["requests"] == 4
    assert row["models"]["test/by-role"] == row["total"]
    done = parent("cost")
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("total")
    (row,) = parent("evidence", "last", "--json").json
    assert len(row["runs"]) == 2
    assert row["record"]["threads"] == 2
