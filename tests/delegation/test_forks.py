"""Forks: a child whose requests begin, byte for byte, with its parent's last one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bridle import Agent, Limits, Mode, Subagent, ToolError, UserError, parse_subagent_meta, tool
from bridle.models.http import HttpClient
from bridle.models.packs import Tuning
from bridle.ports.tools import CallScope
from bridle.testing import calls, says
from delegation.conftest import Cast, log_of, results
from support import wires
from support.wire_server import Received, Reply, WireServer, reply_of

MARKS = (b',"cache_control":{"type":"ephemeral"}', b'"cache_control":{"type":"ephemeral"},')


@tool(category="read", read_only=True, concurrency_safe=True)
def look(name: str) -> str:
    """Look at something."""
    return f"{name} is fine"


@tool(category="execute")
def act(name: str) -> str:
    """Do something."""
    return f"{name} is done"


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    async with HttpClient() as client:
        yield client


def unmarked(body: bytes) -> bytes:
    for mark in MARKS:
        body = body.replace(mark, b"")
    return body


def is_child(body: bytes) -> bool:
    return b"You are the parent." not in body or b"You are a fork" in body


def to_messages_end(body: bytes) -> bytes:
    """A body up to the end of its last message: what a provider's cache is found by."""
    end = body.rindex(b"]", 0, body.index(b'"stream":'))
    return body[:end]


@pytest.mark.parametrize("wire", ["chat", "anthropic"])
async def test_a_fork_s_request_begins_with_its_parent_s_last_one(
    opened: Any, http: HttpClient, wire: str
) -> None:
    """The control is a plain subagent: its request begins otherwise."""
    shared = {}
    for forked in (True, False):
        script = [
            {
                "thinking": "hm",
                "text": "I look first.",
                "calls": [{"tool": "look", "args": {"name": "a"}}],
            },
            {
                "thinking": "well",
                "text": "Now the rest.",
                "calls": [
                    {
                        "tool": "subagent",
                        "args": {"agent_type": "kid", "task": "Sum up", "forked": forked},
                    },
                    {"tool": "look", "args": {"name": "b"}},
                ],
            },
        ]

        def answer(request: Received, script: Any = script) -> Reply:
            if is_child(request.body):
                return reply_of({"text": "summed up"}, wire, 3)
            seen = request.body.count(b"is fine")
            return reply_of(script[seen] if seen < 2 else {"text": "the end"}, wire, seen)

        async with WireServer(answer) as server:
            model = wires.make(wire, server.url, http)
            kid = Subagent("kid", description="kid", instructions="Sum up what you know.")
            async with opened(
                model,
                agent=Agent("You are the parent.", tools=[look, act]),
                subagents=[kid],
                model=model.id,
                tuning=lambda _id: Tuning(reasoning="low", max_output_tokens=4096),
            ) as harness:
                session = await harness.session()
                result = await session.send("Look at everything")
                events = await log_of(harness, session.thread_id)
            begun = [e for e in events if e.type == "subagent_start"]
            assert [e.forked for e in begun] == [forked]
            assert result.text == "the end", result
            bodies = [unmarked(request.body) for request in server.requests]
        parent_last = [body for body in bodies if not is_child(body)][1]
        (child,) = [body for body in bodies if is_child(body)]
        prefix = to_messages_end(parent_last)
        shared[forked] = child.startswith(prefix)
        if forked:
            tail, child_tail = (b[b.index(b'"stream":') :] for b in (parent_last, child))
            assert tail == child_tail, "same reasoning, limits and cache key"
            assert b"reasoning" in tail or b"thinking" in tail
    assert shared == {True: True, False: False}


def parts(fork_script: list[Any], ask: Any) -> Any:
    """The parent asks; the fork, which has the same instructions, plays its own script."""

    def play(request: Any) -> Any:
        if any("You are a fork" in message.text for message in request.messages):
            return fork_script[request.step - 1]
        return [ask, says("the end")][request.step - 1]

    return play


ASK = calls("subagent", agent_type="kid", task="Go on")


@pytest.mark.parametrize(
    ("kind", "asked", "expected"),
    [(True, None, True), (False, None, False), (True, False, False), (False, True, True)],
)
async def test_the_call_decides_before_the_kind(
    opened: Any, kind: bool, asked: bool | None, expected: bool
) -> None:
    args = {} if asked is None else {"forked": asked}
    ask = calls("subagent", agent_type="kid", task="Go on", **args)
    model = Cast(main=parts([says("forked")], ask), kid=[says("plain")])
    kid = Subagent("kid", instructions="kid", forked=kind)
    async with opened(model, subagents=[kid]) as harness:
        session = await harness.session()
        await session.send("go")
        events = await log_of(harness, session.thread_id)
    assert [e.forked for e in events if e.type == "subagent_start"] == [expected]
    text, meta = parse_subagent_meta(results(events)[0].result)
    assert text == ("forked" if expected else "plain")
    assert meta is not None
    assert meta.forked is expected


