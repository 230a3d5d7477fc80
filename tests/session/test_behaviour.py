"""The sentences of "Behaviour that must hold", each with a test that is named after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import (
    Agent,
    Harness,
    Limits,
    Mode,
    Ports,
    Rules,
    Subagent,
    ToolContext,
    UserError,
    tool,
)
from bridle.errors import ThreadInUse
from bridle.runs.replay.driver import replay_thread
from bridle.testing import ScriptedModel, calls, fails, says, slow
from support.holder import make
from support.kernel import ByStep, Impatient, check_history, check_log


@tool
async def act(name: str = "") -> str:
    """Act."""
    return f"did {name}"


PLAN = Mode("plan", Agent("plan"), default=True, transitions_to="build", model="x/planner")
BUILD = Mode("build", Agent("build", model="x/agent"))


async def kinds(harness, session, *wanted):
    events = await harness.store.events(session.thread_id)
    return [event.type for event in events if not wanted or event.type in wanted]


async def ended(session, run_id):
    return [e for e in await session.run_events(run_id) if e.type == "agent_end"]


async def test_model_choice_is_one_chain(opened, model):
    async def used(session, **options):
        model.plays(says("ok"))
        result = await session.send("x", **options)
        return (await session.run_events(result.run_id))[0].model_id

    async with opened(modes=[PLAN, BUILD], model="x/harness") as harness:
        session = await harness.session()
        assert await used(session) == "x/planner"
        await session.models.switch("x/thread")
        assert await used(session) == "x/thread"
        assert await used(session, model="x/flag") == "x/flag"
        await session.modes.switch("build")
        assert await used(session) == "x/agent"
    async with opened(modes=[Mode("m", Agent("m"))], model="x/harness") as harness:
        assert await used(await harness.session()) == "x/harness"


async def test_mode_and_models_are_kept_per_thread_and_restored_on_switch(opened):
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        one = session.thread_id
        await session.modes.switch("build")
        await session.models.switch("x/other")
        await session.threads.create()
        assert (session.modes.current.id, session.models.current) == ("plan", "x/planner")
        await session.threads.switch(one)
        assert (session.modes.current.id, session.models.current) == ("build", "x/other")
        assert session.display.mode_id == "build"
        await session.threads.clone()
        assert (session.modes.current.id, session.models.current) == ("build", "x/other")


async def test_switching_mode_ends_a_run_in_progress_at_a_safe_boundary(opened, model):
    model.plays([slow(400, 0.01), says("word " * 400)])
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        heard = anyio.Event()

        def hear(event):
            if event.type == "message_update":
                heard.set()

        session.events.subscribe(hear)
        run = session.start("go")
        await run.begin()
        with anyio.fail_after(20):
            await heard.wait()
            await session.modes.switch("build")
        assert session.modes.current.id == "build"
        assert (await session.wait(run.id)).reason == "user_interrupt"
        told = await kinds(harness, session, "agent_end", "mode_changed", "model_changed")
        assert told == ["agent_end", "mode_changed", "model_changed"]
        check_history(await session.threads.messages())


async def test_abort_ends_with_one_agent_end_settles_every_call_and_declines_what_is_pending(
    opened, model
):
    model.plays([says("partial"), calls("act"), calls("ask_user", question="?")])
    async with opened(agent=Agent("x", tools=[act])) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert {p.kind for p in result.pending} == {"approval", "question"}
        await session.abort()
        (end,) = await ended(session, result.run_id)
        assert end.reason == "user_interrupt"
        assert session.pending == ()
        events = await session.run_events(result.run_id)
        results = [e for e in events if e.type == "tool_end"]
        assert len(results) == 2
        assert all(e.is_error for e in results)
        assert any(m.text == "partial" for m in await session.threads.messages())
        with pytest.raises(UserError, match="Nothing waits"):
            await session.approve(result.pending[0].id)


async def test_follow_ups_are_durable_fifo_and_one_run_each(tmp_path):
    model = ByStep(lambda request: says(f"to {request.messages[-1].text}"))
    gate = ScriptedModel([calls("ask_user", question="?")])
    path = tmp_path / "s.db"

    def harness(played):
        return Harness(
            store=f"sqlite:///{path}", agent=Agent("x"), resolve_model=lambda _id: played
        )

    async with harness(gate) as first:
        session = await first.session()
        await session.send("wait")
        for name in ("a", "b", "c"):
            await session.follow_up(name)
        assert session.display.queued == 3
        queued = await kinds(first, session, "follow_up_queued")
        assert len(queued) == 3
    async with harness(model) as second:
        session = await second.session()
        assert session.display.queued == 3
        await session.abort()
        with anyio.fail_after(20):
            while len(await kinds(second, session, "agent_end")) < 4:
                await anyio.sleep(0.01)
        said = [m.text for m in await session.threads.messages() if m.role == "assistant"]
        assert said[-3:] == ["to a", "to b", "to c"]
        assert session.display.queued == 0


async def test_steer_with_restart_clears_the_follow_ups(opened, model):
    model.plays(calls("ask_user", question="?"), says("steered"))
    async with opened() as harness:
        session = await harness.session()
        await session.send("first")
        await session.follow_up("never")
        await session.steer("instead", restart=True)
        with anyio.fail_after(20):
            while session.is_running or await session.open_run():
                await anyio.sleep(0.01)
        asked = [m.text for m in await session.threads.messages() if m.role == "user"]
        assert asked == ["first", "instead"]


async def test_a_failed_model_a_failed_subagent_bad_arguments_and_a_declined_call_are_visible(
    opened, model
):
    model.plays(
        calls("act", nme="typo"),
        calls("act"),
        calls("subagent", agent_type="kid", task="t"),
        fails("bad_request"),
        says("end"),
    )
    kid = Subagent("kid", instructions="kid")
    async with opened(agent=Agent("x", tools=[act]), subagents=[kid]) as harness:
        session = await harness.session()
        result = await session.send("go")
        await session.decline(result.pending[0].id, "no")
        result = await session.wait(result.run_id)
        assert result.text == "end"
        events = await session.run_events(result.run_id)
        ends = [e for e in events if e.type == "tool_end"]
        assert [(e.is_error, e.denied) for e in ends] == [
            (True, False),
            (True, True),
            (True, False),
        ]
        assert [e.is_error for e in events if e.type == "subagent_end"] == [True]
        model.plays(fails("bad_request"))
        failed = await session.send("again")
        assert failed.reason == "error"
        with pytest.raises(Exception, match="bad_request"):
            failed.raise_for_error()


async def test_an_unknown_tool_is_answered_with_the_names_in_the_same_run(opened, model):
    model.plays(calls("acct"), says("sorry"))
    async with opened(agent=Agent("x", tools=[act])) as harness:
        session = await harness.session()
        assert (await session.send("go")).text == "sorry"
        told = model.requests[1].messages[-1].parts[0]
        assert told.is_error
        assert "act" in told.text
        model.plays(*[calls("acct")] * 30)
        assert (await session.send("again")).reason == "loop_detected"


async def test_approving_a_plan_switches_mode_before_the_next_step_which_runs_by_itself(
    opened, model
):
    model.plays(calls("submit_plan", plan="p"), says("built"))
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        result = await session.send("go")
        await session.answer_plan(result.pending[0].id, True)
        assert (await session.wait(result.run_id)).text == "built"
        assert [r.system for r in model.requests] == ["plan", "build"]
        asked = [m for m in await session.threads.messages() if m.role == "user"]
        assert len(asked) == 1


async def test_without_transitions_to_an_approved_plan_goes_to_the_default_mode(opened, model):
    model.plays(calls("submit_plan", plan="p"), says("done"))
    draft = Mode("draft", Agent("draft"))
    main = Mode("main", Agent("main"), default=True)
    async with opened(modes=[draft, main]) as harness:
        session = await harness.session()
        await session.modes.switch("draft")
        result = await session.send("go")
        await session.answer_plan(result.pending[0].id, True)
        await session.wait(result.run_id)
        assert session.modes.current.id == "main"


async def test_a_built_in_tool_never_needs_an_approval_to_ask_the_user_something(opened, model):
    model.plays(calls("ask_user", question="?"), calls("submit_plan", plan="p"), calls("act"))
    strict = Rules(profile="strict")
    async with opened(agent=Agent("x", tools=[act]), permissions=strict) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert [p.kind for p in result.pending] == ["question"]
        await session.answer(result.pending[0].id, "yes")
        (plan,) = (await session.wait(result.run_id)).pending
        assert plan.kind == "plan"
        await session.answer_plan(plan.id, True)
        (control,) = (await session.wait(result.run_id)).pending
        assert control.kind == "approval"  # others are asked


async def test_grants_last_for_the_session_and_are_recorded_not_restored(tmp_path):
    def harness(model):
        return Harness(
            store=f"sqlite:///{tmp_path}/s.db",
            agent=Agent("x", tools=[act]),
            resolve_model=lambda _id: model,
        )

    async with harness(ScriptedModel([calls("act"), calls("act"), says("end")])) as first:
        session = await first.session()
        result = await session.send("go")
        await session.always_allow(result.pending[0].id, "tool")
        assert (await session.wait(result.run_id)).text == "end"
        assert session.permissions.grants["tools"] == ["act"]
        assert await kinds(first, session, "permission_granted") == ["permission_granted"]
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import anyio\n"
        "from session.test_behaviour import another_process\n"
        "anyio.run(another_process, sys.argv[2])\n"
    )
    tests = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", script, tests, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "awaiting [] 1", done.stderr


async def another_process(directory):
    """Look at the grants of the process before, and call again."""
    model = ScriptedModel([calls("act")])
    async with Harness(
        store=f"sqlite:///{directory}/s.db",
        agent=Agent("x", tools=[act]),
        resolve_model=lambda _id: model,
    ) as harness:
        session = await harness.session()
        result = await session.send("again")
        audit = await kinds(harness, session, "permission_granted")
        print(result.reason, session.permissions.grants["tools"], len(audit))


async def test_where_nobody_can_answer_a_question_is_answered_with_an_error(opened, model):
    import msgspec

    from bridle.permissions.compile import policy_of

    policy = msgspec.structs.replace(
        policy_of(Rules(), root=None, home="/", state_dir="/nowhere"), answerable=False
    )
    model.plays(calls("ask_user", question="?"), says("I decide"))
    async with opened(permissions=policy) as harness:
        assert (await (await harness.session()).send("go")).text == "I decide"
        told = model.requests[1].messages[-1].parts[0]
        assert told.is_error
        assert "Nobody can answer" in told.text


async def test_thread_settings_are_atomic_across_processes(tmp_path):
    tests = str(Path(__file__).parent.parent)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import anyio\n"
        "from session.test_behaviour import write_settings\n"
        "anyio.run(write_settings, sys.argv[2], sys.argv[3])\n"
    )
    async with Harness(store=f"sqlite:///{tmp_path}/s.db", agent=Agent("x")) as harness:
        session = await harness.session()
        writers = [
            subprocess.Popen([sys.executable, "-c", script, tests, str(tmp_path), name])
            for name in ("a", "b")
        ]
        for writer in writers:
            assert await anyio.to_thread.run_sync(writer.wait) == 0
        kept = await harness.store.settings(session.thread_id)
        assert {key: value for key, value in kept.items() if key[0] in "ab"} == {
            f"{name}{number}": number for name in ("a", "b") for number in range(20)
        }


async def write_settings(directory, name):
    """Write many settings, each under a key of its own."""
    async with Harness(store=f"sqlite:///{directory}/s.db", agent=Agent("x")) as harness:
        session = await harness.session()
        for number in range(20):
            await session.threads.settings.set(f"{name}{number}", number)


async def test_switching_to_a_missing_thread_changes_nothing(opened):
    async with opened() as harness:
        session = await harness.session()
        before = (session.thread_id, await kinds(harness, session))
        with pytest.raises(UserError, match="no thread 'thr_missing'"):
            await session.threads.switch("thr_missing")
        assert (session.thread_id, await kinds(harness, session)) == before


async def test_a_second_process_that_sends_to_a_busy_thread_is_told_in_use_by_whom_since_when(
    tmp_path,
):
    path = tmp_path / "store.db"
    command = [sys.executable, "-m", "support.holder", str(path), "30", "fenced"]
    tests = str(Path(__file__).parent.parent)
    process = subprocess.Popen(command, cwd=tests, stdout=subprocess.PIPE, text=True)
    try:
        with anyio.fail_after(30):
            while not (tmp_path / "began-first").exists():
                assert process.poll() is None
                await anyio.sleep(0.01)
        async with make(path, "second") as harness:
            session = await harness.session()
            with pytest.raises(ThreadInUse, match=rf"pid {process.pid} .*since") as refused:
                await session.send("me too")
            assert refused.value.owner
            process.kill()
            process.wait()
            (tmp_path / "go-second").touch()
            with anyio.fail_after(30):  # a dead owner is taken over at once on the same host
                await session.resume()
                await session.send("now")
    finally:
        process.kill()
        process.communicate()


async def test_renaming_cloning_and_deleting_threads_emit_events(opened, model):
    model.plays(says("hello"))
    async with opened() as harness:
        session = await harness.session()
        await session.send("hi")
        seen = []
        session.events.subscribe(seen.append)
        source = session.thread_id
        await session.threads.rename("other")
        await session.threads.clone()
        copy = session.thread_id
        await session.threads.delete(copy)
        told = [(e.type, e.thread_id) for e in seen if e.type.startswith("thread_")]
        assert told == [
            ("thread_renamed", source),
            ("thread_created", copy),
            ("thread_changed", copy),
            ("thread_deleted", copy),
        ]
        (created,) = [e for e in seen if e.type == "thread_created"]
        assert created.thread.title == "other"
        third = await session.threads.create()
        await session.threads.delete(source)  # also of another thread than its own
        assert (seen[-1].type, seen[-1].thread_id) == ("thread_deleted", source)
        assert session.thread_id == third.id


async def test_forks_are_tagged_hidden_and_never_touch_the_parent(opened, model):
    model.plays(calls("subagent", agent_type="kid", task="t"), says("kid"), says("end"))
    async with opened(subagents=[Subagent("kid", instructions="kid")]) as harness:
        session = await harness.session()
        await session.send("go")
        (parent,) = await session.threads.list()
        hidden = [t for t in await session.threads.list(include_forks=True) if t.hidden]
        assert [t.parent_thread for t in hidden] == [parent.id]
        assert [m.role for m in await session.threads.messages()] == [
            "user",
            "assistant",
            "tool",
            "assistant",
        ]


async def test_a_throwing_subscriber_never_hurts_the_run_or_the_other_subscribers(opened, model):
    model.plays(says("fine"))
    async with opened() as harness:
        session = await harness.session()

        def throws(event):
            raise RuntimeError(event.type)

        seen = []
        session.events.subscribe(throws)
        session.events.subscribe(seen.append)
        session.events.subscribe_display(throws)
        shown = []
        session.events.subscribe_display(shown.append)
        assert (await session.send("x")).text == "fine"
        assert seen[-1].type == "agent_end"
        assert shown


async def test_an_async_subscriber_hears_everything_in_order_and_hurts_nobody(opened, model):
    model.plays(says("one"), says("two"))
    async with opened() as harness:
        session = await harness.session()
        plain: list[Any] = []
        late: list[Any] = []
        ended = anyio.Event()

        async def slow_one(event: Any) -> None:
            await anyio.sleep(0)
            late.append(event)
            if event.type == "agent_end":
                ended.set()
            if event.type == "agent_start":
                raise RuntimeError("boom")

        session.events.subscribe(plain.append)
        stop = session.events.subscribe(slow_one)
        assert (await session.send("a")).text == "one"
        with anyio.fail_after(20):
            await ended.wait()
        assert late == plain
        stop()
        await session.send("b")
        assert len(late) < len(plain)


async def test_a_slow_subscriber_loses_its_place_and_not_the_run(opened, model):
    model.plays(*[says("word " * 2000) for _ in range(3)])
    async with opened() as harness:
        session = await harness.session()
        reader = session.events.replay()
        first = await anext(reader)
        assert first.type == "thread_created"
        for _ in range(3):  # the reader does not read meanwhile
            assert (await session.send("x")).reason == "end_turn"
        seqs = []
        async for event in reader:
            if event.seq is not None:
                seqs.append(event.seq)
            if seqs and seqs[-1] == (await harness.store.head(session.thread_id)).seq:
                break
        assert seqs == list(range(2, seqs[-1] + 1))
        await reader.aclose()


@pytest.mark.parametrize("effect", ["safe", "keyed", "once"])
async def test_after_a_crash_safe_and_keyed_run_again_and_once_is_ambiguous(tmp_path, effect):
    store = f"sqlite:///{tmp_path}/s.db"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import anyio\n"
        "from session.test_behaviour import dying\n"
        "anyio.run(dying, sys.argv[2], sys.argv[3])\n"
    )
    tests = str(Path(__file__).parent.parent)
    arguments = [sys.executable, "-c", script, tests, store, effect]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 9, done.stderr
    keys = []
    async with crashing(store, effect, keys.append) as harness:
        session = await harness.session()
        run_id = await session.open_run()
        await session.resume()
        assert (await session.wait(run_id)).text == "over"
        (end,) = [e for e in await session.run_events(run_id) if e.type == "tool_end"]
        if effect == "once":
            assert keys == []
            assert end.ambiguous
            assert end.is_error
        else:
            assert keys == [end.call_id]
            assert not end.is_error
        check_log(await harness.store.events(session.thread_id))


def crashing(store, effect, act_on):
    """A harness whose tool says when it works, by the key of its call."""

    @tool(name="risky", effect=effect)
    async def keyed(ctx: ToolContext[Any]) -> str:
        """Do something that may be cut."""
        act_on(ctx.key)
        return "done"

    model = ByStep(lambda request: calls("risky") if request.step == 1 else says("over"))
    return Harness(
        store=store,
        agent=Agent("x", tools=[keyed]),
        permissions=Rules(tools={"risky": "allow"}),
        resolve_model=lambda _id: model,
        ports=Ports(clock=Impatient()),
    )


async def dying(store, effect):
    """Die while the tool works."""
    import os

    async with crashing(store, effect, lambda _key: os._exit(9)) as harness:
        await (await harness.session()).send("go")


async def test_the_step_limit_ends_a_run(opened, model):
    model.plays(*[calls("act", name=str(n)) for n in range(9)])
    agent = Agent("x", tools=[act])
    rules = Rules(tools={"act": "allow"})
    async with opened(agent=agent, permissions=rules, limits=Limits(max_steps=3)) as harness:
        result = await (await harness.session()).send("go")
        assert (result.reason, result.steps) == ("recursion_limit", 3)


async def test_start_begins_without_being_awaited(opened, model):
    @tool(category="read", read_only=True)
    async def wait_here() -> str:
        """Wait until it is stopped."""
        heard.set()
        await anyio.sleep_forever()
        return ""

    heard = anyio.Event()
    model.plays(calls("wait_here"), says("second"))
    async with opened(agent=Agent("x", tools=[wait_here])) as harness:
        session = await harness.session()
        run = session.start("go")
        assert session.is_running
        with anyio.fail_after(20):
            await heard.wait()
        await session.abort()
        assert not session.is_running
        assert (await run).reason == "user_interrupt"
        assert [e.type async for e in session.start("again").events()][-1] == "agent_end"


async def test_what_follows_a_start_comes_after_it(opened, model):
    model.plays(*[says(str(number)) for number in range(4)])
    async with opened() as harness:
        session = await harness.session()
        first = session.start("a")
        behind = await session.follow_up("b")
        assert [(await session.wait(name)).text for name in (first.id, behind)] == ["0", "1"]
        stopped = session.start("c")
        await session.abort()
        assert (await stopped).reason == "user_interrupt"
        assert (await session.send("d")).text in ("2", "3")  # the model may have been asked


async def test_a_run_that_waits_to_begin_rests_with_what_is_asked_before_it(opened, model):
    model.plays(calls("ask_user", question="?"), says("one"), says("two"))
    async with opened() as harness:
        session = await harness.session()
        asked = await session.send("a")
        behind = await session.follow_up("b")
        result = await session.wait(behind)
        assert (result.run_id, result.thread_id) == (behind, session.thread_id)
        assert (result.reason, result.pending) == ("awaiting", asked.pending)
        with pytest.raises(UserError, match="no run run_other"):
            await session.wait("run_other")
        await session.answer(asked.pending[0].id, "yes")
        assert (await session.wait(behind)).text == "two"
        with pytest.raises(UserError, match="nothing to send"):
            await session.send("  ")


async def test_a_follow_up_to_another_s_run_is_waited_for(opened, model, tmp_path):
    begun, go_on = anyio.Event(), anyio.Event()

    @tool(category="read", read_only=True)
    async def wait_here() -> str:
        """Wait until the test goes on."""
        begun.set()
        await go_on.wait()
        return ""

    model.plays(calls("wait_here"), says("one"), says("two"))
    options = {
        "agent": Agent("x", tools=[wait_here]),
        "store": f"sqlite:////{tmp_path}/shared.db",
    }
    async with opened(**options) as one, opened(**options) as other:
        mine, theirs = await one.session("r"), await other.session("r")
        mine.start("go")
        with anyio.fail_after(30):
            await begun.wait()
            behind = await theirs.follow_up("and then")
            go_on.set()
            assert (await theirs.wait(behind)).text == "two"


async def test_who_waits_for_a_run_is_told_when_the_harness_closes(opened, model):
    begun = anyio.Event()

    @tool(category="read", read_only=True)
    async def wait_here() -> str:
        """Wait until it is stopped."""
        begun.set()
        await anyio.sleep_forever()
        return ""

    model.plays(calls("wait_here"))
    results = []

    async def send(session: Any) -> None:
        results.append(await session.send("go"))

    agent = Agent("x", tools=[wait_here])
    async with anyio.create_task_group() as tasks, opened(agent=agent) as harness:
        tasks.start_soon(send, await harness.session())
        with anyio.fail_after(20):
            await begun.wait()
    assert [result.reason for result in results] == ["user_interrupt"]


async def test_who_watches_a_run_may_stop_at_any_event(opened, model):
    model.plays([slow(20, 0.005), says("word " * 20)], [slow(400, 0.01), says("word " * 400)])
    async with opened() as harness:
        session = await harness.session()
        async with session.start("a") as run:
            async for event in run.events():
                if event.type == "message_update":
                    break
        assert run.result.reason == "end_turn"  # leaving the block waits for it
        second = session.start("b")

        async def have_enough() -> None:
            async with second:
                async for event in second.events():
                    if event.type == "message_update":
                        raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            await have_enough()
        assert second.result.reason == "user_interrupt"


async def test_switching_mode_leaves_what_is_queued_to_the_other_mode(opened, model):
    model.plays(calls("ask_user", question="?"), says("built"))
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        asked = await session.send("go")
        behind = await session.follow_up("and then")
        await session.modes.switch("build")
        assert (await session.wait(asked.run_id)).reason == "user_interrupt"
        assert (await session.wait(behind)).text == "built"
        assert model.requests[-1].system == "build"
        alone = await replay_thread(harness.store, session.thread_id, until=asked.run_id)
        assert alone.equal, alone.divergence


async def test_a_run_is_waited_for_where_it_was_started(opened, model):
    model.plays(says("first"), says("second"))
    async with opened() as harness:
        session = await harness.session()
        run = session.start("a")
        await session.threads.create(title="elsewhere")
        result = await run
        assert (result.text, result.thread_id == session.thread_id) == ("first", False)
        assert (await session.wait(run.id)).text == "first"
        assert (await session.send("b")).thread_id == session.thread_id
