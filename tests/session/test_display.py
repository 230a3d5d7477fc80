"""The display: a fold of events, whole at any moment, shown when the windows say so."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bridle import Agent, Rules, Subagent, Workspace, tool
from bridle.app.coalesce import DisplayScheduler
from bridle.app.display import DisplaySnapshot, DisplayState, fold, restored
from bridle.journal.state import ThreadState
from bridle.testing import calls, says, slow
from bridle.types import events as ev
from bridle.types.events import decode_event, encode_event
from bridle.types.usage import Usage
from session.clock import VirtualClock, settle


@tool
async def act(ctx: Any = None) -> str:
    """Act."""
    return "acted"


def delta(text: str) -> ev.MessageDelta:
    return ev.MessageDelta(thread_id="t", message_id="m", kind="text", delta=text)


async def shown_at(moves: list[tuple[float, ev.AnyEvent]], until: float) -> list[Any]:
    """The times and texts at which a listener is called, for events at the given times."""
    import anyio

    clock = VirtualClock()
    start = clock.now()
    display = DisplayState()
    display.apply(ev.MessageStarted(run_id="r", message_id="m", role="assistant"), ())
    calls_: list[tuple[float, str]] = []

    def listener(snapshot: DisplaySnapshot) -> None:
        message = snapshot.current_message
        text = message.text if message else ""
        calls_.append((round(clock.now() - start, 3), text))

    async with anyio.create_task_group() as tasks:
        scheduler = DisplayScheduler(
            display=display, listener=listener, clock=clock, window=0.25, max_wait=0.5
        )
        stop = scheduler.start(tasks)
        await settle()
        assert calls_ == []  # nothing before the first change
        for at, event in moves:
            await clock.move(at - (clock.now() - start))
            display.apply(event, ())
            await settle()
        await clock.move(until - (clock.now() - start))
        stop()
        display.apply(delta("unheard"), ())
        await clock.move(10)
    return calls_


async def test_a_subscriber_gets_the_snapshots_that_window_and_maximum_wait_imply():
    one = [(1.0, delta("a"))]
    assert await shown_at(one, 5) == [(1.25, "a")]
    pair = [(1.0, delta("a")), (1.2, delta("b"))]
    assert await shown_at(pair, 5) == [(1.45, "ab")]  # the window begins anew
    apart = [(1.0, delta("a")), (1.3, delta("b"))]
    assert await shown_at(apart, 5) == [(1.25, "a"), (1.55, "ab")]
    steady = [(n * 0.12, delta(str(n % 10))) for n in range(1, 13)]
    text = "".join(str(n % 10) for n in range(1, 13))
    assert (
        await shown_at(steady, 5)
        == [
            (0.62, text[:5]),  # the first at 0.12, half a second later
            (1.22, text[:10]),
            (1.69, text),
        ]
    )


async def test_what_is_critical_is_shown_at_once_and_only_once():
    paused = ev.RunPaused(run_id="r", waiting=())
    started = ev.RunStarted(run_id="r", consumes=(), model_id="m")
    moves = [(1.0, delta("a")), (1.1, started), (1.2, paused)]
    times = [at for at, _ in await shown_at(moves, 5)]
    assert times == [1.1, 1.2]  # no second call when the window is over


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=12))
def test_the_last_snapshot_is_complete_and_none_is_late(steps: list[tuple[int, bool]]) -> None:
    import anyio

    at, moves, said = 1.0, [], ""
    for number, (wait, critical) in enumerate(steps):
        at = round(at + wait / 50, 2)
        event: ev.AnyEvent = delta(chr(97 + number))
        if critical:
            event = ev.ModeChanged(mode_id=f"m{number}", previous_mode_id=None)
        else:
            said += chr(97 + number)
        moves.append((at, event))
    shown = anyio.run(shown_at, moves, at + 2)
    if not moves:
        assert shown == []
        return
    assert shown[-1][1] == said
    assert shown[-1][0] <= round(at + 0.5, 3)
    for when, event in moves:  # nobody waits longer than the maximum
        assert any(when - 1e-6 <= call <= when + 0.5 + 1e-6 for call, _ in shown), event


async def recorded(opened, model, tmp_path) -> list[ev.AnyEvent]:
    """Everything that a session with tools, children, tasks, files and questions hears."""
    (tmp_path / "a.txt").write_text("old")
    model.plays(
        [slow(3, 0), says("first "), calls("task_write", tasks=[{"content": "Do"}])],
        calls("write_file", path="b.txt", content="new"),
        calls("subagent", agent_type="kid", task="t"),
        says("kid"),
        calls("ask_user", question="?"),
        says("end"),
    )
    heard: list[ev.AnyEvent] = []
    async with opened(
        agent=Agent("x"),
        workspace=Workspace(tmp_path),
        permissions=Rules(tools={"write_file": "allow"}),
        subagents=[Subagent("kid", instructions="kid")],
    ) as harness:
        session = await harness.session()
        session.events.subscribe(heard.append)
        result = await session.send("go")
        await session.answer(result.pending[0].id, "yes")
        await session.follow_up("later")
        model.plays(says("after"))
        await session.wait(result.run_id)
        while session.is_running:
            await settle()
        late = await harness.session(thread_id=session.thread_id)
        assert late.display == session.display
        durable = await harness.store.events(session.thread_id)
        assert session.display.modified_files == (str(tmp_path / "b.txt"),)
        assert [task.content for task in session.display.tasks] == ["Do"]
        assert session.display.usage.total_tokens > 0
        state = ThreadState(session.thread_id)
        state.take(durable)
        assert restored(state, (), ()).usage == session.display.usage
    return heard


async def test_a_late_session_shows_what_an_early_one_does_and_a_split_changes_nothing(
    opened, model, tmp_path
):
    heard = await recorded(opened, model, tmp_path)
    snapshots = [DisplaySnapshot()]
    for event in heard:
        snapshots.append(fold(snapshots[-1], event))
    whole = snapshots[-1]
    assert whole.subagents == ()  # of the last run
    for cut in range(len(heard) + 1):
        now = snapshots[cut]
        for event in heard[cut:]:
            if isinstance(event, ev.Event):  # as another process reads it
                event = decode_event(encode_event(event))
            now = fold(now, event)
        assert now == whole
    control = whole
    for event in heard[: len(heard) // 2]:
        control = fold(control, event)
    assert control != whole  # the fold is not blind to what it is given


async def test_a_snapshot_never_changes_under_its_reader(opened, model):
    import msgspec

    model.plays([slow(5, 0), says("some words here")], says("more"))
    async with opened() as harness:
        session = await harness.session()
        taken: list[tuple[DisplaySnapshot, bytes]] = []
        session.events.subscribe(
            lambda _event: taken.append((session.display, msgspec.json.encode(session.display)))
        )
        await session.send("a")
        await session.send("b")
        assert len({body for _, body in taken}) > 5
        for snapshot, body in taken:
            assert msgspec.json.encode(snapshot) == body


def test_usage_adds_up_over_runs():
    now = DisplaySnapshot()
    for _ in range(3):
        now = fold(now, ev.UsageUpdated(run_id="r", usage=Usage(input_tokens=2), cost_usd=0.5))
    assert (now.usage.input_tokens, now.cost_usd) == (6, 1.5)


async def test_raw_listeners_hear_of_the_display_gathered_and_before_what_changed_it(opened, model):
    model.plays([slow(100, 0.001), says("word " * 100)], [slow(50, 0.001), calls("act")])
    async with opened(agent=Agent("x", tools=[act])) as harness:
        session = await harness.session()
        heard: list[Any] = []

        def hear(event: ev.AnyEvent) -> None:
            heard.append((event.type, session.display.is_running, len(session.pending)))

        stop = session.events.subscribe(hear)
        await session.send("go")
        await session.send("ask")
        kinds = [kind for kind, *_ in heard]
        deltas = kinds.count("message_update")
        assert deltas > 90  # the control: each of them changes the display
        assert 0 < kinds.count("display_state_changed") < deltas / 2
        at = kinds.index("agent_end")
        assert heard[at - 1 : at + 1] == [
            ("display_state_changed", False, 0),
            ("agent_end", False, 0),
        ]
        assert ("tool_approval_required", True, 1) in heard
        stop()
        told = len(heard)
        await session.abort()
        assert len(heard) == told


async def test_an_async_listener_is_shown_the_same(opened, model):
    import anyio

    model.plays(says("one"))
    async with opened() as harness:
        session = await harness.session()
        plain: list[DisplaySnapshot] = []
        late: list[DisplaySnapshot] = []

        async def show(snapshot: DisplaySnapshot) -> None:
            late.append(snapshot)

        session.events.subscribe_display(plain.append)
        stop = session.events.subscribe_display(show)
        await session.send("go")
        with anyio.fail_after(20):
            while not late or late[-1].is_running:
                await anyio.sleep(0.01)
        assert late == plain
        stop()
