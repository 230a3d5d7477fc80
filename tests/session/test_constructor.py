"""Every option of the constructor changes something; wrong ones are refused with what to do."""

from __future__ import annotations

import msgspec
import pytest

from bridle import Agent, Harness, Heartbeat, Mode, Ports, Rules, Subagent, UserError, tool
from bridle.testing import calls, says


@tool
async def post(text: str) -> str:
    """Post a text."""
    return text


def build(**options):
    options.setdefault("store", "memory:")
    if "modes" not in options:
        options.setdefault("agent", Agent("x"))
    return Harness(**options)


class Needs(msgspec.Struct):
    must: int


A = Mode("a", Agent("a"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": []}, "one of the two"),
        ({"modes": [A], "agent": Agent("x")}, "one of the two"),
        ({"modes": [A, A]}, "two modes"),
        ({"modes": [Mode("", Agent("a"))]}, "needs an id"),
        ({"store": "mysql://x"}, "Unknown store"),
        ({"store": "sqlite:///"}, "names no file"),
        ({"store": 3}, "3 is no store"),
        ({"permissions": Rules(tools={"write_fil": "deny"})}, "Did you mean 'write_file'"),
        ({"subagents": [Subagent("s", allowed_tools=["nothing"])]}, "Unknown tool 'nothing'"),
        ({"agent": Agent("a", tools=["fork_agent"])}, "give the harness subagents"),
        (
            {"modes": [Mode("a", Agent("a"), default=True), Mode("b", Agent("b"), default=True)]},
            "Only one mode",
        ),
        ({"modes": [Mode("a", Agent("a"), transitions_to="q")]}, "Unknown mode"),
        ({"model": "antropic/claude"}, "Did you mean 'anthropic'"),
        ({"fallbacks": ["nobody/x"]}, "Unknown provider"),
        ({"modes": [Mode("a", Agent("a"), model="nobody/x")]}, "Unknown provider"),
        ({"agent": Agent("a", model="nobody/x")}, "Unknown provider"),
        ({"subagents": [Subagent("s", model="nobody/x")]}, "Unknown provider"),
        ({"subagents": [Subagent("s"), Subagent("s")]}, "two subagents"),
        ({"state": Needs}, "cannot be built"),
        ({"state": 3}, "cannot hold state"),
        ({"state": {"type": "array"}}, "must describe an object"),
        ({"state": {"properties": {"n": {"typ": "integer"}}}}, "Did you mean 'type'"),
        ({"state": {"properties": {"n": {"type": "integer", "default": "x"}}}}, "state.n"),
        ({"disable_builtin_tools": ["ask"]}, "Unknown built-in tool"),
        ({"agent": "You help."}, "is a str; give an Agent"),
        ({"tools": [post, post]}, "two tools named 'post'"),
        ({"agent": Agent("a", tools=[post, post])}, "two tools named 'post'"),
        ({"tools": [print]}, "Mark the function with @tool"),
        ({"agent": Agent("a", tools=[3])}, "3 is no tool"),
        ({"checks": True}, "workspace"),
        ({"workspace": {"pth": "."}}, "Did you mean 'path'"),
        ({"workspace": 3}, "no workspace"),
        ({"workspace": {"path": ".", "sandbox": "bubblwrap"}}, "Did you mean 'bubblewrap'"),
        ({"memory": object()}, "memory= is not available"),
        ({"observation": {}}, "observation= is not available"),
        ({"heartbeats": [Heartbeat("h", 0, print)]}, "must be positive"),
        ({"heartbeats": [Heartbeat("h", 1, print), Heartbeat("h", 1, print)]}, "two heartbeats"),
    ],
)
def test_a_wrong_option_is_refused_at_construction(options, message):
    with pytest.raises(UserError, match=message):
        build(**options)


