"""Two canaries through everything: one is known by its shape, one is configured.

The control is the same with redaction off: it finds both, everywhere.
"""

from __future__ import annotations

import logging
import subprocess
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from bridle import Agent, Harness, Rules, Subagent, ToolContext, ToolError, Workspace, tool
from bridle.models.http import HttpClient
from bridle.runs.replay.driver import replay_thread
from bridle.tools.builtin.names import BUILTIN_TOOLS, NAMED_NAMES, NAMED_WORKSPACE_NAMES
from bridle.types.events import encode_event
from support.cli import Bridle
from support.hostile import HostileServer
from support.wire_server import WireServer
from support.wires import WIRES, make

SHAPED = "ghp" + "_" + "CanaryOne7" * 3 + "abcdef"
VALUE = "canary-two-5Zq8-value"
CANARIES = (SHAPED, VALUE)
PAGE = f"<title>{SHAPED}</title><h1>{VALUE}</h1><p class=x>{SHAPED} {VALUE}</p>"


@tool(category="read", read_only=True)
def leaks(how: str, ctx: ToolContext[Any]) -> str:
    """Tell a secret in some way."""
    ctx.progress(f"found {VALUE[:9]}")
    ctx.progress(f"{VALUE[9:]} and {SHAPED}")
    text = f"{SHAPED} {VALUE}"
    if how == "raise":
        raise RuntimeError(text)
    if how == "error":
        raise ToolError(f"no: {text}", hint=text)
    return f"{text}\n" * (3000 if how == "long" else 1)


def script(page: str) -> list[list[dict[str, Any]]]:
    """The calls of a run, one list per step; together they call every tool that is built in."""

    def one(name: str, **args: Any) -> list[dict[str, Any]]:
        return [{"tool": name, "args": args}]

    return [
        [{"tool": "leaks", "args": {"how": how}} for how in ("tell", "raise", "error", "long")],
        one("read_file", path="keys.txt"),
        one("read_file", path=f"missing-{SHAPED}"),
        one("grep", pattern="canary|ghp"),
        one("list_files"),
        one("glob", pattern="**/*"),
        one("bash", command=f"cat keys.txt; echo {VALUE}; printf 'canary-two-'; sleep 0.1; "
            f"printf '5Zq8-value\\n'; echo {VALUE} >&2; exit 3"),
        one("bash", command="cat keys.txt | base64 -w0; yes \"$(cat keys.txt)\" | head -4000"),
        one("bash_session", action="start", command="cat keys.txt"),
        one("bash_session", action="send", session="1", command=f"echo {VALUE}; cat keys.txt"),
        one("bash_session", action="read", session="1"),
        one("bash_session", action="list"),
        one("bash_session", action="stop", session="1"),
        one("edit_file", path="keys.txt", old="nothing like it", new="x"),
        one("edit_file", path="keys.txt", old="mode=1", new="mode=2"),
        one("multi_edit", path="keys.txt", edits=[{"old": "no", "new": "yes"}]),
        one("write_file", path="out.txt", content=f"{SHAPED} {VALUE}"),
        one("git_diff"),
        one("git_log"),
        one("git_commit", message=f"keep {SHAPED} {VALUE}"),
        one("task_write", tasks=[{"content": f"use {SHAPED} {VALUE}", "status": "pending",
                                  "active_form": "using"}]),
        one("task_update", id="1", content=f"used {SHAPED} {VALUE}"),
        one("task_check"),
        one("task_complete", id="1"),
        one("sleep", seconds=0, why=f"{SHAPED} {VALUE}"),
        one("sleep", seconds=0),
        one("request_permission", reason=f"for {SHAPED} {VALUE}", pattern=f"bash(echo {VALUE})"),
        one("notify", message=f"{SHAPED} {VALUE}"),
        one("update_setting", key="k", value=f"{SHAPED} {VALUE}"),
        one("get_setting", key="k"),
        one("inspect_context"),
        one("codebase_search", query="canary two value"),
        one("web_fetch", url=f"http://127.0.0.1:9/{SHAPED}?q={VALUE}"),
        one("web_search", query=f"{SHAPED} {VALUE}"),
        one("create_plan", title=f"plan {SHAPED}", steps=[f"use {SHAPED}", f"then {VALUE}"]),
        one("update_plan_step", id="1", status="completed", note=f"with {SHAPED} {VALUE}"),
        one("trace_tool_call", tool="read_file"),
        one("trace_tool_call", call_id=SHAPED),
        one("navigate", url=page),
        one("navigate", url=f"{page}{SHAPED}?q={VALUE}"),
        one("screenshot", selector=f"#{VALUE}"),
        one("screenshot"),
        one("extract", selector=".x"),
        one("extract", selector=f".{SHAPED}"),
        one("send_message", to="all", text=f"hear {SHAPED} {VALUE}"),
        one("no_such_tool", x=SHAPED),
        one("leaks", how=["wrong", SHAPED]),
        one("subagent", agent_type="sub", task=f"look at {SHAPED} {VALUE}"),
        one("call_coordinator", task=f"part {SHAPED} {VALUE}"),
        one("fork_agent", task=f"look at {SHAPED} {VALUE}", agent_type="sub"),
        one("wait_for_agent", timeout=30),
        one("ask_user", question=f"is {SHAPED} {VALUE} right?"),
        one("submit_plan", title=f"t {SHAPED}", plan=f"p {VALUE}"),
    ]  # fmt: skip


