"""The session's members are those of the contract: name, kind and parameters."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest

from bridle import Agent, Heartbeat, Rules, Workspace, tool
from bridle.testing import calls, says
from bridle.types.events import AnyEvent

# part: {member: kind and parameters}; p property, a awaitable, s plain call, g async iterator
MEMBERS: dict[str, dict[str, str]] = {
    "": {
        "send": "a content files context",
        "start": "s content files context",
        "wait": "a run_id",
        "steer": "a content restart context",
        "follow_up": "a content context",
        "abort": "a",
        "approve": "a id args context",
        "decline": "a id reason context",
        "always_allow": "a id scope context",
        "answer": "a id answer context",
        "answer_plan": "a id approved feedback context",
        "resume_tool": "a id data context",
        "set_resource": "a id",
        "pin": "a text",
        "is_running": "p",
        "pending": "p",
        "usage": "p",
        "display": "p",
    },
    "events": {
        "subscribe": "s fn",
        "replay": "g after",
        "subscribe_display": "s fn window max_wait",
    },
    "threads": {
        "current": "p",
        "create": "a title",
        "switch": "a id",
        "list": "a all_resources include_forks",
        "rename": "a title",
        "clone": "a source title resource_id",
        "delete": "a id",
        "messages": "a limit thread_id",
        "first_user_message": "a id",
        "settings": "p",
    },
    "threads.settings": {"get": "a key default", "set": "a key value"},
    "modes": {"list": "p", "current": "p", "switch": "a id"},
    "models": {
        "current": "p",
        "name": "p",
        "selected": "p",
        "switch": "a id scope mode",
        "available": "a",
        "auth_status": "a",
    },
    "state": {"get": "s", "set": "a updates", "update": "a fn"},
    "permissions": {
        "rules": "p",
        "grants": "p",
        "set_category": "a category effect",
        "set_tool": "a tool effect",
        "grant_category": "a category",
        "grant_tool": "a tool",
        "category_of": "s tool",
        "explain": "s tool args",
    },
    "tasks": {"list": "p", "restore": "a tasks"},
    "subagents": {"model_for": "s type", "set_model": "a model type"},
    "workspace": {
        "get": "s",
        "resolve": "a context",
        "ready": "p",
        "configured": "p",
        "destroy": "a",
    },
    "checkpoints": {"list": "a", "undo": "a run_id", "restore": "a seq"},
}
HARNESS: dict[str, str] = {
    "session": "a resource_id thread_id",
    "sessions": "p",
    "runs": "p",
    "heartbeats": "p",
    "known_resource_ids": "a",
    "run_sync": "s content",
}


def shape(owner: Any, name: str) -> str:
    """A member as the tables above write it."""
    if isinstance(inspect.getattr_static(type(owner), name, None), property):
        return "p"
    member = getattr(owner, name)
    if not inspect.isroutine(member):
        return "p"
    kind = "s"
    if inspect.iscoroutinefunction(member):
        kind = "a"
    elif inspect.isasyncgenfunction(member):
        kind = "g"
    return " ".join([kind, *inspect.signature(member).parameters])


def part_of(owner: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        owner = getattr(owner, name)
    return owner


@pytest.mark.parametrize("part", MEMBERS)
async def test_every_member_has_its_kind_and_its_parameters(opened, tmp_path, part):
    async with opened(workspace=Workspace(str(tmp_path))) as harness:
        owner = part_of(await harness.session(), part)
        for name, expected in MEMBERS[part].items():
            found = shape(owner, name)
            assert found.split()[0] == expected.split()[0], f"{part}.{name}: {found}"
            missing = set(expected.split()[1:]) - set(found.split()[1:])
            assert not missing, f"{part}.{name} lacks {missing}"


async def test_the_harness_has_its_members_and_its_heartbeats(opened):
    async with opened() as harness:
        for name, expected in HARNESS.items():
            found = shape(harness, name)
            assert found.split()[0] == expected.split()[0], f"{name}: {found}"
            assert set(expected.split()) <= set(found.split()), f"{name}: {found}"
        assert shape(harness.heartbeats, "register").startswith("s ")
        assert shape(harness.heartbeats, "remove") == "a id"
        assert shape(harness.heartbeats, "stop") == "a"
        harness.heartbeats.register(Heartbeat("one", interval=60, handler=lambda: None))
        await harness.heartbeats.remove("one")


async def test_what_is_not_there_yet_says_so(opened):
    async with opened() as harness:
        session = await harness.session()
        with pytest.raises(AttributeError, match=r"session\.observations is not available yet"):
            _ = session.observations


@tool
async def act(name: str = "") -> str:
    """Act."""
    return f"did {name}"


ORDERED = {
    "agent_start",
    "agent_paused",
    "agent_resumed",
    "agent_end",
    "message_start",
    "message_update",
    "message_end",
    "usage_update",
    "tool_start",
    "permission_decided",
    "tool_approval_required",
    "tool_approval_answered",
    "tool_end",
}


def told(events: list[Any]) -> list[str]:
    """The events that the order of a run is about; deltas in a row count once."""
    names: list[str] = []
    for event in events:
        name = event.type
        if name not in ORDERED or (name == "message_update" and names[-1:] == [name]):
            continue
        names.append(name)
    return names


STEP = ["message_start", "message_update", "message_end", "usage_update"]


async def test_order_of_a_run(opened, model):
    model.plays([says("I act."), calls("act", name="it")], says("Done, all of it."))
    rules = Rules(tools={"act": "allow"})
    async with opened(agent=Agent("You help.", tools=[act]), permissions=rules) as harness:
        session = await harness.session()
        events: list[Any] = []
        session.events.subscribe(events.append)
        await session.send("go")
    call = ["tool_start", "permission_decided", "tool_end"]
    user = ["message_start", "message_end"]
    assert told(events) == ["agent_start", *user, *STEP, *call, *STEP, "agent_end"]
    updates = [event for event in events if event.type == "message_update"]
    assert "".join(event.delta for event in updates) == "I act.Done, all of it."
    assert {event.seq for event in updates} == {None}
    durable = [event.seq for event in events if event.seq is not None]
    assert durable == list(range(durable[0], durable[0] + len(durable)))


async def test_order_of_a_run_that_asks(opened, model):
    model.plays(calls("act", name="it"), says("Done."))
    async with opened(agent=Agent("You help.", tools=[act])) as harness:
        session = await harness.session()
        events: list[Any] = []
        session.events.subscribe(events.append)
        result = await session.send("go")
        await session.wait(await session.approve(result.pending[0].id))
    asks = ["tool_start", "permission_decided", "tool_approval_required", "agent_paused"]
    goes_on = ["tool_approval_answered", "agent_resumed", "tool_end"]
    first = [name for name in STEP if name != "message_update"]  # it only calls
    user = ["message_start", "message_end"]
    assert told(events) == ["agent_start", *user, *first, *asks, *goes_on, *STEP, "agent_end"]
    asked = next(event for event in events if event.type == "tool_approval_required")
    assert (asked.tool, asked.args) == ("act", {"name": "it"})
    assert asked.approval_id == result.pending[0].id
    assert asked.card["tool"] == "act"


FIELDS = {
    "mode_changed": "mode_id previous_mode_id",
    "model_changed": "model_id scope mode_id",
    "state_changed": "state changed_keys",
    "thread_created": "thread",
    "thread_changed": "thread_id previous_thread_id",
    "agent_end": "reason verdict usage",
    "message_start": "message_id",
    "message_update": "message_id delta",
    "message_end": "message",
    "tool_start": "call_id tool args",
    "tool_approval_required": "approval_id call_id tool args card",
    "tool_end": "call_id tool result is_error denied duration_ms",
    "permission_decided": "call_id effect rule layer source trace",
    "usage_update": "usage cost_usd",
    "error": "error retryable",
    "follow_up_queued": "count",
    "ask_question": "question_id question options selection_mode",
    "plan_approval_required": "plan_id title plan",
    "task_updated": "tasks",
    "subagent_start": "call_id agent_type task model_id forked",
    "subagent_end": "call_id agent_type result is_error duration_ms tool_calls",
    "workspace_status_changed": "status",
}


def test_every_event_has_the_documented_fields():
    kinds = get_args(AnyEvent)
    known = {kind.__struct_config__.tag: set(kind.__struct_fields__) for kind in kinds}
    for name, fields in FIELDS.items():
        missing = {"run_id", "at", "v", *fields.split()} - known[name]
        assert not missing, f"{name} lacks {missing}"
