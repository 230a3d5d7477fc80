"""What a result says of files, models and money, whatever happened on the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.chat_server import ChatServer
from support.cli import Bridle

ASKS = "- calls: [{tool: bash, args: {command: touch made}}]\n- says: done\n"


def play(bridle: Bridle, name: str, text: str) -> str:
    (bridle.cwd / name).write_text(text)
    return f"scripted/{name}"


def test_a_file_that_was_written_as_it_was_did_not_change(bridle: Bridle) -> None:
    (bridle.cwd / "same.txt").write_text("same\n")
    (bridle.cwd / "other.txt").write_text("before\n")
    model = play(
        bridle,
        "write.yaml",
        "- calls: [{tool: read_file, args: {path: same.txt}},"
        " {tool: read_file, args: {path: other.txt}}]\n"
        '- calls: [{tool: write_file, args: {path: same.txt, content: "same\\n"}},'
        ' {tool: write_file, args: {path: other.txt, content: "after\\n"}}]\n'
        "- says: done\n",
    )
    done = bridle("run", "go", "--yolo", "--model", model, "--output-format", "json")
    assert done.json["files_changed"] == ["other.txt"]


def test_a_file_whose_name_is_no_text_is_told_and_undone(bridle: Bridle) -> None:
    command = "printf x > $'odd\\\\xff.txt'"
    model = play(
        bridle,
        "odd.yaml",
        f'- calls: [{{tool: bash, args: {{command: "{command}"}}}}]\n- says: a\n',
    )
    odd = os.fsencode(bridle.cwd) + b"/odd\xff.txt"
    done = bridle("run", "go", "--yolo", "--model", model, "--output-format", "json")
    assert (done.code, done.json["files_changed"]) == (0, ["odd\\xff.txt"])
    assert os.path.exists(odd)
    assert "odd\\xff.txt" in bridle("evidence", "last").out
    assert bridle("undo").code == 0
    assert not os.path.exists(odd)
    assert bridle("undo", "--redo").code == 0
    assert os.path.exists(odd)


def test_a_directory_whose_name_is_no_text_is_refused(bridle: Bridle) -> None:
    odd = os.fsdecode(os.fsencode(bridle.cwd) + b"/odd\xff")
    os.mkdir(odd)
    model = play(bridle, "hello.yaml", "- says: hello\n")
    bridle.cwd = bridle.cwd / odd
    done = bridle("run", "go", "--model", model)
    assert done.code == 2
    assert "odd\\xff is not UTF-8 text" in done.err


def test_a_queued_task_keeps_the_model_that_it_was_given_with(bridle: Bridle) -> None:
    first, second = play(bridle, "first.yaml", ASKS), play(bridle, "second.yaml", "- says: me\n")
    asked = bridle("run", "one", "--model", first, "--output-format", "json").json["pending"][0]
    assert bridle("run", "--continue", "two", "--model", second).code == 6
    assert bridle("approve", asked["id"]).code == 0
    assert bridle("run", "--continue").code == 0
    rows: dict[str, Any] = {row["task"]: row for row in bridle("runs", "--json").json}
    assert {task: row["model"] for task, row in rows.items()} == {"one": first, "two": second}


def test_an_open_run_does_not_change_its_model(bridle: Bridle) -> None:
    first, second = play(bridle, "first.yaml", ASKS), play(bridle, "second.yaml", "- says: me\n")
    asked = bridle("run", "one", "--model", first, "--output-format", "json").json["pending"][0]
    assert bridle("approve", asked["id"]).code == 0
    refused = bridle("run", "--continue", "--model", second)
    assert refused.code == 2
    assert f"goes on with {first}" in refused.err
    assert bridle("run", "--continue", "--model", first).code == 0


def test_what_a_fallback_of_unknown_price_cost_is_not_known(
    bridle: Bridle, chat_server: Callable[[list[Any]], ChatServer]
) -> None:
    bridle.env |= chat_server([{"text": "hello"}]).env
    first = play(bridle, "down.yaml", "- fails: {kind: context_overflow}\n")
    spec = bridle.cwd / "harness.yaml"
    models = f"model_policy: {{primary: {first}, fallbacks: [openai/no-such-model]}}\n"
    spec.write_text(spec.read_text() + models)
    done = bridle("run", "go", "--no-checks")
    assert (done.code, done.out) == (0, "hello\n")
    assert "(the price of openai/no-such-model is not known)" in done.err
    assert "(1 of unknown price)" in bridle("evidence", "last").out
    (costs,) = bridle("cost", "last", "--json").json
    assert costs["models"]["openai/no-such-model"]["unpriced"] == 1
    assert bridle("replay", "last").code == 0


def test_what_waits_is_listed_in_words(bridle: Bridle) -> None:
    model = play(
        bridle,
        "ask.yaml",
        "- calls: [{tool: ask_user, args: {question: 'Which one?'}}]\n- says: a\n",
    )
    assert bridle("run", "go", "--model", model).code == 6
    assert bridle("approvals").out.splitlines()[1].endswith("Which one?")


def test_the_last_run_is_the_last_one_here(bridle: Bridle, tmp_path: Path) -> None:
    model = play(bridle, "w.yaml", "- calls: [{tool: write_file, args: {path: w, content: x}}]\n")
    spec = bridle.cwd / "harness.yaml"
    places = [tmp_path / name for name in ("one", "two")]
    ids: list[str] = []
    for place in places:
        place.mkdir()
        (place / "harness.yaml").write_text(spec.read_text())
        (place / "w.yaml").write_text((bridle.cwd / "w.yaml").read_text() + "- says: done\n")
        there = replace(bridle, cwd=place)
        done = there("run", "go", "--yolo", "--model", model, "--output-format", "json")
        ids.append(done.json["run_id"])
    one, two = (replace(bridle, cwd=place) for place in places)
    assert ids[0] in one("evidence", "last").out
    assert ids[1] in two("evidence", "last").out
    assert ids[1] in bridle("evidence", "last").out, "where nothing ran, the newest of all"
    refused = bridle("undo")
    assert (refused.code, (places[1] / "w").exists()) == (2, True)
    assert f"bridle undo {ids[1]}" in refused.err
    assert one("undo").code == 0
    assert [(place / "w").exists() for place in places] == [False, True]
    assert bridle("undo", ids[1]).code == 0


def test_what_gc_dropped_cannot_be_undone_and_says_so(bridle: Bridle) -> None:
    model = play(
        bridle, "b.yaml", "- calls: [{tool: bash, args: {command: touch made}}]\n- says: done\n"
    )
    assert bridle("run", "go", "--yolo", "--model", model).code == 0
    assert bridle("gc", "--keep", "0").code == 0
    done = bridle("undo")
    assert done.code == 1
    assert done.err.startswith("bridle: the files that were saved then are not kept any more")
