from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest

from bridle import Rules, Workspace
from bridle.errors import ToolError
from bridle.permissions.compile import policy_of
from bridle.ports.tools import CallScope
from bridle.testing import calls, says
from bridle.tools.builtin.shells import Shells
from bridle.types.events import LeaseTaken
from bridle.types.threads import Owner
from tools_builtin.conftest import results

pytestmark = pytest.mark.anyio


def session_of(text: str) -> str:
    found = re.search(r"\[session (sh_\w+)\]", text)
    assert found is not None, text
    return found[1]


class Talk:
    """Plays calls one after the other, each made from the results before it."""

    def __init__(self, model, session) -> None:
        self.model = model
        self.session = session
        self.ended: list = []

    async def run(self, *steps) -> list:
        """Each step is a function of the session's id; all of them are one run."""
        shell = ""
        events: list = []

        def hear(event) -> None:
            nonlocal shell
            events.append(event)
            if event.type == "tool_end":
                found = re.search(r"\[session (sh_\w+)\]", event.result)
                shell = found[1] if found else shell

        stop = self.session.events.subscribe(hear)
        for step in steps:
            self.model.plays(lambda _request, step=step: step(shell))
        self.model.plays(says("done"))
        await self.session.send("go")
        stop()
        return events


def start(**more):
    return lambda _id: calls("bash_session", action="start", **more)


def send(command: str, **more):
    return lambda id: calls("bash_session", action="send", session=id, command=command, **more)


def read(**more):
    return lambda id: calls("bash_session", action="read", session=id, **more)


async def test_state_lives_from_call_to_call_and_output_is_live(opened, model, root: Path):
    (root / "sub").mkdir()
    async with opened() as harness:
        talk = Talk(model, await harness.session())
        events = await talk.run(
            start(),
            send("export LANG=C; x=41; f() { echo $((x + 1)); }; cd sub"),
            send("f; pwd; false"),
            send("printf 'a\\0b'; cat; echo $0"),
        )
    first, second, third, fourth = results(events)
    assert "[session sh_" in first.result
    assert second.result == "(no output)"
    assert second.is_error is False
    assert third.result == f"42\n{root}/sub\n[exit code 1]"
    assert third.is_error is True
    assert fourth.result == "a\0bbash"
    live = [e for e in events if e.type == "shell_output"]
    assert "42" in "".join(e.text for e in live)
    assert {e.call_id for e in live} <= {third.call_id, fourth.call_id}


async def test_background_jobs_go_on_and_are_read_later(opened, model, root: Path):
    async with opened() as harness:
        talk = Talk(model, await harness.session())
        events = await talk.run(
            start(command="(while [ ! -e go ]; do sleep 0.05; done; echo ready) & echo started"),
            send("touch go; wait"),
            send("sleep 30", timeout=0.2),
            send("echo no"),
            read(timeout=0.1),
            lambda _id: calls("bash_session", action="list"),
            lambda id: calls("bash_session", action="stop", session=id),
            send("echo gone"),
        )
    told = [result.result for result in results(events)]
    assert told[0].startswith("started")
    assert "ready" in told[1]
    assert "still running" in told[2]
    assert "still running" in told[3]
    assert results(events)[3].kind == "busy"
    assert "still running" in told[4]
    assert "a command is running" in told[5]
    assert "it was stopped" in told[6]
    assert "There is no session" in told[7]
    assert results(events)[7].kind == "gone"


async def test_every_command_is_decided_by_its_parts(opened, model, root: Path):
    rules = Rules(
        patterns=(("bash(ls:*)", "allow"), ("bash(echo:*)", "allow"), ("bash(rm:*)", "deny"))
    )
    async with opened(permissions=rules) as harness:
        session = await harness.session()
        talk = Talk(model, session)
        await talk.run(start(command="ls"), send("echo hi"), send("echo hi; rm -rf x"))
        events = [e async for e in _history(session)]
        decided = [e for e in events if e.type == "permission_decided"]
        assert [e.effect for e in decided] == ["allow", "allow", "deny"]
        model.plays(calls("bash_session", action="start", command="touch x"))
        result = await session.send("again")
        assert [pending.kind for pending in result.pending] == ["approval"]
        assert result.pending[0].card["command"] == "touch x"
        await session.abort()
    assert not (root / "x").exists()


async def test_a_command_runs_where_it_was_decided_for(opened, model, root: Path):
    """The shell moved between the decision and the run: the decision's directory holds."""
    (root / "safe").mkdir()
    (root / "other").mkdir()
    async with opened() as harness:
        talk = Talk(model, await harness.session())
        events = await talk.run(
            start(cwd="safe"),
            lambda id: [
                calls("bash_session", action="send", session=id, command="cd ../other"),
                calls("bash_session", action="send", session=id, command="touch here; pwd"),
            ],
            send("cd ../other"),
            send("pwd"),
        )
    told = [result.result for result in results(events)]
    assert told[2] == f"{root}/safe"
    assert (root / "safe" / "here").exists()
    assert told[4] == f"{root}/other"
    asked = [e for e in events if e.type == "tool_start"]
    assert asked[2].facts.args["cwd"] == str(root / "safe")


async def test_a_shell_dies_with_its_run_and_a_later_run_is_told(opened, model, root: Path):
    async with opened() as harness:
        session = await harness.session()
        talk = Talk(model, session)
        events = await talk.run(
            start(command="(while :; do date +%s%N > beat; sleep 0.05; done) & echo up"),
        )
        shell = session_of(results(events)[0].result)
        with anyio.fail_after(20):
            while not await _still(root / "beat"):
                pass
        model.plays(
            calls("bash_session", action="send", session=shell, command="echo hi"), says("ok")
        )
        await session.send("again")
        events = [e async for e in _history(session)]
    last = results(events)[-1]
    assert last.kind == "gone"
    assert "was not started again" in last.result