@pytest.mark.parametrize("dynamic", [True, False])
def test_names_of_tools_that_only_a_request_knows_are_not_refused(caplog, dynamic):
    tools = (lambda _ctx: [post]) if dynamic else [post]
    rules = Rules(tools={"pots": "deny", "mcp__a__b": "ask", "post*": "ask", "elsewhere": "allow"})
    kind = Subagent("s", allowed_tools=["mcp__a__b", *(["later"] if dynamic else ["post"])])
    build(tools=tools, permissions=rules, subagents=[kind])
    assert ("'elsewhere', which this harness does not have" in caplog.text) != dynamic


def test_tools_that_start_agents_may_be_named():
    build(agent=Agent("a", tools=["fork_agent", "send_message"]), subagents=[Subagent("s")])


def test_a_resolver_of_ones_own_knows_its_models():
    build(model="mine/one", resolve_model=lambda _id: None)


async def test_tools_may_be_a_function_of_the_request(opened, model):
    model.plays(says("a"), says("b"))

    def tools(request):
        return [post] if request.values.get("may_post") else []

    async with opened(tools=tools) as harness:
        session = await harness.session()
        await session.send("x", context={"may_post": True})
        await session.send("y")
        offered = [{spec.name for spec in request.tools} for request in model.requests]
        assert "post" in offered[0]
        assert "post" not in offered[1]


async def test_disabled_built_in_tools_are_not_offered(opened, model, tmp_path):
    model.plays(says("a"))
    async with opened(
        workspace=str(tmp_path), disable_builtin_tools=["ask_user", "bash"]
    ) as harness:
        await (await harness.session()).send("x")
        names = {spec.name for spec in model.requests[0].tools}
        assert names.isdisjoint({"ask_user", "bash"})
        assert {"submit_plan", "read_file"} <= names


async def test_the_host_may_put_tools_into_categories(opened, model):
    model.plays(calls("post", text="x"), says("done"))

    def category(name):
        return "read" if name == "post" else None

    rules = Rules(categories={"read": "allow", "other": "deny"})
    agent = Agent("x", tools=[post])
    async with opened(agent=agent, permissions=rules, tool_category=category) as harness:
        session = await harness.session()
        assert session.permissions.category_of("post") == "read"
        result = await session.send("x")
        events = await session.run_events(result.run_id)
        assert [e.facts.category for e in events if e.type == "tool_start"] == ["read"]
        assert [e.denied for e in events if e.type == "tool_end"] == [False]
    async with opened(agent=agent, permissions=rules) as harness:
        model.plays(calls("post", text="x"), says("done"))
        session = await harness.session()
        result = await session.send("x")
        events = await session.run_events(result.run_id)
        assert [e.denied for e in events if e.type == "tool_end"] == [True]


