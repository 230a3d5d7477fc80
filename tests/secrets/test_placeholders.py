"""Configured secrets: a name for the model, a value for the tool, the name again in the log."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import Agent, Harness, Rules, Secret, ToolContext, Workspace, tool
from bridle.errors import ConfigError, ToolError
from bridle.gate.shell_secrets import refer
from bridle.runs.replay.driver import replay_thread
from bridle.testing import ScriptedModel, calls, says
from bridle.types import events as ev

VALUE = "tok-7Qx!'\"$(id) `x`"
"""A value that would do something if it ever stood in a command unquoted."""


async def played(
    root: Path, *items: Any, secrets: Any, tools: Any = (), **more: Any
) -> tuple[Any, list[Any], str, ScriptedModel]:
    """One run; its result, its events, its whole log as text, and the model."""
    model = ScriptedModel([*items, says("done")])
    options = {"permissions": Rules(profile="yolo"), **more}
    async with Harness(
        store="memory:",
        agent=Agent("x", tools=list(tools)),
        workspace=Workspace(root, sandbox="none"),
        resolve_model=lambda _id: model,
        secrets=secrets,
        **options,
    ) as harness:
        session = await harness.session()
        live: list[Any] = []
        session.events.subscribe(live.append)
        result = await session.send("go")
        events = await harness.store.events(session.thread_id)
        replayed = await replay_thread(harness.store, session.thread_id)
        assert replayed.equal, replayed.divergence
        text = "\n".join(repr(event) for event in (*events, *live)) + repr(model.requests)
        return result, events, text, model


def returned(events: list[Any]) -> list[ev.ToolReturned]:
    return [event for event in events if isinstance(event, ev.ToolReturned)]


@pytest.mark.parametrize(
    "command",
    [
        "printf '%s' {{secret:TOKEN}} > got",
        "printf '%s' \"{{secret:TOKEN}}\" > got",
        "printf '%s' '{{secret:TOKEN}}' > got",
        "# it's a comment\nprintf %s {{secret:TOKEN}} >got # don't",
        "x=$(printf '%s' \"{{secret:TOKEN}}\"); printf '%s' \"$x\" > got",
        "printf '%s' \"$(printf '%s' '{{secret:TOKEN}}')\" > got",
        "TOKEN={{secret:TOKEN}}; (printf '%s' \"$TOKEN\") > got",
    ],
)
async def test_a_command_gets_the_value_and_nobody_else_sees_it(
    tmp_path: Path, command: str
) -> None:
    shown = f"{command}\ncat got; cat /proc/$PPID/cmdline /proc/$$/cmdline | tr '\\0' ' '"
    _, events, text, model = await played(
        tmp_path, calls("bash", command=shown), secrets={"TOKEN": VALUE}
    )
    assert (tmp_path / "got").read_text() == VALUE
    (result,) = returned(events)
    assert not result.is_error, result.result
    assert result.result.startswith("{{secret:TOKEN}}")
    assert VALUE not in text
    called = next(event for event in events if isinstance(event, ev.ToolCalled))
    assert called.args["command"] == shown
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "command",
    ["cat <<E\n{{secret:TOKEN}}\nE", "echo `echo {{secret:TOKEN}}`", "echo $'{{secret:TOKEN}}'",
     "echo ${x:-{{secret:TOKEN}}}"],
)  # fmt: skip
async def test_where_it_cannot_be_quoted_it_is_refused(tmp_path: Path, command: str) -> None:
    _, events, _, _ = await played(
        tmp_path, calls("bash", command=command), secrets={"TOKEN": VALUE}
    )
    (result,) = returned(events)
    assert result.is_error
    assert result.kind == "secret"
    assert "Hint: Write it as a word" in result.result


def test_references_fit_the_quotes_around_them() -> None:
    names = {"A": "V"}
    assert refer("a {{secret:A}} b", names) == 'a "${V}" b'
    assert refer('a "x{{secret:A}}" b', names) == 'a "x${V}" b'
    assert refer("a 'x{{secret:A}}y' b", names) == "a 'x'\"${V}\"'y' b"
    assert refer(r"a \' {{secret:A}} '", names) == r"""a \' "${V}" '"""
    assert refer("{{secret:B}} {{secret:A}", names) == "{{secret:B}} {{secret:A}"
    with pytest.raises(ToolError, match="here-document"):
        refer("cat <<X\n{{secret:A}}\nX", names)
    assert refer("cat <<<{{secret:A}}", names) == 'cat <<<"${V}"'


async def test_an_unknown_name_is_told_the_names_there_are(tmp_path: Path) -> None:
    _, events, _, _ = await played(
        tmp_path,
        calls("bash", command="echo {{secret:TOKE}} > x"),
        secrets={"TOKEN": VALUE},
    )
    (result,) = returned(events)
    assert result.kind == "secret"
    assert "TOKEN" in result.result
    assert not (tmp_path / "x").exists()


async def test_files_do_not_get_secrets_unless_that_is_said(tmp_path: Path) -> None:
    write = calls("write_file", path="a", content="k={{secret:TOKEN}}")
    _, events, _, _ = await played(tmp_path, write, secrets={"TOKEN": VALUE})
    (result,) = returned(events)
    assert result.kind == "secret"
    assert "may not have the secret TOKEN: it is for bash" in result.result
    assert not (tmp_path / "a").exists()
    allowed = Secret(VALUE, tools=("write_file",))
    _, events, text, _ = await played(tmp_path, write, secrets={"TOKEN": allowed})
    assert (tmp_path / "a").read_text() == f"k={VALUE}"
    assert VALUE not in text
    other = calls("write_file", path="b", content="docs: {{secret:NAME}}")
    await played(tmp_path, other, secrets={"TOKEN": VALUE})
    assert (tmp_path / "b").read_text() == "docs: {{secret:NAME}}"


async def test_hosts_bound_a_secret(tmp_path: Path) -> None:
    seen: list[str] = []

    @tool(category="other", hosts=lambda args: (str(args["host"]),))
    def fetch(host: str, auth: str) -> str:
        """Fetch."""
        seen.append(auth)
        return f"sent {auth} to {host}"

    secret = Secret(VALUE, hosts=("api.example",))
    items = [
        calls("fetch", host="api.example", auth="Token {{secret:TOKEN}}"),
        calls("fetch", host="evil.example", auth="{{secret:TOKEN}}"),
        calls("fetch", host="{{secret:TOKEN}}", auth="x"),
        calls("bash", command="echo {{secret:TOKEN}}"),
    ]
    _, events, text, _ = await played(tmp_path, *items, secrets={"TOKEN": secret}, tools=[fetch])
    assert seen == [f"Token {VALUE}"]
    first, *others = returned(events)
    assert first.result == "sent Token {{secret:TOKEN}} to api.example"
    assert [other.kind for other in others] == ["secret"] * 3
    assert VALUE not in text


async def test_a_secret_cannot_change_what_a_call_touches(tmp_path: Path) -> None:
    @tool(category="other", paths=lambda args: (str(args["path"]),))
    def touch(path: str) -> str:
        """Touch."""
        raise AssertionError(path)

    _, events, _, _ = await played(
        tmp_path,
        calls("touch", path="dir/{{secret:P}}"),
        secrets={"P": Secret("../../../etc", tools=("touch",))},
        tools=[touch],
    )
    (result,) = returned(events)
    assert result.kind == "secret"
    assert "may not change which files" in result.result


async def test_a_card_shows_the_name(tmp_path: Path) -> None:
    result, _, text, _ = await played(
        tmp_path,
        calls("bash", command="curl -H 'X: {{secret:TOKEN}}' http://h"),
        secrets={"TOKEN": VALUE},
        permissions=Rules(),
    )
    (pending,) = result.pending
    assert pending.card["command"] == "curl -H 'X: {{secret:TOKEN}}' http://h"
    assert pending.args["command"] == "curl -H 'X: {{secret:TOKEN}}' http://h"
    assert VALUE not in text


async def test_a_value_that_the_model_or_the_user_writes_becomes_its_name(tmp_path: Path) -> None:
    command = "printf %s 'plain-Value-7' > got; cat got"
    _, events, text, _ = await played(
        tmp_path, calls("bash", command=command), secrets={"P": "plain-Value-7"}
    )
    assert (tmp_path / "got").read_text() == "plain-Value-7"
    assert "plain-Value-7" not in text
    assert returned(events)[0].result == "{{secret:P}}"


async def test_a_mark_is_never_written_over_the_secret(tmp_path: Path) -> None:
    key = "ghp" + "_" + "a1B2c3D4e5" * 3 + "abcdef"
    (tmp_path / "conf").write_text(f"key={key}\nmode=1\n")
    _, events, text, _ = await played(
        tmp_path,
        calls("read_file", path="conf"),
        calls("write_file", path="conf", content="key=[redacted:github-token]\nmode=2\n"),
        calls("edit_file", path="conf", old="mode=1", new="mode=2"),
        secrets={},
    )
    read, write, edit = returned(events)
    assert "[redacted:github-token]" in read.result
    assert write.kind == "secret"
    assert not edit.is_error
    assert (tmp_path / "conf").read_text() == f"key={key}\nmode=2\n"
    assert key not in text


async def test_the_model_is_told_the_names(tmp_path: Path) -> None:
    secrets = {"TOKEN": VALUE, "API": Secret("another-value", hosts=("api.example",))}
    _, _, _, model = await played(tmp_path, secrets=secrets)
    assert model.requests[0].system.endswith(
        "Secrets: write the placeholder; the value is put in when the call runs.\n"
        "- {{secret:TOKEN}} for bash\n- {{secret:API}} for calls to api.example"
    )
    _, _, _, model = await played(tmp_path, secrets={})
    assert model.requests[0].system == "x"


def test_bad_names_and_short_values_are_refused() -> None:
    for secrets, words in (({"A B": "x" * 9}, "name of a secret"), ({"A": "abc"}, "too short")):
        with pytest.raises(ConfigError, match=words):
            Harness(agent=Agent("x"), secrets=secrets)
    assert "hunter2hunter2" not in repr(Secret("hunter2hunter2"))
    for entry, words in (("a(", "regular expression"), ("x*", "matches everything")):
        with pytest.raises(ConfigError, match=words):
            Harness(agent=Agent("x"), redact=[entry])


async def test_expressions_and_variables_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN_NAME", "value-of-plain")
    monkeypatch.setenv("SERVICE_TOKEN", "value-of-token")
    monkeypatch.setenv("BRIDLE_SECRET_GIVEN", "value-of-given")
    (tmp_path / "f").write_text(
        "value-of-plain value-of-token value-of-given ticket-1234 pin=9876;\n"
    )
    _, events, _, _ = await played(
        tmp_path,
        calls("bash", command="cat f; echo {{secret:GIVEN}} | wc -c"),
        secrets=None,
        redact=["PLAIN_NAME", r"ticket-\d+", r"pin=(?P<secret>\d+);"],
    )
    assert returned(events)[0].result.splitlines() == [
        "[redacted:PLAIN_NAME] [redacted:SERVICE_TOKEN] {{secret:GIVEN}} [redacted:custom] "
        "pin=[redacted:custom];",
        "15",
    ]


async def test_what_is_shown_live_is_redacted_across_pieces(tmp_path: Path) -> None:
    @tool(read_only=True)
    async def talks(ctx: ToolContext[Any]) -> str:
        """Talk."""
        ctx.progress("half: hunter2-")
        ctx.progress("canary, done")
        return "ok"

    command = "printf 'a hun'; sleep 0.3; printf 'ter2-canary b'"
    _, events, text, _ = await played(
        tmp_path,
        calls("bash", command=command),
        calls("talks"),
        secrets={"P": "hunter2-canary"},
        tools=[talks],
    )
    shown = "".join(re.findall(r"(?:ShellOutput|ToolProgress)\(.*?text='(.*?)'\)", text))
    assert shown == "a {{secret:P}} bhalf: {{secret:P}}, done"
    assert "hunter2-" not in text.replace(command, "")
    assert returned(events)[0].result == "a {{secret:P}} b"


@pytest.mark.parametrize("kind", [pytest.param("bubblewrap", marks=pytest.mark.bwrap), "landlock"])
async def test_in_the_sandbox_the_value_is_on_no_command_line(tmp_path: Path, kind: str) -> None:
    """All command lines of the machine are looked at while the command runs."""
    seen: list[str] = []

    value = "on-no-command-line-7"
    command = "printf %s {{secret:TOKEN}} | tr a-z A-Z; sleep 1.5; true"
    model = ScriptedModel([calls("bash", command=command), says("done")])
    async with Harness(
        store="memory:",
        agent=Agent("x"),
        workspace=Workspace(tmp_path, sandbox=kind),
        permissions=Rules(profile="yolo"),
        resolve_model=lambda _id: model,
        secrets={"TOKEN": value},
    ) as harness:
        session = await harness.session()
        async with anyio.create_task_group() as tasks:

            async def look() -> None:
                while not any("BRIDLE_SECRET_0" in line for line in seen):
                    seen[:] = command_lines()
                    await anyio.sleep(0.02)

            tasks.start_soon(look)
            with anyio.fail_after(30):
                result = await session.send("go")
            tasks.cancel_scope.cancel()
        events = await harness.store.events(session.thread_id)
    assert result.text == "done"
    assert returned(events)[0].result == value.upper()
    assert any("BRIDLE_SECRET_0" in line for line in seen), "it was not seen at all"
    assert [line for line in seen if value in line] == []


def command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().decode("utf-8", "replace"))
    return found