async def test_the_harness_takes_its_shells_with_it(opened, model, root: Path):
    beat = root / "beat"
    command = "(while :; do date +%s%N > beat; sleep 0.05; done) & echo up"
    async with opened() as harness:
        session = await harness.session()
        model.plays(
            calls("bash_session", action="start", command=command),
            calls("ask_user", question="go on?"),
        )
        result = await session.send("go")
        assert result.reason is None or result.pending
        assert not await _still(beat)  # the control: it beats while the run waits
    assert await _still(beat)


async def _still(path: Path) -> bool:
    before = path.read_text() if path.exists() else ""
    await anyio.sleep(0.5)
    return path.exists() and path.read_text() == before


async def _history(session):
    events = await session._attachment.journal.store.events(session.thread_id)
    for event in events:
        yield event


HOSTILE = (
    ("ls() { rm -rf keep; }", "ls"),
    ("alias ls='rm -rf keep'; shopt -s expand_aliases", "ls"),
    ("hash -p /bin/rm ls", "ls -rf keep"),
    ("export PATH=$PWD/evil:$PATH", "ls"),
    ("export BASH_ENV=x; trap 'rm -rf keep' DEBUG", "ls"),
    ("builtin() { rm -rf keep; }", "ls"),
    ("eval() { rm -rf keep; }; printf() { rm -rf keep; }", "ls"),
    ("exec 9< evil/commands", "ls"),
)


@pytest.mark.parametrize(("prepares", "uses"), HOSTILE)
async def test_what_one_command_sets_up_is_not_smuggled_past_the_next(
    opened, model, root: Path, prepares: str, uses: str
):
    """Only `ls` and `echo` are allowed: what would give them another meaning is asked about."""
    (root / "keep").mkdir()
    (root / "evil").mkdir()
    (root / "evil" / "ls").write_text("#!/bin/sh\nrm -rf keep\n")
    (root / "evil" / "ls").chmod(0o755)
    (root / "evil" / "commands").write_bytes(f"{root}\0rm -rf keep\0".encode() * 3)
    rules = Rules(patterns=(("bash(ls:*)", "allow"), ("bash(echo:*)", "allow")))
    policy = policy_of(rules, root=str(root), answerable=False)
    async with opened(permissions=policy) as harness:
        events = await Talk(model, await harness.session()).run(
            start(command="echo up"), send(prepares), send(uses), send("ls")
        )
    assert (root / "keep").is_dir()
    assert results(events)[1].denied
    control = Rules(profile="yolo")
    async with opened(permissions=control) as harness:
        await Talk(model, await harness.session()).run(
            start(command="echo up"), send(prepares), send(uses), send("ls")
        )
    if "exec 9" not in prepares and "eval()" not in prepares:
        assert not (root / "keep").exists(), "the control: with everything allowed it is done"


async def test_a_session_cannot_be_led_out_of_the_workspace(opened, model, root: Path):
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "secret.txt").write_text("TOPSECRET")
    rules = Rules(patterns=(("bash(cat:*)", "allow"), ("bash(cd:*)", "allow")))
    policy = policy_of(rules, root=str(root), answerable=False)
    async with opened(permissions=policy) as harness:
        events = await Talk(model, await harness.session()).run(
            start(command="cd ."),
            send("cd ../outside"),
            send("cat secret.txt"),
            send("cat secret.txt", cwd="../outside"),
        )
    assert not any("TOPSECRET" in result.result for result in results(events))
    assert [result.is_error for result in results(events)[2:]] == [True, True]


async def test_a_shell_ends_when_another_process_takes_its_run_over(root: Path):
    place = Workspace(root, sandbox="none").place()
    mine = Owner(host="h", boot="b", pid=1, started="1")
    other = Owner(host="h", boot="b", pid=2, started="2")
    scope = CallScope(thread_id="thr", run_id="run", call_id="run.1.0", owner=mine.key)
    async with anyio.create_task_group() as tasks:
        shells = Shells(place, lambda: tasks)
        shell = await shells.start(scope, str(root))
        shells.hear(LeaseTaken(thread_id="thr", owner=mine, epoch=1))
        shells.hear(LeaseTaken(thread_id="another", owner=other, epoch=1))
        await shell.run("echo alive", str(root), 10, scope)
        assert shell.read() == "alive\n"
        shells.hear(LeaseTaken(thread_id="thr", owner=other, epoch=2))
        with anyio.fail_after(20):
            await shell.wait(20, until=lambda: False)
        assert shell.ended == "another process took its run over"
        with pytest.raises(ToolError, match="was not started again"):
            shells.find(shell.id, "thr")


async def test_a_shell_outlives_a_question_to_the_user(opened, model, root: Path):
    """The run parks and goes on in the same process: a new drain, the same shell."""
    async with opened() as harness:
        session = await harness.session()
        shell = ""

        def hear(event) -> None:
            nonlocal shell
            if event.type == "tool_end" and "[session " in event.result:
                shell = session_of(event.result)

        session.events.subscribe(hear)
        model.plays(
            calls("bash_session", action="start", command="x=42"),
            calls("ask_user", question="go on?"),
            lambda _request: calls("bash_session", action="send", session=shell, command="echo $x"),
            says("done"),
        )
        result = await session.send("go")
        run_id = await session.answer(result.pending[0].id, "yes")
        await session.wait(run_id)
        events = [e async for e in _history(session)]
    assert results(events)[-1].result == "42"