class Lock:
    """A host's lock that one thread cannot be taken of."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.refused: set[str] = set()

    async def acquire(self, thread_id: str) -> None:
        if thread_id in self.refused:
            raise RuntimeError("held elsewhere")
        self.log.append(f"+{thread_id}")

    def release(self, thread_id: str) -> None:
        self.log.append(f"-{thread_id}")


async def test_the_hosts_lock_is_held_while_a_session_has_the_thread(opened):
    lock = Lock()
    async with opened(ports=Ports(thread_lock=lock)) as harness:
        session = await harness.session()
        one = session.thread_id
        again = await harness.session(thread_id=one)
        assert lock.log == [f"+{one}"]
        two = (await session.threads.create()).id
        assert lock.log == [f"+{one}", f"+{two}"]
        await again.threads.switch(two)
        assert lock.log == [f"+{one}", f"+{two}", f"-{one}"]
        lock.refused.add(one)
        with pytest.raises(RuntimeError, match="held elsewhere"):
            await session.threads.switch(one)
        assert session.thread_id == two
        await session.threads.delete(two)
        await again.set_resource("other")
        assert lock.log[3:] == [f"-{two}"]
        last = (await session.threads.create()).id
    assert lock.log[4:] == [f"+{last}", f"-{last}"]


async def test_ids_and_time_come_from_ports(opened, model):
    from session.clock import VirtualClock

    model.plays(says("a"))
    numbers = iter(range(1000))
    ports = Ports(clock=VirtualClock(), new_id=lambda kind: f"{kind}_{next(numbers):04}")
    async with opened(ports=ports) as harness:
        session = await harness.session()
        assert session.thread_id == "thr_0000"
        result = await session.send("x")
        assert result.run_id.startswith("run_0")
        assert session.threads.current.created_at.startswith("1970-01-12T13:46:40")


async def test_use_counts_and_the_auth_checker_show_in_the_list_of_models(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    counts = {"openai/gpt-4o-mini": 7}
    asked = []

    async def auth(provider):
        asked.append(provider)
        return True if provider == "openai" else None

    harness = build(model="openai/gpt-4o-mini", model_use_counts=lambda: counts, model_auth=auth)
    async with harness:
        session = await harness.session()
        rows = await session.models.available()
        assert (rows[0].id, rows[0].use_count) == ("openai/gpt-4o-mini", 7)
        assert rows[0].key_present
        assert not next(row for row in rows if row.provider == "anthropic").key_present
        assert (await session.models.auth_status()).ok
        assert "openai" in asked
        with pytest.raises(UserError, match="Unknown provider"):
            await session.models.switch("nobody/x")
    async with build(model="openai/gpt-4o-mini") as harness:
        session = await harness.session()
        assert not (await session.models.auth_status()).ok

    def own(_id):
        return None  # nothing is asked of it

    async with build(
        model="acme/one", resolve_model=own, model_auth=lambda name: name == "acme"
    ) as harness:
        status = await (await harness.session()).models.auth_status()
        assert (status.provider, status.ok, status.key_from) == ("acme", True, "checker")
    async with build(model="scripted/queue", resolve_model=own) as harness:
        assert (await (await harness.session()).models.auth_status()).ok
    async with build(model="acme/one", resolve_model=own) as harness:
        session = await harness.session()
        with pytest.raises(UserError, match="model_auth"):
            await session.models.auth_status()


async def test_state_from_a_json_schema(opened):
    schema = {
        "type": "object",
        "properties": {
            "level": {"type": "integer", "minimum": 1, "default": 1},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "default": []},
            "who": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "additionalProperties": False,
        "$defs": {"tag": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5}},
    }
    async with opened(state=schema) as harness:
        session = await harness.session()
        assert session.state.get() == {"level": 1, "tags": []}
        await session.state.set(level=2, tags=["ab"])
        taken = session.state.get()
        taken["tags"].append("mine")
        assert session.state.get() == {"level": 2, "tags": ["ab"]}
        for wrong, field in (
            ({"level": 0}, "state.level"),
            ({"level": True}, "state.level"),
            ({"tags": ["A"]}, r"state.tags\[0\]"),
            ({"tags": ["abcdef"]}, r"state.tags\[0\]"),
            ({"who": 3}, "state.who"),
            ({"lvel": 3}, "Did you mean 'level'"),
        ):
            with pytest.raises(UserError, match=field):
                await session.state.set(**wrong)
        assert session.state.get() == {"level": 2, "tags": ["ab"]}


async def test_a_request_names_its_session(opened, model):
    model.plays(says("a"))
    seen = []

    def agent(request):
        seen.append((request.session, request.resource_id, request.mode_id, request.values))
        return Agent("x")

    async with opened(modes=[Mode("m", agent)], resource_id="r") as harness:
        session = await harness.session()
        await session.send("x", context={"k": 1})
        assert seen[0] == (session, "r", "m", {"k": 1})


async def test_the_runs_of_all_threads_are_listed(opened, model):
    model.plays(says("a"), says("b"))
    async with opened() as harness:
        one = await (await harness.session("r1")).send("x")
        two = await (await harness.session("r2")).send("y")
        listed = [row.run_id for row in await harness.runs.list()]
        assert listed == [two.run_id, one.run_id]
        assert [r.run_id for r in await harness.runs.list(resource_id="r1")] == [one.run_id]
        assert (await harness.runs.get(one.run_id[-6:])).status == "ended"
        assert [e.type for e in await harness.runs.events("last")][-1] == "agent_end"
        with pytest.raises(UserError, match="no run"):
            await harness.runs.get("run_nothing")
        assert await harness.known_resource_ids() == ["r1", "r2"]
