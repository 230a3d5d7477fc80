"""Undo: files and conversation together, the user's own edits kept, and the way forward again."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle import Subagent
from bridle.errors import ConfigError
from bridle.testing import calls, says
from tools_builtin.conftest import git

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["a repository", "a directory", "below a repository"])
def place(request: pytest.FixtureRequest, root: Path) -> Path:
    if request.param == "a repository":
        git(root, "init", "-q")
    elif request.param == "below a repository":
        git(root.parent, "init", "-q")
    (root / "mine.txt").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    return root


def content(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def texts(messages) -> list[str]:
    return [message.text for message in messages if message.text]


async def say(session, model, task: str, *items):
    model.plays(*items, says(f"did {task}"))
    return await session.send(task)


async def test_files_and_conversation_go_back_and_forth_together(opened, model, place: Path):
    states, talks = [content(place)], [[]]
    async with opened() as harness:
        session = await harness.session()
        for number, item in enumerate([
            calls("write_file", path="a.txt", content="a\n"),
            calls("bash", command="echo more >> a.txt; mkdir -p d; echo b > d/b.txt; rm mine.txt"),
            calls("edit_file", path="d/b.txt", old="b", new="c"),
        ]):  # fmt: skip
            await say(session, model, f"task {number}", item)
            states.append(content(place))
            talks.append(texts(await session.threads.messages()))
        listed = await session.checkpoints.list()
        assert len(listed) == 3
        for step in (2, 1, 0):
            undone = await session.checkpoints.undo()
            assert len(undone.runs) == 1
            assert content(place) == states[step]
            assert texts(await session.threads.messages()) == talks[step]
        with pytest.raises(ConfigError, match="no runs that could be undone"):
            await session.checkpoints.undo()
        for step in (1, 2, 3):
            await session.checkpoints.redo()
            assert content(place) == states[step]
            assert texts(await session.threads.messages()) == talks[step]
        with pytest.raises(ConfigError, match="nothing to redo"):
            await session.checkpoints.redo()
        events = await harness.store.events(session.thread_id)
    kinds = [e.type for e in events if e.type in ("files_restored", "conversation_rewound")]
    assert kinds == ["files_restored", "conversation_rewound"] * 6


async def test_an_earlier_run_is_taken_back_with_those_after_it(opened, model, place: Path):
    async with opened() as harness:
        session = await harness.session()
        runs = []
        for name in ("a", "b", "c"):
            item = calls("write_file", path=name, content=name)
            runs.append((await say(session, model, name, item)).run_id)
        undone = await session.checkpoints.undo(runs[1])
        assert undone.runs == runs[1:]
        assert sorted(undone.restored) == ["b", "c"]
        assert sorted(content(place)) == ["a", "mine.txt"]
        assert texts(await session.threads.messages()) == ["a", "did a"]
        with pytest.raises(ConfigError, match="was undone already"):
            await session.checkpoints.undo(runs[2])
        await session.checkpoints.redo(runs[1])
        assert sorted(content(place)) == ["a", "b", "c", "mine.txt"]
        assert texts(await session.threads.messages())[-1] == "did c"


async def test_the_users_own_edits_are_kept_or_the_conflict_is_shown(opened, model, place: Path):
    mine = place / "mine.txt"
    async with opened() as harness:
        session = await harness.session()
        await say(
            session, model, "edit",
            calls("bash", command="sed -i 's/line 2$/line two/; s/line 19$/line nineteen/' mine.txt"
                  "; echo theirs > new.txt; echo x > other.txt"),
        )  # fmt: skip
        mine.write_text(mine.read_text().replace("line 10\n", "my line 10\n"))
        (place / "new.txt").write_text("mine now\n")
        (place / "own.txt").write_text("never touched by the run\n")
        undone = await session.checkpoints.undo()
        assert undone.merged == ["mine.txt"]
        assert undone.restored == ["other.txt"]
        assert [text.partition(":")[0] for text in undone.kept] == ["new.txt"]
        after = mine.read_text()
        assert "my line 10\n" in after
        assert "line two" not in after
        assert "line nineteen" not in after
        assert (place / "new.txt").read_text() == "mine now\n"
        assert (place / "own.txt").exists()
        assert not (place / "other.txt").exists()
        await session.checkpoints.redo()
        assert "my line 10\n" in mine.read_text()
        assert "line two" in mine.read_text()


async def test_any_event_can_be_gone_back_to(opened, model, place: Path):
    async with opened() as harness:
        session = await harness.session()
        await say(
            session, model, "work",
            calls("write_file", path="a", content="1"),
            calls("bash", command="echo 2 > a; echo b > b"),
            calls("write_file", path="c", content="3"),
        )  # fmt: skip
        await say(session, model, "more", calls("write_file", path="d", content="4"))
        whole = content(place)
        first, second, _third, _fourth = await session.checkpoints.list()
        await session.checkpoints.restore(second.seq)
        assert sorted(content(place)) == ["a", "b", "mine.txt"]
        assert texts(await session.threads.messages()) == ["work"]
        events = await harness.store.events(session.thread_id)
        with pytest.raises(ConfigError, match="redo that first"):
            await session.checkpoints.restore(second.seq + 3)
        with pytest.raises(ConfigError, match="has events 1 to"):
            await session.checkpoints.restore(len(events) + 1)
        await session.checkpoints.restore(first.seq)
        assert (place / "a").read_text() == "1"
        assert not (place / "b").exists()
        await session.checkpoints.redo()
        assert sorted(content(place)) == ["a", "b", "mine.txt"]
        await session.checkpoints.redo()
        assert content(place) == whole
        assert texts(await session.threads.messages())[-1] == "did more"


async def test_after_a_new_run_there_is_nothing_to_redo(opened, model, place: Path):
    async with opened() as harness:
        session = await harness.session()
        first = await say(session, model, "one", calls("write_file", path="a", content="1"))
        await session.checkpoints.undo()
        await say(session, model, "two", calls("write_file", path="b", content="2"))
        with pytest.raises(ConfigError, match="nothing to redo"):
            await session.checkpoints.redo(first.run_id)
        await session.checkpoints.undo()
        assert sorted(content(place)) == ["mine.txt"]
        await session.checkpoints.redo()
        assert sorted(content(place)) == ["b", "mine.txt"]


async def test_a_run_that_has_not_ended_is_not_undone(opened, model, place: Path):
    async with opened() as harness:
        session = await harness.session()
        await say(session, model, "one", calls("write_file", path="a", content="1"))
        model.plays(calls("ask_user", question="go on?"))
        await session.send("two")
        for back in (session.checkpoints.undo(), session.checkpoints.restore(3)):
            with pytest.raises(ConfigError, match="has not ended; abort it first"):
                await back
        await session.abort()
        await session.checkpoints.undo()
        await session.checkpoints.undo()
        assert sorted(content(place)) == ["mine.txt"]


async def test_what_a_subagent_did_is_taken_back_with_its_run(opened, model, place: Path):
    kind = Subagent("kid", instructions="kid", allowed_tools=["write_file"])
    model.plays(
        calls("write_file", path="parent", content="p"),
        calls("subagent", agent_type="kid", task="work"),
        calls("write_file", path="child", content="c"),
        says("child done"),
        says("done"),
    )
    async with opened(subagents=[kind]) as harness:
        session = await harness.session()
        await session.send("go")
        assert {"parent", "child"} <= set(content(place))
        (point,) = await session.checkpoints.list()
        await session.checkpoints.restore(point.seq)
        assert sorted(content(place)) == ["mine.txt", "parent"]
        await session.checkpoints.redo()
        assert {"parent", "child"} <= set(content(place))
        await session.checkpoints.undo()
        assert sorted(content(place)) == ["mine.txt"]


async def test_ignored_files_are_told_as_not_covered(opened, model, root: Path):
    git(root, "init", "-q")
    (root / ".gitignore").write_text("*.log\nbuild/\nold/\n")
    (root / "old").mkdir()
    (root / "old" / "x").write_text("old")
    async with opened() as harness:
        session = await harness.session()
        await say(session, model, "look", calls("bash", command="ls; echo 1 > one"))
        await say(
            session, model, "go",
            calls("bash", command="echo x > run.log; mkdir -p build/deep; echo y > build/deep/y; "
                  "echo z > z"),
        )  # fmt: skip
        undone = await session.checkpoints.undo()
    assert sorted(undone.ignored) == ["build/", "run.log"]
    assert undone.restored == ["z"]
    assert (root / "run.log").exists()