def project(root: Path) -> None:
    root.mkdir()
    (root / "keys.txt").write_text(f"a={SHAPED}\nb={VALUE}\nmode=1\n")
    (root / f"file-{VALUE}").write_text("x")
    for words in (
        ("init", "-q"),
        ("add", "keys.txt"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", f"add {SHAPED}"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    (root / "keys.txt").write_text(f"a={SHAPED}\nb={VALUE}\nc={VALUE}\nmode=1\n")


class Places:
    """Where the canaries were seen, by the name of the place."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.heard: defaultdict[str, str] = defaultdict(str)

    def hear(self, event: Any) -> None:
        """Pieces of one text are put together as whoever shows them does."""
        self.look(f"live {event.type}", encode_event(event))
        for field in ("delta", "text"):
            self.heard[event.type] += getattr(event, field, "")

    def look(self, where: str, what: bytes | str) -> None:
        body = what.encode("utf-8", "replace") if isinstance(what, str) else what
        self.seen[where] += sum(body.count(canary.encode()) for canary in CANARIES)


async def everything(
    tmp_path: Path, wire: str, places: Places, *, secrets: Any, redact: Any
) -> None:
    """One run on a wire that meets the canaries in every way, and all that it leaves."""
    root = tmp_path / "project"
    project(root)
    with HostileServer() as pages:
        pages.page("/", PAGE)
        await run_with(pages, root, wire, places, secrets=secrets, redact=redact)


async def run_with(
    pages: HostileServer, root: Path, wire: str, places: Places, *, secrets: Any, redact: Any
) -> None:
    named = [*NAMED_NAMES, *NAMED_WORKSPACE_NAMES]
    async with WireServer() as server, HttpClient() as http:
        server.plays(
            *({"calls": step} for step in script(pages.url("/"))),
            {"text": f"the keys are {SHAPED} and {VALUE}", "thinking": f"hm {VALUE}", "chunks": 40},
            {"status": 401, "message": f"bad key {SHAPED} {VALUE}"},
        )
        harness = Harness(
            agent=Agent(f"You know {SHAPED} and {VALUE}.", tools=[leaks, *named]),
            workspace=Workspace(root, sandbox="none", allowed_hosts=[pages.host]),
            subagents=[Subagent("sub", instructions=f"sub {VALUE}", allowed_tools=["read_file"])],
            permissions=Rules(
                categories=dict.fromkeys(("edit", "execute", "other"), "allow"),
                tools={"write_file": "ask"},
            ),
            resolve_model=lambda _id: make(wire, server.url, http),
            secrets=secrets,
            redact=redact,
        )
        async with harness:
            session = await harness.session(new=True)
            session.events.subscribe(places.hear)
            await session.threads.rename(f"title {SHAPED}")
            await session.state.set(token=VALUE)
            await session.threads.settings.set("key", SHAPED)
            result = await session.send(f"use {SHAPED} and {VALUE}", context={"t": VALUE})
            for _ in range(8):
                if not result.pending:
                    break
                waits = result.pending[0]
                places.look("pending", repr(waits))
                match waits.kind:
                    case "approval":
                        await session.decline(waits.id, f"no {SHAPED} {VALUE}")
                    case "question":
                        await session.answer(waits.id, f"yes {SHAPED} {VALUE}")
                    case _:
                        await session.answer_plan(waits.id, False, f"not {SHAPED} {VALUE}")
                result = await session.wait(result.run_id)
            assert not result.pending
            places.look("result", repr(result))
            await session.steer(f"and {SHAPED} {VALUE}")
            failed = await session.send(f"again {SHAPED}")
            places.look("error", repr(failed.error))
            for thread in await harness.store.threads(hidden=True):
                for event in await harness.store.events(thread.id):
                    places.look(f"event {event.type}", encode_event(event))
                replayed = await replay_thread(harness.store, thread.id)
                assert replayed.equal, replayed.divergence
            events = await harness.store.events(session.thread_id)
            called = {event.tool for event in events if event.type == "tool_start"}
            assert called >= {*BUILTIN_TOOLS}
            places.look("display", repr(session.display))
            for name, text in places.heard.items():
                places.look(f"live {name}", text)
        for request in server.requests:
            places.look("request", request.body)


def exported(tmp_path: Path, places: Places) -> None:
    home = tmp_path / "home"
    for path in home.rglob("*"):
        if path.is_file() and "checkpoints" not in path.parts:  # the user's files, to put back
            places.look("store" if "db" in path.name else "artefact", path.read_bytes())
    bridle = Bridle(tmp_path / "project", tmp_path, env={"BRIDLE_HOME": str(home)})
    run = next(r["run_id"] for r in bridle("runs", "--json").json if r["task"].startswith("use"))
    bundle = tmp_path / "bundle.zip"
    for command in (
        ("runs",), ("events", run), ("events", run, "--json"), ("evidence", run),
        ("evidence", run, "--format", "json"), ("evidence", run, "--format", "html"),
        ("evidence", run, "--bundle", str(bundle)), ("graph", run), ("graph", run, "--json"),
        ("graph", run, "--format", "mermaid"), ("graph", run, "--format", "dot"),
        ("graph", run, "--format", "svg"), ("replay", run), ("replay", run, "--json"),
        ("threads",), ("cost", run), ("approvals",),
    ):  # fmt: skip
        done = bridle(*command)
        assert done.code in (0, 1), (command, done.err)
        assert done.out or command[0] == "approvals", command
        words = " ".join(word for word in command if word != run)
        places.look(f"export {words}", done.out + done.err)
    followed(bridle, run, places)
    with zipfile.ZipFile(bundle) as opened:
        for name in opened.namelist():
            places.look("export bundle", opened.read(name))


def followed(bridle: Bridle, run: str, places: Places) -> None:
    """What `tail` prints of everything so far, and `why` of one event of each kind."""
    events = bridle("events", run, "--json").lines
    for words in (("tail", "--from-start"), ("tail", "--from-start", "--json")):
        tail = bridle.start(*words, stdout=subprocess.PIPE)
        try:
            assert tail.stdout is not None
            lines = [tail.stdout.readline() for _ in events]
        finally:
            tail.terminate()
            tail.communicate()
        places.look(f"export {' '.join(words)}", b"".join(lines))
    for event in {event["type"]: event for event in events}.values():
        done = bridle("why", event["id"])
        assert done.code == 0, done.err
        places.look("export why", done.out + done.err)


def watch_logging(places: Places, caplog: pytest.LogCaptureFixture) -> None:
    for record in caplog.records:
        places.look("logging", logging.Formatter().format(record))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BRIDLE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("wire", WIRES)
async def test_no_canary_appears_anywhere(
    tmp_path: Path, wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    places = Places()
    await everything(tmp_path, wire, places, secrets={"TWO": VALUE}, redact=())
    watch_logging(places, caplog)
    if wire == "chat":
        exported(tmp_path, places)
    assert len(places.seen) > 30
    assert {where: n for where, n in places.seen.items() if n} == {}


@pytest.mark.usefixtures("home")
async def test_without_redaction_the_same_finds_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = Places()
    await everything(tmp_path, "chat", places, secrets=None, redact=None)
    watch_logging(places, caplog)
    exported(tmp_path, places)
    blind = {where for where, n in places.seen.items() if not n}
    found = {where for where, n in places.seen.items() if n}
    assert {
        "request", "store", "artefact", "logging", "error", "pending", "result", "display",
        "live shell_output", "live tool_update", "live message_update", "event tool_end",
        "event tool_start", "event input_admitted", "event message_end", "event ask_question",
        "event plan_approval_required", "event tool_approval_required", "event task_updated",
        "event state_changed", "event settings_changed", "event thread_renamed", "event error",
        "event subagent_start", "export events --json", "export evidence --format json",
        "export evidence --format html", "export bundle", "export tail --from-start",
        "export tail --from-start --json", "export why",
    } <= found, blind  # fmt: skip


async def test_a_defect_of_ours_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    """What breaks the loop itself is recorded and logged without the words that it came with."""

    class Broken:
        id, context_window, price = "m/m", None, None

        async def stream(self, request: Any) -> Any:
            raise RuntimeError(f"lost {SHAPED} {VALUE}")
            yield

    for secrets, redact, found in (({"TWO": VALUE}, (), 0), (None, None, 1)):
        places = Places()
        caplog.clear()
        async with Harness(
            store="memory:",
            agent=Agent("x"),
            resolve_model=lambda _id: Broken(),
            secrets=secrets,
            redact=redact,
        ) as harness:
            session = await harness.session()
            result = await session.send("go")
            places.look("error", repr(result.error))
            for event in await harness.store.events(session.thread_id):
                places.look("events", encode_event(event))
        watch_logging(places, caplog)
        assert result.error is not None
        assert {where: bool(n) for where, n in places.seen.items()} == {
            "error": bool(found), "events": bool(found), "logging": bool(found),
        }  # fmt: skip
