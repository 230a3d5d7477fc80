"""Permissions as a user meets them: cards, "always", depth, mode names, the edge of the workspace."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle import Agent, Harness, Rules, Subagent, Workspace, tool
from bridle.errors import ConfigError
from bridle.journal.state import ThreadState
from bridle.permissions.calls import parse_call
from bridle.permissions.compile import from_execution_policy
from bridle.permissions.evaluate import evaluate
from bridle.permissions.explain import flip
from bridle.testing import ScriptedModel, calls, says
from bridle.types import events as ev
from bridle.types.permissions import Permission, Policy
from bridle.types.threads import Owner
from permissions.support import policy, rule
from support.cli import Bridle
from support.replaying import check_replays


@tool(category="other", hosts=lambda args: (str(args["host"]),), cost=0.25)
def publish(host: str, what: str) -> str:
    """Publish."""
    return f"{what} is on {host}"


@asynccontextmanager
async def opened(root: Path, *items: Any, rules: Any = None, **more: Any) -> Any:
    model = ScriptedModel([*items, says("done")])
    async with Harness(
        store="memory:",
        agent=Agent("x", tools=[publish]),
        workspace=Workspace(root, sandbox="none"),
        resolve_model=lambda _id: model,
        permissions=rules or Rules(),
        **more,
    ) as harness:
        session = await harness.session()
        yield harness, session
        await check_replays(harness)


def scopes(card: dict[str, Any]) -> dict[str, str]:
    return {entry["scope"]: entry["matches"] for entry in card["always"]}


async def test_cards_say_what_a_call_would_do(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("one\ntwo\n")
    batch = [
        calls("edit_file", path="src/a.py", old="two", new="TWO"),
        calls("write_file", path="src/a.py", content="one\nthree\n"),
        calls(
            "multi_edit",
            path="src/a.py",
            edits=[{"old": "one", "new": "1"}, {"old": "two", "new": "2"}],
        ),
        calls("bash", command="make test > log.txt"),
        calls("publish", host="h.example", what="it"),
    ]
    async with opened(tmp_path, batch) as (_, session):
        result = await session.send("go")
        edit, write, several, run, custom = [pending.card for pending in result.pending]
    file = str(tmp_path / "src/a.py")
    assert edit["diff"].splitlines() == ["@@ -1,2 +1,2 @@", " one", "-two", "+TWO"]
    assert write["diff"].splitlines()[1:] == [" one", "-two", "+three"]
    assert several["diff"].splitlines()[1:] == ["-one", "-two", "+1", "+2"]
    for card in (edit, write, several):
        assert card["files"] == [file]
        assert card["reversible"] is True
        assert card["undo"] == "the files are kept and can be restored"
        assert scopes(card)["pattern"] == f"{card['tool']}:src/**"
        assert scopes(card)["category"] == "every call of a tool that may edit"
    assert run["command"] == "make test > log.txt"
    assert run["commands"] == ["make test"]
    assert run["files"] == ["log.txt"]
    assert run["reversible"] is False
    assert scopes(run)["pattern"] == "bash(make test:*), write_file:log.txt"
    assert custom["hosts"] == ["h.example"]
    assert custom["cost_usd"] == 0.25
    assert custom["undo"] == "what leaves the machine cannot be taken back"
    assert scopes(custom)["pattern"] == "publish(domain:h.example)"


@pytest.mark.parametrize("scope", ["pattern", "tool", "category"])
async def test_always_allows_exactly_what_the_card_said(tmp_path: Path, scope: str) -> None:
    (tmp_path / "d").mkdir()
    items = [
        calls("write_file", path="d/a", content="1"),
        calls("write_file", path="d/b", content="2"),
        calls("write_file", path="c", content="3"),
        calls("edit_file", path="d/a", old="1", new="4"),
        calls("bash", command="true"),
    ]
    async with opened(tmp_path, *items) as (harness, session):
        result = await session.send("go")
        told = next(e for e in result.pending[0].card["always"] if e["scope"] == scope)
        await session.always_allow(result.pending[0].id, scope=scope)
        result = await session.wait(result.run_id)
        events = await harness.store.events(session.thread_id)
        granted = [e for e in events if isinstance(e, ev.PermissionGranted)]
        assert [(e.scope, e.matches) for e in granted] == [(scope, told["grants"][0])]
        waits = result.pending[0]
        expected = {"pattern": ("write_file", "c"), "tool": ("edit_file", "d/a")}
        if scope == "category":
            assert waits.tool == "bash"
        else:
            assert (waits.tool, waits.args["path"]) == expected[scope]
        await session.abort()


async def test_a_rule_to_a_depth_grants_nothing_below_it(tmp_path: Path) -> None:
    """The child's call is asked for, though the parent's is allowed."""
    rules = from_execution_policy(
        permissions=[Permission(tool="publish", effect="allow", max_depth=0)]
    )
    kind = Subagent("kid", instructions="k", allowed_tools=["publish"])
    send = calls("publish", host="h", what="x")
    model = ScriptedModel(
        [send, calls("subagent", agent_type="kid", task="t"), send, says("kid"), says("done")]
    )
    async with Harness(
        store="memory:",
        agent=Agent("x", tools=[publish]),
        subagents=[kind],
        resolve_model=lambda _id: model,
        permissions=Policy(rules=rules, root=str(tmp_path)),
    ) as harness:
        session = await harness.session()
        result = await session.send("go")
        (waits,) = result.pending
        assert waits.tool == "publish"
        found = []
        for thread in await harness.store.threads(hidden=True):
            events = await harness.store.events(thread.id)
            found += [
                (thread.depth, e.effect)
                for e in events
                if isinstance(e, ev.PermissionDecided) and e.tool == "publish"
            ]
        assert sorted(found) == [(0, "allow"), (1, "ask")]


async def test_the_five_mode_names_are_effects(tmp_path: Path) -> None:
    modes = {
        "auto": "allow", "notify": "notify", "confirm": "ask", "interactive": "ask",
        "reject": "deny",
    }  # fmt: skip
    for mode, effect in modes.items():
        async with opened(tmp_path, rules=Rules(tools={"bash": mode})) as (_, session):
            assert session.permissions.explain("bash", {"command": "x"}).effect == effect
        (made,) = from_execution_policy(permissions=[Permission(tool="bash", effect=mode)])
        assert made.effect == effect
    with pytest.raises(ConfigError):
        Harness(agent=Agent("x"), permissions=Rules(tools={"bash": "maybe"}))


OUTSIDE = ("../**", "../x", "**", "*", "/**", "/srv/**", "~/**")


@pytest.mark.parametrize("pattern", OUTSIDE)
def test_no_pattern_lifts_the_edge_of_the_workspace(pattern: str) -> None:
    rules = [rule(f"{name}:{pattern}") for name in ("write_file", "edit_file", "read_file")]
    rules += [rule("write_file"), rule("bash"), rule("read_file")]
    under = policy(*rules)
    for words in (
        "write_file(../x)",
        "write_file(/srv/x)",
        "read_file(/srv/x)",
        "bash(echo > ../x)",
    ):
        call, facts = parse_call(words)
        decision = evaluate(call, facts, under)
        assert (decision.effect, decision.rule) == ("deny", "safety:escape"), words
    assert evaluate(*parse_call("write_file(x)"), under).effect == "allow"  # the control


def test_a_temporary_place_may_be_named_and_others_are_opened_as_places() -> None:
    call, facts = parse_call("write_file(/tmp/x)")
    assert evaluate(call, facts, policy(rule("write_file"))).rule == "safety:escape"
    assert evaluate(call, facts, policy(rule("write_file:/tmp/**"))).effect == "allow"
    call, facts = parse_call("write_file(/srv/data/x)")
    decision = evaluate(call, facts, policy())
    change = flip(decision, call, facts, policy())
    assert change is not None
    assert change.change.startswith("add to writable: /srv/data")
    assert change.writable == ("/srv/data",)
    assert (
        evaluate(call, facts, policy(rule("write_file"), writable=("/srv/data",))).effect == "allow"
    )


async def test_in_a_run_nothing_outside_is_written_whatever_is_allowed(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    rules = Rules(
        profile="yolo", patterns=[("write_file(../**)", "allow"), ("write_file:/**", "allow")]
    )
    items = [
        calls("write_file", path="../x", content="1"),
        calls("write_file", path=str(tmp_path / "y"), content="1"),
        calls("write_file", path="z", content="1"),
    ]
    async with opened(root, *items, rules=rules) as (harness, session):
        await session.send("go")
        ends = [
            e
            for e in await harness.store.events(session.thread_id)
            if isinstance(e, ev.ToolReturned)
        ]
    assert [end.is_error for end in ends] == [True, False, False]  # /tmp is the run's own there
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w"]
    assert (root / "z").exists()


def test_events_and_why_name_the_rule_and_its_place(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    (project / "harness.yaml").write_text(
        "version: 1\nname: t\nexecution_policy:\n  sandbox: none\n  approval_profile: strict\n"
    )
    (project / "script.yaml").write_text(
        "- calls: [{tool: read_file, args: {path: harness.yaml}}, {tool: ask_user, args: {question: q}}]\n"
        "- says: done\n"
    )
    bridle = Bridle(project, tmp_path)
    model = f"scripted/{project / 'script.yaml'}"
    assert bridle("run", "go", "--model", model).code == 6
    told = bridle("events", "last").out
    assert "ask by profile:strict: strict asks for read" in told
    assert "None" not in told
    asked = next(
        e for e in bridle("events", "last", "--json").lines if e["type"] == "permission_decided"
    )
    why = bridle("why", asked["id"])
    assert why.code == 0, why.err
    assert f"{project / 'harness.yaml'}:5" in why.out


async def test_notify_allows_and_tells(tmp_path: Path) -> None:
    items = [calls("bash", command="echo hi"), calls("publish", host="h", what="x")]
    rules = Rules(tools={"bash": "notify", "publish": "allow"})
    async with opened(tmp_path, *items, rules=rules) as (harness, session):
        result = await session.send("go")
        events = await harness.store.events(session.thread_id)
    assert result.reason == "end_turn"
    told = [event for event in events if isinstance(event, ev.Noted)]
    assert [(e.code, e.text) for e in told] == [
        ("notify", "bash (echo hi) runs; harness:tools.bash says to tell you.")
    ]


def test_an_answer_is_remembered_for_the_session_only(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    (project / "s.yaml").write_text(
        "- calls: [{tool: bash, args: {command: echo 1 >> log}}]\n"
        "- calls: [{tool: bash, args: {command: echo 2 >> log}}]\n"
        "- says: done\n"
    )
    bridle = Bridle(project, tmp_path)
    options = ("--model", f"scripted/{project / 's.yaml'}", "--sandbox", "none")
    assert bridle("run", "go", *options).code == 6
    (waits,) = bridle("approvals", "--json").json
    assert bridle("approve", waits["id"], "--always").code == 0
    assert bridle("run", "--continue", *options).code == 0
    assert (project / "log").read_text() == "1\n2\n"
    assert bridle("run", "--continue", "again", *options).code == 6  # another session
    assert (project / "log").read_text() == "1\n2\n"


def test_a_process_that_gets_the_same_number_is_another_session() -> None:
    one = Owner(host="h", boot="b", pid=7, started="100")
    again = Owner(host="h", boot="b", pid=7, started="200")
    state = ThreadState("thr")
    lease = ev.LeaseTaken(owner=one, epoch=1, seq=1)
    state.apply(lease)
    state.apply(ev.PermissionGranted(scope="tool", matches="bash", owner=one.key, seq=2))
    state.apply(ev.LeaseTaken(owner=one, epoch=2, seq=3))
    assert len(state.grants) == 1
    state.apply(ev.LeaseTaken(owner=again, epoch=3, seq=4))
    assert state.grants == []
