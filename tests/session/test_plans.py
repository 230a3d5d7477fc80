"""Plans as data, and answers from another process."""

from __future__ import annotations

import pytest

from bridle import Agent, Harness, Mode, Rules, Subagent
from bridle.testing import ScriptedModel, calls, says


async def test_a_plan_is_data_that_is_kept_step_by_step(opened, model):
    model.plays(
        calls("update_plan_step", id="step_1", status="completed"),
        calls("create_plan", title="Release", steps=["Build", "Test", "Ship"]),
        calls("create_plan", steps=[]),
        calls("update_plan_step", id="step_1", status="in_progress"),
        calls("update_plan_step", id="step_2", status="in_progress"),
        calls("update_plan_step", id="step_1", status="completed", note="in 3 minutes"),
        calls("update_plan_step", id="step_9", status="completed"),
        calls("update_plan_step", id="step_3", status="done"),
        says("one of three"),
    )
    agent = Agent("x", tools=["create_plan", "update_plan_step"])
    async with opened(agent=agent) as harness:
        session = await harness.session()
        result = await session.send("plan it")
        ends = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
        assert [e.is_error for e in ends] == [True, False, True, False, True, False, True, True]
        assert "no plan yet" in ends[0].result
        assert "step_1 is" in ends[4].result
        assert "- step_3: Ship" in ends[6].result
        plan = await session.threads.settings.get("plan")
        assert plan["title"] == "Release"
        steps = [(s["id"], s["status"], s["note"]) for s in plan["steps"]]
        assert steps == [
            ("step_1", "completed", "in 3 minutes"),
            ("step_2", "pending", ""),
            ("step_3", "pending", ""),
        ]
        await session.threads.clone()
        assert await session.threads.settings.get("plan") == plan


async def test_a_plan_approved_elsewhere_goes_on_in_the_mode_that_follows(tmp_path, monkeypatch):
    from support.cli import Bridle

    model = ScriptedModel([calls("submit_plan", plan="p")])
    store = f"sqlite:///{tmp_path}/s.db"

    def harness():
        plan = Mode("plan", Agent("plan"), default=True, transitions_to="build")
        build = Mode("build", Agent("build"), model="x/builder")
        return Harness(store=store, modes=[plan, build], resolve_model=lambda _id: model)

    async with harness() as first:
        result = await (await first.session()).send("go")
        plan_id = result.pending[0].id
    bridle = Bridle(cwd=tmp_path, home=tmp_path / "home")
    refused = bridle("answer", plan_id, "yes", "--store", store)
    assert refused.code == 2
    assert "is a plan, not a question" in refused.err
    assert bridle("answer", plan_id, "--store", store).code == 2
    assert bridle("answer", plan_id, "--approve", "--reject", "x", "--store", store).code == 2
    done = bridle("answer", plan_id, "--approve", "--store", store, "--json")
    assert (done.code, done.json[0]["kind"]) == (0, "plan"), done.err
    again = bridle("answer", plan_id, "--approve", "--store", store)
    assert again.code == 2
    assert "answered already" in again.err
    model.plays(says("built"))
    async with harness() as second:
        session = await second.session()
        await session.resume()
        assert (await session.wait(result.run_id)).text == "built"
        assert (session.modes.current.id, session.models.current) == ("build", "x/builder")


def test_a_question_and_a_plan_of_a_run_without_anybody_to_answer(tmp_path):
    from support.cli import Bridle

    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "script.yaml").write_text(
        "- calls: [{tool: ask_user, args: {question: 'Which?', options: [{label: red}, "
        "{label: blue}]}}]\n"
        "- calls: [{tool: submit_plan, args: {plan: paint it}}]\n"
        "- calls: [{tool: submit_plan, args: {plan: paint it twice}}]\n"
        "- says: painted\n"
    )
    bridle = Bridle(cwd=tmp_path / "p", home=tmp_path / "home")
    done = bridle("run", "paint", "--model", "scripted/script.yaml")
    assert done.code == 6
    (row,) = bridle("approvals", "--json").json
    assert f"bridle answer {row['id']} TEXT" in done.err
    wrong = bridle("answer", row["id"], "green")
    assert wrong.code == 2
    assert "'green' is not an option; have red, blue" in wrong.err
    assert bridle("answer", row["id"], "blue").code == 0
    done = bridle("run", "--continue", "--model", "scripted/script.yaml")
    assert done.code == 6
    (row,) = bridle("approvals", "--json").json
    assert f"bridle answer {row['id']} --approve" in done.err
    assert bridle("answer", row["id"][-8:], "--reject", "twice, please").code == 0
    done = bridle("run", "--continue", "--model", "scripted/script.yaml")
    assert done.code == 6
    (row,) = bridle("approvals", "--json").json
    assert row["args"]["plan"] == "paint it twice"
    assert bridle("answer", row["id"], "--approve").code == 0
    done = bridle("run", "--continue", "--model", "scripted/script.yaml")
    assert (done.code, done.out.strip()) == (0, "painted")
    assert bridle("replay", "last").code == 0


async def test_one_that_is_not_offered_runs_for_a_model_that_knows_it(opened, model):
    model.plays(calls("create_plan", steps=["look"]), says("ok"))
    async with opened() as harness:
        session = await harness.session()
        result = await session.send("go")
        assert "create_plan" not in [tool.name for tool in model.requests[0].tools]
        (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
        assert (end.is_error, "step_1: look" in end.result) == (False, True)


@pytest.mark.parametrize("how", ["outside", "disabled", "scoped"])
async def test_one_that_reaches_outside_or_was_taken_away_does_not(opened, model, how):
    name = "web_search" if how == "outside" else "create_plan"
    given = {"query": "x"} if how == "outside" else {"steps": ["look"]}
    more = {"disable_builtin_tools": ["create_plan"]} if how == "disabled" else {}
    kind = Subagent("kid", instructions="kid", allowed_tools=["ask_user"])
    first = [calls("subagent", agent_type="kid", task="t")] if how == "scoped" else []
    model.plays(*first, calls(name, **given), says("no"), says("ok"))
    async with opened(subagents=[kind], permissions=Rules(yolo=True), **more) as harness:
        session = await harness.session()
        result = await session.send("go")
        kinds = ("tool_end", "subagent_tool_end")
        events = await session.run_events(result.run_id)
        (end,) = [e for e in events if e.type in kinds and e.tool == name]
        assert end.is_error
        assert ("Denied by scope" in end.result) == (how == "scoped")
