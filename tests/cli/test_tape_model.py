"""`replay/RUN` as a model: the answers of a recorded run, with the tools and rules of today."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle import Agent, Harness, Rules, Subagent, parse_subagent_meta
from bridle.testing import ScriptedModel, calls, says
from support.cli import Bridle

SCRIPT = """\
- thinks: where is it
  says: I look.
  calls:
    - {tool: read_file, args: {path: notes.txt}}
    - {tool: read_file, args: {path: missing.txt}}
- calls: [{tool: write_file, args: {path: out.txt, content: done}}]
- says: Written.
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Bridle:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("hello\n")
    (project / "script.yaml").write_text(SCRIPT)
    bridle = Bridle(project, tmp_path)
    done = bridle("run", "copy it", "--model", "scripted/script.yaml", "--yolo", "--no-checks")
    assert done.code == 0, done.err
    (project / "script.yaml").unlink()
    (project / "out.txt").unlink()
    return bridle


def answers(bridle: Bridle, run: str) -> list[Any]:
    """What the model said in a run, without the ids that differ."""
    found = []
    for event in bridle("events", run, "--json").lines:
        if event["type"] == "message_end" and event["message"]["role"] == "assistant":
            found.append(
                [
                    (p["type"], p.get("text"), p.get("tool"), p.get("args"))
                    for p in event["message"]["parts"]
                ]
            )
    return found


def test_a_recorded_run_answers_for_a_model(recorded: Bridle) -> None:
    first = recorded("runs", "--json").json[0]["run_id"]
    again = recorded(
        "run", "copy it", "--model", "replay/last", "--yolo", "--no-checks",
        "--output-format", "json",
    )  # fmt: skip
    assert again.code == 0, again.err
    assert again.json["text"] == "Written."
    assert again.json["model"] == f"replay/{first}"
    assert again.json["cost_usd"] == 0
    assert (recorded.cwd / "out.txt").read_text() == "done"
    assert len(answers(recorded, first)) == 3
    assert answers(recorded, "last") == answers(recorded, first)
    assert recorded("replay", "last").code == 0


def test_the_rules_are_those_of_today(recorded: Bridle) -> None:
    first = recorded("runs", "--json").json[0]["run_id"]
    run = ("run", "copy it", "--model", f"replay/{first[-6:]}", "--no-checks")
    parked = recorded(*run)
    assert parked.code == 6, parked.err
    assert not (recorded.cwd / "out.txt").exists()
    # Another process goes on with the same tape, although `last` is now another run.
    (waiting,) = recorded("approvals", "--json").json
    assert recorded("approve", waiting["id"]).code == 0
    assert recorded("run", "--continue").code == 0
    assert (recorded.cwd / "out.txt").read_text() == "done"


def test_a_tape_that_ends_or_is_not_there(recorded: Bridle) -> None:
    missing = recorded("run", "x", "--model", "replay/run_nowhere")
    assert missing.code == 2
    assert "There is no run" in missing.err
    (recorded.cwd / "s.yaml").write_text("- calls: [{tool: list_files, args: {}}]\n")
    assert recorded("run", "x", "--model", "scripted/s.yaml", "--no-checks").code == 1
    short = recorded("run", "x", "--model", "replay/last", "--no-checks")
    assert short.code == 1
    assert "has ended" in short.err


async def test_children_are_answered_by_recorded_children(tmp_path: Path) -> None:
    def harness(model: Any) -> Harness:
        given: dict[str, Any] = (
            {"model": model} if isinstance(model, str) else {"resolve_model": lambda _: model}
        )
        return Harness(
            id="t",
            store=f"sqlite:///{tmp_path}/t.db",
            agent=Agent(instructions="You delegate."),
            subagents=[Subagent("explore", name="E", description="d", instructions="Look.")],
            permissions=Rules(tools={"subagent": "allow"}),
            **given,
        )

    def play(request: Any) -> Any:
        """Answer by task: the two children run side by side."""
        task = request.messages[-1].text
        if request.messages[-1].role == "tool":
            return says("both done")
        if task in ("north", "south"):
            return says(f"it is cold in the {task}")
        return [calls("subagent", agent_type="explore", task=t) for t in ("north", "south")]

    async with harness(ScriptedModel([play] * 4)) as recording:
        session = await recording.session()
        first = await session.send("go")
        assert first.text == "both done", first.error
        first_messages = await session.threads.messages()
    async with harness(f"replay/{first.run_id}") as replaying:
        session = await replaying.session()
        await session.threads.create()
        again = await session.send("go")
        assert again.text == "both done", again.error

        def told(messages: Any) -> list[list[str]]:
            found = [m.parts for m in messages if m.role == "tool"]
            return [[parse_subagent_meta(part.text)[0] for part in parts] for parts in found]

        results = told(await session.threads.messages())
        assert results == told(first_messages)
        assert "cold in the south" in str(results)