async def test_in_a_fork_the_task_list_and_forks_are_not_available_and_the_rest_is(
    opened: Any,
) -> None:
    script = [
        [
            calls("task_write", tasks=[{"content": "mine"}]),
            calls("subagent", agent_type="kid", task="again"),
            calls("fork_agent", task="again", type="fork"),
            calls("look", name="a"),
        ],
        calls("subagent", agent_type="kid", task="plain", forked=False),
        says("done"),
    ]
    model = Cast(main=parts(script, ASK), kid=[says("a plain one")])
    kid = Subagent("kid", instructions="kid", forked=True)
    async with opened(model, agent_tools=[look, act], subagents=[kid]) as harness:
        session = await harness.session()
        await session.send("go")
        fork = next(
            e for e in await log_of(harness, session.thread_id) if e.type == "subagent_start"
        )
        ended = results(await log_of(harness, fork.child_thread_id))
    kinds = [(e.tool, e.kind) for e in ended]
    assert sorted(kinds[:4], key=str) == [
        ("fork_agent", "unavailable"),
        ("look", None),
        ("subagent", "unavailable"),
        ("task_write", "unavailable"),
    ]
    assert kinds[4] == ("subagent", None)
    parent, child = model.requests[0], model.requests[1]
    assert child.tools == parent.tools, "the list of tools stays, so the prefix does"


async def test_the_limits_of_a_kind_hold_in_a_fork_by_the_gate(opened: Any) -> None:
    found = {}
    for allowed in (["look"], None):
        script = [[calls("look", name="a"), calls("act", name="a")], says("done")]
        model = Cast(main=parts(script, ASK))
        kid = Subagent("kid", forked=True, allowed_tools=allowed)
        async with opened(model, agent_tools=[look, act], subagents=[kid]) as harness:
            session = await harness.session()
            await session.send("go")
            child = (await harness.store.children(session.thread_id))[0]
            ended = results(await log_of(harness, child))
            found[str(allowed)] = {e.tool: e.denied for e in ended}
    assert found == {
        "['look']": {"look": False, "act": True},
        "None": {"look": False, "act": False},
    }


async def test_a_fork_leaves_its_parent_alone_and_is_tagged_hidden_and_collected(
    opened: Any,
) -> None:
    model = Cast(main=parts([calls("look", name="a"), says("seen")], ASK))
    async with opened(
        model, agent_tools=[look], subagents=[Subagent("kid", forked=True)]
    ) as harness:
        session = await harness.session()
        await session.send("go")
        messages = [m.text for m in await session.threads.messages()]
        assert [text for text in messages if text] == ["go", "the end"]
        listed = await session.threads.list()
        assert [thread.id for thread in listed] == [session.thread_id]
        everything = await session.threads.list(include_forks=True)
        (fork,) = [thread for thread in everything if thread.metadata.get("forked")]
        assert fork.metadata["forked_from"] == session.thread_id
        assert [thread.id for thread in await session.subagents.forks()] == [fork.id]
        assert await session.subagents.collect() == 1
        assert await session.subagents.forks() == []
        assert await session.subagents.collect() == 0


async def test_a_fork_has_the_model_of_its_parent(opened: Any) -> None:
    ask = calls("subagent", agent_type="kid", task="Go on", model="x/other", forked=True)
    model = Cast(main=[ask, says("the end")])
    async with opened(model, subagents=[Subagent("kid")]) as harness:
        session = await harness.session()
        await session.send("go")
        refused = results(await log_of(harness, session.thread_id))[0]
    assert (refused.kind, refused.is_error) == ("cannot_fork", True)
    assert "leave out `model`" in refused.result


async def test_where_no_thread_can_be_cloned_a_fork_is_refused(opened: Any) -> None:
    from bridle.delegation.subagent import subagent_tool

    made = subagent_tool([Subagent("kid", forked=True)])
    scope = CallScope(thread_id="thr_1", run_id="run_1", call_id="run_1.1.0")
    with pytest.raises(ToolError) as told:
        await made.execute({"agent_type": "kid", "task": "t"}, scope)
    assert told.value.kind == "cannot_delegate"
    async with opened(Cast(main=[says("hi")]), subagents=[Subagent("kid")]) as harness:
        session = await harness.session()
        with pytest.raises(UserError, match="no conversation here"):
            await session.subagents.fork("before anything was said")


