"""Agents that work beside one another: they are addressed, they speak, and they are waited for."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle import Limits, Rules, Subagent, ToolError, tool
from bridle.delegation.addresses import Broadcast, Capability, Direct, Role, parse_address, resolve
from bridle.testing import calls, fails, says
from bridle.types.agents import AgentInfo
from delegation.conftest import Cast, log_of, results

KINDS = [
    Subagent("coder", instructions="coder", allowed_tools=["send_message", "wait_for_agent"]),
    Subagent(
        "writer",
        instructions="writer",
        allowed_tools=["send_message", "wait_for_agent"],
        capabilities=["prose", "data"],
    ),
]

AGENTS = (
    AgentInfo(id="thr_m", name="main"),
    AgentInfo(id="thr_a", name="a", role="coder", capabilities=("python",), parent="thr_m"),
    AgentInfo(id="thr_b", name="b", role="coder", capabilities=("python", "data"), parent="thr_m"),
    AgentInfo(id="thr_c", name="c", role="writer", parent="thr_a"),
    AgentInfo(id="thr_d", name="d", role="coder", parent="thr_m", is_over=True),
)


@pytest.mark.parametrize(
    ("written", "sender", "expected"),
    [
        ("a", "thr_m", ["a"]),
        ("thr_a", "thr_m", ["a"]),
        ("main", "thr_c", ["main"]),
        ("parent", "thr_c", ["a"]),
        ("role:coder", "thr_m", ["a", "b"]),
        ("role:coder", "thr_a", ["b"]),
        ("capability:python", "thr_m", ["a", "b"]),
        ("capability:python, data", "thr_m", ["b"]),
        ("siblings", "thr_a", ["b"]),
        ("all", "thr_a", ["main", "b", "c"]),
    ],
)
def test_an_address_means(written: str, sender: str, expected: list[str]) -> None:
    found = resolve(parse_address(written), AGENTS, sender)
    assert [agent.name for agent in found] == expected


@pytest.mark.parametrize(
    ("written", "sender", "why"),
    [
        ("nobody", "thr_m", "Nobody has this address"),
        ("a", "thr_a", "Nobody has this address"),
        ("d", "thr_m", "d ended"),
        ("role:painter", "thr_m", "Nobody has this address"),
        ("capability:cobol", "thr_m", "Nobody has this address"),
        ("capability:", "thr_m", "Nobody has this address"),
        ("siblings", "thr_m", "Nobody has this address"),
        ("parent", "thr_m", "Nobody has this address"),
    ],
)
def test_an_address_that_means_nobody_is_told_who_there_is(
    written: str, sender: str, why: str
) -> None:
    with pytest.raises(ToolError) as told:
        resolve(parse_address(written), AGENTS, sender)
    assert told.value.kind == "unknown_address"
    assert why in told.value.message
    assert "b (role coder; can python, data)" in told.value.message
    assert "d (" not in told.value.message.partition("Agents that work now")[2]


@given(
    st.one_of(
        st.builds(lambda n: Direct(name=n), st.sampled_from(["a", "b", "thr_c"])),
        st.builds(lambda r: Role(role=r), st.sampled_from(["coder", "writer"])),
        st.builds(lambda s: Capability(skills=tuple(s)), st.sets(st.sampled_from(["python"]))),
        st.builds(lambda s: Broadcast(scope=s), st.sampled_from(["all", "siblings"])),
    ),
    st.sampled_from([agent.id for agent in AGENTS]),
)
def test_nobody_hears_themselves_and_who_is_over_hears_nothing(address: Any, sender: str) -> None:
    try:
        found = resolve(address, AGENTS, sender)
    except ToolError:
        return
    assert found
    assert all(agent.id != sender and not agent.is_over for agent in found)


def heard(requests: list[Any]) -> list[str]:
    """What other agents said to one, in the order in which it was heard."""
    last = requests[-1].messages
    told = [m.text for m in last if m.role == "user" and m.text.startswith("Message from agent")]
    return [text.partition("\n")[2] for text in told]


def all_heard(request: Any) -> list[str]:
    """The same, with what ended a wait."""
    told: list[str] = []
    for message in request.messages:
        if message.role == "tool":
            for part in message.parts:
                found = json.loads(part.text) if part.text.startswith("{") else {}
                told += [item["text"] for item in found.get("messages", [])]
        elif message.text.startswith("Message from agent"):
            told.append(message.text.partition("\n")[2])
    return told


def fork(name: str, kind: str, **more: Any) -> Any:
    return calls("fork_agent", task=f"You are {name}", agent_type=kind, name=name, **more)


async def test_messages_come_once_and_in_their_sender_s_order(opened: Any) -> None:
    count = 12

    def listening(request: Any) -> Any:
        told = all_heard(request)
        if len(told) < count:
            return calls("wait_for_agent", until="message", timeout=30)
        return says(",".join(told))

    texts = [str(n) for n in range(count)]
    model = Cast(
        main=[
            fork("ann", "coder"),
            [calls("send_message", to="ann", text=text) for text in texts],
            calls("wait_for_agent", timeout=30),
            says("end"),
        ],
        coder=listening,
    )
    async with opened(model, subagents=KINDS) as harness:
        session = await harness.session()
        result = await session.send("go")
        events = await log_of(harness, session.thread_id)
    assert result.text == "end"
    ended = next(e for e in events if e.type == "subagent_end")
    assert ended.result.split(",") == texts
    waited = json.loads(results(events)[-1].result)
    assert waited["agents"] == [{"name": "ann", "status": "completed", "result": ended.result}]


async def test_a_role_a_capability_and_a_broadcast_reach_those_that_they_mean(
    opened: Any,
) -> None:
    def worker(request: Any) -> Any:
        told = [p.text for m in request.messages if m.role == "tool" for p in m.parts]
        done = any("STOP" in text for text in [*told, *heard([request])])
        return says("over") if done else calls("wait_for_agent", until="message", timeout=30)

    model = Cast(
        main=[
            [fork("ann", "coder"), fork("bob", "coder"), fork("cat", "writer")],
            [
                calls("send_message", to="role:coder", text="to coders"),
                calls("send_message", to="capability:prose,data", text="to the skilled"),
                calls("send_message", to="nobody", text="lost"),
                calls("send_message", to="all", text="STOP"),
            ],
            calls("wait_for_agent", timeout=30),
            says("end"),
        ],
        coder=worker,
        writer=worker,
    )
    async with opened(model, subagents=KINDS) as harness:
        session = await harness.session()
        result = await session.send("go")
        events = await log_of(harness, session.thread_id)
        inbox = {}
        for name in await harness.store.children(session.thread_id):
            thread = await harness.store.thread(name)
            inbox[thread.metadata["delegated"]["name"]] = [
                e.op.mail.text
                for e in await log_of(harness, name)
                if e.type == "input_admitted" and type(e.op).__name__ == "Deliver"
            ]
    assert result.text == "end"
    assert inbox == {
        "ann": ["to coders", "STOP"],
        "bob": ["to coders", "STOP"],
        "cat": ["to the skilled", "STOP"],
    }
    lost = next(e for e in results(events) if e.kind == "unknown_address")
    assert "ann (role coder)" in lost.result


async def test_siblings_speak_to_one_another_and_children_to_their_parent(opened: Any) -> None:
    def ann(request: Any) -> Any:
        said = [
            calls("send_message", to="siblings", text="hello brother"),
            calls("send_message", to="parent", text="hello mother"),
        ]
        return said if request.step == 1 else says("spoke")

    def bob(request: Any) -> Any:
        told = str([m.text for m in request.messages]) + str(
            [p.text for m in request.messages if m.role == "tool" for p in m.parts]
        )
        if "hello brother" in told:
            return says("heard my brother")
        return calls("wait_for_agent", until="message", timeout=30)

    def main(request: Any) -> Any:
        if request.step == 1:
            return [fork("bob", "writer"), fork("ann", "coder")]
        last = request.messages[-1]
        if last.role == "tool" and '"running"' not in str(last.parts) and request.step > 2:
            return says("end")
        return calls("wait_for_agent", timeout=30)

    model = Cast(main=main, coder=ann, writer=bob)
    async with opened(model, subagents=KINDS) as harness:
        session = await harness.session()
        result = await session.send("go")
        events = await log_of(harness, session.thread_id)
    assert result.text == "end"
    told = {e.agent_type: e.result for e in events if e.type == "subagent_end"}
    assert told == {"coder": "spoke", "writer": "heard my brother"}
    whole = str(model.sent("main")[-1].messages)
    assert whole.count("hello mother") == 1


async def test_a_wait_ends_when_its_time_has_passed(opened: Any) -> None:
    @tool(category="read", read_only=True)
    async def sleep_long() -> str:
        """Sleep."""
        await anyio.sleep(60)
        return "awake"

    model = Cast(
        main=[fork("ann", "slow"), calls("wait_for_agent", timeout=2), says("gave up")],
        slow=[calls("sleep_long"), says("late")],
    )
    kind = Subagent("slow", instructions="slow", tools=[sleep_long])
    async with opened(model, subagents=[kind]) as harness:
        session = await harness.session()
        with anyio.fail_after(30):
            result = await session.send("go")
        events = await log_of(harness, session.thread_id)
        child = (await harness.store.children(session.thread_id))[0]
        ended = [e for e in await log_of(harness, child) if e.type == "agent_end"]
    assert result.text == "gave up"
    late = results(events)[1]
    assert (late.kind, late.is_error) == ("timeout", True)
    told = json.loads(late.result)
    assert told["agents"] == [{"name": "ann", "status": "running"}]
    assert "replaces" in told["hint"]
    paused = [e for e in events if e.type == "agent_paused"]
    assert [e.waiting[0].kind for e in paused] == ["wait"], "a wait is a row, not a future"
    assert [e.reason for e in ended] == ["user_interrupt"], "it does not outlive its parent's run"


async def test_where_a_person_is_asked_a_wait_does_not_hide_it(opened: Any) -> None:
    @tool(category="execute")
    def danger() -> str:
        """Do what must be asked."""
        return "did it"

    def main(request: Any) -> Any:
        script = [fork("ann", "kid"), calls("wait_for_agent", timeout=600), says("end")]
        return script[request.step - 1]

    model = Cast(main=main, kid=[calls("danger"), says("allowed")])
    kind = Subagent("kid", instructions="kid", tools=[danger])
    async with opened(
        model, subagents=[kind], permissions=Rules(tools={"danger": "ask"})
    ) as harness:
        session = await harness.session()
        with anyio.fail_after(30):
            parked = await session.send("go")
            assert parked.reason == "awaiting"
            assert [(p.kind, p.tool) for p in parked.pending] == [("approval", "danger")]
            await session.approve(parked.pending[0].id)
            result = await session.wait(parked.run_id)
    assert result.text == "end"


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (calls("wait_for_agent"), "unknown_address", "No agent works for you"),
        (calls("wait_for_agent", timeout=0), "tool_error", "more than 0"),
        (calls("wait_for_agent", timeout=99999), "tool_error", "at most 3600"),
        (calls("wait_for_agent", agents=["bop"]), "unknown_address", "have none"),
        (calls("fork_agent", task="t", agent_type="x"), "unknown_agent_type", "have coder, writer"),
        (calls("fork_agent", task="t", replaces="x"), "unknown_address", "have none"),
    ],
)
async def test_wrong_calls_are_told_what_is_wrong(
    opened: Any, call: Any, kind: str, text: str
) -> None:
    model = Cast(main=[call, says("end")])
    async with opened(model, subagents=KINDS) as harness:
        session = await harness.session()
        await session.send("go")
        refused = results(await log_of(harness, session.thread_id))[0]
    assert refused.is_error
    assert refused.kind == kind
    assert text in refused.result


async def test_no_more_agents_work_at_once_than_the_limit_allows(opened: Any) -> None:
    go_on = anyio.Event()

    @tool(category="read", read_only=True)
    async def hold() -> str:
        """Wait until the others were refused."""
        await go_on.wait()
        return "held"

    def main(request: Any) -> Any:
        if request.step == 1:
            return [fork(name, "holder") for name in ("a", "b", "c")]
        go_on.set()
        if request.step == 2:
            return calls("wait_for_agent", timeout=30)
        return fork("c", "holder") if request.step == 3 else says("end")

    model = Cast(main=main, holder=[calls("hold"), says("done")])
    kind = Subagent("holder", instructions="holder", tools=[hold])
    async with opened(model, subagents=[kind], limits=Limits(max_parallel=2)) as harness:
        session = await harness.session()
        await session.send("go")
        ended = results(await log_of(harness, session.thread_id))
    kinds = [(e.tool, e.kind) for e in ended]
    assert kinds == [
        ("fork_agent", None),
        ("fork_agent", None),
        ("fork_agent", "limit"),
        ("wait_for_agent", None),
        ("fork_agent", None),
    ]


async def test_a_failed_agent_is_reported_and_replaced_a_few_times(opened: Any) -> None:
    def main(request: Any) -> Any:
        wait = calls("wait_for_agent", timeout=30)
        script = [
            fork("ann", "coder"),
            wait,
            fork("ben", "coder", replaces="ann"),
            wait,
            fork("cay", "coder", replaces="ben"),
            wait,
            [fork("dan", "coder", replaces="cay"), fork("eve", "coder", replaces="ann")],
            says("it stays undone"),
        ]
        return script[request.step - 1]

    model = Cast(main=main, coder=lambda _r: fails("authentication", message="no key"))
    async with opened(model, subagents=KINDS) as harness:
        session = await harness.session()
        result = await session.send("go")
        events = await log_of(harness, session.thread_id)
    assert result.text == "it stays undone"
    waits = [e for e in results(events) if e.tool == "wait_for_agent"]
    assert [(e.kind, e.is_error) for e in waits] == [("agent_failed", True)] * 3
    names = [[a["name"] for a in json.loads(e.result)["agents"]] for e in waits]
    assert names == [["ann"], ["ben"], ["cay"]], "who was replaced is not waited for"
    refused = [e.result for e in results(events)[-2:]]
    assert "3 agents tried this already" in refused[0]
    assert "replaced already" in refused[1]


async def test_a_stuck_agent_is_stopped_when_it_is_replaced(opened: Any) -> None:
    @tool(category="read", read_only=True)
    async def sleep_long() -> str:
        """Sleep."""
        await anyio.sleep(60)
        return "awake"

    def main(request: Any) -> Any:
        script = [
            fork("ann", "slow"),
            calls("wait_for_agent", timeout=0.05),
            fork("ben", "coder", replaces="ann"),
            calls("wait_for_agent", timeout=30),
            says("end"),
        ]
        return script[request.step - 1]

    model = Cast(main=main, slow=[calls("sleep_long"), says("late")], coder=[says("quick")])
    kinds = [*KINDS, Subagent("slow", instructions="slow", tools=[sleep_long])]
    async with opened(model, subagents=kinds, limits=Limits(max_parallel=1)) as harness:
        session = await harness.session()
        with anyio.fail_after(30):
            result = await session.send("go")
        events = await log_of(harness, session.thread_id)
    assert result.text == "end"
    over = {e.agent_type: e.is_error for e in events if e.type == "subagent_end"}
    assert over == {"slow": True, "coder": False}
    last = json.loads(results(events)[-1].result)
    assert last["agents"] == [{"name": "ben", "status": "completed", "result": "quick"}]


async def test_a_message_to_an_idle_agent_is_heard_by_its_next_run(opened: Any) -> None:
    from bridle.types.agents import Mail
    from bridle.types.ops import Deliver

    model = Cast(main=lambda _r: says("ok"))
    async with opened(model) as harness:
        session = await harness.session()
        await session.send("first")
        journal = harness._open().journal
        mail = Mail(sender="thr_x", name="ann", to="main", text="remember me")
        for _ in range(2):  # the same input twice is one input
            await journal.admit(session.thread_id, Deliver(mail=mail), input_id="in_1")
        await harness._open().dispatcher.rested(session.thread_id)
        assert "remember me" not in str(model.requests[-1].messages)
        await session.send("second")
        await session.send("third")
    assert heard(model.requests[1:2]) == ["remember me"]
    assert heard(model.requests) == ["remember me"]


@pytest.mark.parametrize("answers", [True, False])
async def test_a_long_talk_is_no_loop_and_waiting_in_vain_is(opened: Any, answers: bool) -> None:
    rounds = 15

    def main(request: Any) -> Any:
        if request.step == 1:
            return fork("ann", "coder")
        told = all_heard(request)
        if len(told) == rounds:
            return says("we talked")
        if request.step % 2 == 0:
            return calls("send_message", to="ann", text=f"{len(told)}")
        return calls("wait_for_agent", agents=["ann"], until="message", timeout=30)

    def ann(request: Any) -> Any:
        if not answers:
            return calls("wait_for_agent", agents=["main"], until="message", timeout=0.01)
        heard_so_far = len(all_heard(request))
        said = sum(call.tool == "send_message" for m in request.messages for call in m.calls)
        if said < heard_so_far:
            return calls("send_message", to="parent", text="yes")
        return calls("wait_for_agent", until="message", timeout=30)

    def silent(request: Any) -> Any:
        script = [fork("ann", "coder"), calls("wait_for_agent", timeout=60), says("we talked")]
        return script[request.step - 1]

    model = Cast(main=main if answers else silent, coder=ann)
    async with opened(model, subagents=KINDS) as harness:
        session = await harness.session()
        result = await session.send("go")
        events = await log_of(harness, session.thread_id)
    assert result.text == "we talked"
    looped = ["loop_detected" in e.result for e in events if e.type == "subagent_end"]
    assert looped == ([] if answers else [True])