async def test_fork_spawn_and_clone_take_over_what_they_say(opened: Any) -> None:
    """From a session: what each of the three knows, may use and is to do."""
    written = calls("task_write", tasks=[{"content": "paint it"}])

    def main(request: Any) -> Any:
        if "You are a fork" in request.messages[-1].text or len(request.messages) == 1:
            return says("done") if request.messages[0].text != "go" else written
        if request.messages[-1].role == "tool" and len(request.messages) > 4:
            return says("done")
        last = request.messages[-1].text
        if "Use it" in last:
            return [calls("look", name="a"), calls("task_check")]
        return says("done")

    model = Cast(main=main)
    async with opened(model, agent_tools=[look], subagents=[Subagent("kid")]) as harness:
        session = await harness.session()
        await session.send("go")
        before = await log_of(harness, session.thread_id)
        seen = {}
        for how in ("fork", "spawn", "clone"):
            agent = await session.subagents.start(how, "Carry on")
            result = await session.subagents.wait(agent)
            assert (result.text, result.reason) == ("done", "end_turn")
            sent = model.requests[-1]
            thread = await harness.store.thread(agent.id)
            state = await harness._open().journal.fold(agent.id)
            seen[how] = (
                sent.messages[0].text == "go",
                sent.tools == model.requests[0].tools,
                [task.content for task in state.tasks],
                thread.depth,
                thread.hidden,
            )
        assert await log_of(harness, session.thread_id) == before, "the parent is not touched"
        spawned = await session.subagents.spawn("Carry on", inherit_goals=True, inherit_tools=False)
        await session.subagents.wait(spawned)
        bare = model.requests[-1]
        with pytest.raises(TypeError, match="inherit_memory"):
            await session.subagents.spawn("x", inherit_memory=True)
    assert seen == {
        "fork": (True, True, [], 1, True),
        "spawn": (False, True, [], 1, True),
        "clone": (True, True, ["paint it"], 1, True),
    }
    assert [spec.name for spec in bare.tools] == ["send_message"]
    assert "paint it" in bare.messages[0].text


async def test_agents_of_a_session_are_not_nested_too_deeply(opened: Any) -> None:
    model = Cast(main=[says("hi")])
    limits = Limits(max_depth=0)
    async with opened(model, subagents=[Subagent("kid")], limits=limits) as harness:
        session = await harness.session()
        with pytest.raises(UserError, match="deeper than 0"):
            await session.subagents.spawn("x")


async def test_a_child_works_in_the_mode_of_its_parent(opened: Any) -> None:
    def build(request: Any) -> Any:
        if request.messages[0].text == "t":
            return says("built")
        waited = calls("wait_for_agent")
        return [calls("fork_agent", task="t"), waited, says("ok")][request.step - 1]

    model = Cast(build=build)
    modes = [Mode("plan", Agent("plan"), default=True, model="x/a"), Mode("b", Agent("build"))]
    async with opened(
        model, modes=modes, subagents=[Subagent("kid", instructions="kid")]
    ) as harness:
        session = await harness.session()
        await session.modes.switch("b")
        result = await session.send("go")
    assert result.text == "ok"
    assert {request.system for request in model.requests} == {"build"}


async def test_a_fork_begins_as_its_parent_does_where_only_the_newest_messages_are_sent(
    opened: Any,
) -> None:
    script = [calls("look", name=str(n)) for n in range(4)]

    def main(request: Any) -> Any:
        if "You are a fork" in request.messages[-1].text:
            return says("forked")
        return [*script, ASK, says("the end")][request.step - 1]

    model = Cast(main=main)
    async with opened(
        model,
        agent_tools=[look],
        subagents=[Subagent("kid", forked=True)],
        tuning=lambda _id: Tuning(history=3),
    ) as harness:
        session = await harness.session()
        await session.send("one")
        model.parts["main"] = lambda r: (
            says("forked")
            if "You are a fork" in r.messages[-1].text
            else [ASK, says("end")][r.step - 1]
        )
        await session.send("two")
    (fork,) = [r for r in model.requests[-3:] if "You are a fork" in r.messages[-1].text]
    parent = model.requests[model.requests.index(fork) - 1]
    assert len(parent.messages) < 8, "not all of the conversation"
    assert [m.parts for m in fork.messages[: len(parent.messages)]] == [
        m.parts for m in parent.messages
    ]
    assert fork.cache_key == parent.cache_key


async def test_an_agent_of_a_session_works_with_the_session_s_model(opened: Any) -> None:
    models: dict[str, Cast] = {}

    def resolve(name: str) -> Cast:
        return models.setdefault(name, Cast(name, main=lambda _r: says("hi"), kid=[says("kid")]))

    kinds = [Subagent("kid", instructions="kid"), Subagent("own", instructions="kid", model="x/k")]
    async with opened(None, subagents=kinds, model="x/a", resolve_model=resolve) as harness:
        session = await harness.session()
        await session.send("first")
        await session.models.switch("x/b")
        used = []
        for options in ({}, {"type": "kid"}, {"type": "own"}, {"type": "own", "model": "x/c"}):
            agent = await session.subagents.spawn("t", **options)
            await session.subagents.wait(agent)
            used.append((await harness.store.runs(thread_id=agent.id))[0].model)
        fork = await session.subagents.fork("t")
        await session.subagents.wait(fork)
        used.append((await harness.store.runs(thread_id=fork.id))[0].model)
    assert used == ["x/b", "x/b", "x/k", "x/c", "x/a"], "a fork goes on with what was said"
