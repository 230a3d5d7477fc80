"""Kill a run of thirty steps at a chosen point, resume it in another process, and look.

Every run is a fork of one process that has imported everything, so a thousand of them take
minutes. The killed process kills itself with SIGKILL, or is killed from outside at a random
moment; the next one opens the same file and goes on.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio

from bridle import Agent, Harness, Rules, RunResult, ToolContext, tool
from bridle.app.session import Session
from bridle.ports.clock import SystemClock
from bridle.runs.replay.driver import replay_thread
from bridle.store.sqlite.lane import Lane
from bridle.store.sqlite.opening import Database
from bridle.store.sqlite.store import SqliteStore
from bridle.testing import calls, says
from support.kernel import ByStep, check_history, check_log

STEPS = 30
BATCHES = (10, 20)
"""Steps with three calls instead of one."""

EFFECTS = ("safe", "keyed", "once")
WHENS = ("before", "event", "after", "acted")


@dataclass(frozen=True)
class Kill:
    """Die at the n-th commit (before or after it), event (inside its transaction) or act."""

    when: str
    at: int


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


class Traced(Database):
    """A database that tells of every event while its transaction is open."""

    def __init__(self, path: Path, told: Callable[[], None]) -> None:
        super().__init__(path, SystemClock())
        self._told = told

    def connect(self) -> sqlite3.Connection:
        db = super().connect()

        def trace(statement: str) -> None:
            if statement.startswith("insert into events"):
                self._told()

        db.set_trace_callback(trace)
        return db


class Killing(SqliteStore):
    """A store that kills its process."""

    def __init__(self, path: Path, kill: Kill | None) -> None:
        super().__init__(path, clock=SystemClock())
        traced = Traced(path, lambda: self.hit("event"))
        self._writer = Lane(traced, name="killing-writer", transactional=True)
        self._kill = kill
        self.counts: Counter[str] = Counter()

    def hit(self, when: str) -> None:
        self.counts[when] += 1
        if self._kill is not None and self._kill == Kill(when, self.counts[when]):
            die()

    async def commit(self, batch: Any) -> Any:
        self.hit("before")
        written = await super().commit(batch)
        self.hit("after")
        return written


def script(request: Any) -> Any:
    step = request.step
    if step > STEPS:
        return says("all done")
    if step in BATCHES:
        return [calls("work", n=step * 10 + part) for part in range(3)]
    return calls("work", n=step * 10)


EXPECTED = [
    step * 10 + part
    for step in range(1, STEPS + 1)
    for part in (range(3) if step in BATCHES else range(1))
]


def make_tool(directory: Path, effect: str, acted: Callable[[], None]) -> Any:
    @tool(category="execute", effect=effect, concurrency_safe=effect == "safe")  # type: ignore[call-overload]
    async def work(n: int, ctx: ToolContext[Any]) -> str:
        """Do a piece of work."""
        # One atomic act: a file of its own, which the same key finds made already.
        name = ctx.key if effect == "keyed" else secrets.token_hex(8)
        (directory / f"effect-{n}-{name}").touch()
        acted()
        return f"did {n}"

    return work


async def carry_on(session: Session, store: Killing) -> RunResult[Any]:
    """Begin the run of a thread, or go on with it where another process was killed."""
    run_id = await session.open_run()
    runs = await store.runs(thread_id=session.thread_id)
    if run_id is None and not runs:
        run = session.start("go")
        await run.begin()
        run_id = run.id
    elif run_id is None:
        run_id = runs[0].run_id
    else:
        await session.resume()
    with anyio.fail_after(60):
        return await session.wait(run_id)


async def work(directory: Path, effect: str, kill: Kill | None, out: Path) -> None:
    """One process: begin the run or go on with it, and write down what came of it."""
    store = Killing(directory / "store.db", kill)
    harness = Harness(
        id="t",
        store=store,
        agent=Agent("work", tools=[make_tool(directory, effect, lambda: store.hit("acted"))]),
        permissions=Rules(profile="yolo"),
        model="scripted/queue",
        resolve_model=lambda _id: ByStep(script),
    )
    async with harness:
        session = await harness.session()
        result = await carry_on(session, store)
        events = await store.events(session.thread_id)
        check_log(events)
        check_history(await session.threads.messages())
        ends = [e for e in events if e.type == "tool_end"]
        replayed = await replay_thread(store, session.thread_id)
        found = {
            "reason": result.reason,
            "text": result.text,
            "results": sorted(e.result for e in ends if not e.is_error),
            "ambiguous": sum(e.ambiguous for e in ends),
            "errors": sum(e.is_error for e in ends),
            "equal": replayed.equal,
            "counts": store.counts,
        }
    await store.close()
    out.write_text(json.dumps(found))


def fork(directory: Path, effect: str, kill: Kill | None, out: Path) -> int:
    """Run `work` in a process of its own; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        anyio.run(work, directory, effect, kill, out)
        code = 0
    except BaseException:
        (directory / "error").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def records(path: Path) -> list[Any]:
    """The log as it is on the disk, with what SQLite recovers of it."""
    if not path.exists():
        return []
    db = sqlite3.connect(path)
    try:
        return db.execute("select hash, body from events order by thread_id, seq").fetchall()
    except sqlite3.OperationalError:
        return []  # killed before its tables were made
    finally:
        db.close()


@dataclass
class Outcome:
    """What one kill and its resume came to; `wrong` is empty when everything holds."""

    effect: str
    kill: str
    ambiguous: int = 0
    committed: int = 0
    wrong: list[str] = field(default_factory=list)


def survive(effect: str, kill: Kill | float, home: Path) -> Outcome:
    """Kill a run once, resume it, and compare with what must hold."""
    directory = Path(tempfile.mkdtemp(dir=home))
    out = directory / "found.json"
    outcome = Outcome(effect, str(kill))
    try:
        pid = fork(directory, effect, kill if isinstance(kill, Kill) else None, out)
        if isinstance(kill, float):
            time.sleep(kill)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        before = records(directory / "store.db")
        outcome.committed = len(before)
        if os.waitstatus_to_exitcode(status) not in (-signal.SIGKILL, 0):
            outcome.wrong.append(f"the first process failed: {_error(directory)}")
            return outcome
        pid = fork(directory, effect, None, out)
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            outcome.wrong.append(f"the second process failed: {_error(directory)}")
            return outcome
        after = records(directory / "store.db")
        if after[: len(before)] != before:
            outcome.wrong.append("a committed event was lost or changed")
        judge(outcome, json.loads(out.read_text()), directory)
        return outcome
    finally:
        if not outcome.wrong:
            shutil.rmtree(directory, ignore_errors=True)


def judge(outcome: Outcome, found: dict[str, Any], directory: Path) -> None:
    wrong = outcome.wrong
    effects = Counter(int(path.name.split("-")[1]) for path in directory.glob("effect-*"))
    outcome.ambiguous = found["ambiguous"]
    if (found["reason"], found["text"]) != ("end_turn", "all done"):
        wrong.append(f"it ended {found['reason']}: {found['text']}")
    if not found["equal"]:
        wrong.append("its replay differs")
    if outcome.effect == "once":
        if any(count > 1 for count in effects.values()):
            wrong.append("an effect was repeated")
        if found["ambiguous"] > 1 or found["errors"] != found["ambiguous"]:
            wrong.append(f"{found['ambiguous']} ambiguous of {found['errors']} failed calls")
        if len(found["results"]) + found["ambiguous"] != len(EXPECTED):
            wrong.append("a call has no result")
        if set(EXPECTED) - set(effects) and not found["ambiguous"]:
            wrong.append("an effect is missing and nobody was told")
    else:
        if found["errors"] or found["results"] != sorted(f"did {n}" for n in EXPECTED):
            wrong.append("the outcome is not the same")
        if set(effects) != set(EXPECTED):
            wrong.append("an effect is missing")
        if outcome.effect == "keyed" and any(count > 1 for count in effects.values()):
            wrong.append("a keyed effect was repeated")


def _error(directory: Path) -> str:
    path = directory / "error"
    return path.read_text() if path.exists() else "no word"


def points(home: Path) -> list[Kill]:
    """Every point at which a whole run can be killed."""
    directory = Path(tempfile.mkdtemp(dir=home))
    out = directory / "found.json"
    _, status = os.waitpid(fork(directory, "once", None, out), 0)
    assert status == 0, _error(directory)
    counts = json.loads(out.read_text())["counts"]
    shutil.rmtree(directory)
    return [Kill(when, at) for when in WHENS for at in range(1, counts[when] + 1)]


def naive(directory: Path, kill_at: int | None) -> None:
    """The control: a loop that acts and then records, and goes on from its record."""
    log, effects = directory / "log.json", directory / "effects"
    done = json.loads(log.read_text()) if log.exists() else []
    for number, n in enumerate(EXPECTED[len(done) :], start=1):
        with effects.open("a") as file:
            file.write(f"{n}\n")
        if number == kill_at:
            die()
        done.append(n)
        log.write_text(json.dumps(done))


def naive_repeats(home: Path, kills: int) -> int:
    """How many effects the naive loop repeats when it is killed at so many points."""
    repeated = 0
    for at in range(1, kills + 1):
        directory = Path(tempfile.mkdtemp(dir=home))
        for kill_at in (at, None):
            pid = os.fork()
            if not pid:
                naive(directory, kill_at)
                os._exit(0)
            os.waitpid(pid, 0)
        counts = Counter((directory / "effects").read_text().split())
        repeated += sum(count > 1 for count in counts.values())
        shutil.rmtree(directory)
    return repeated


def matrix(home: Path, *, sample: int | None, seed: int = 1) -> Iterator[Outcome]:
    """Kill at every point with every kind of tool, or at a sample of them."""
    every = [(effect, kill) for effect in EFFECTS for kill in points(home)]
    if sample is not None and sample < len(every):
        every = random.Random(seed).sample(every, sample)
    for effect, kill in every:
        yield survive(effect, kill, home)


def at_random(home: Path, count: int, seed: int = 1) -> Iterator[Outcome]:
    """Kill from outside at a random moment of the run."""
    began = time.monotonic()
    directory = Path(tempfile.mkdtemp(dir=home))
    os.waitpid(fork(directory, "once", None, directory / "found.json"), 0)
    whole = time.monotonic() - began
    chance = random.Random(seed)
    for number in range(count):
        yield survive(EFFECTS[number % 3], chance.uniform(0, whole), home)


def main(argv: list[str]) -> int:
    """`crash.py HOME matrix [SAMPLE]`, `crash.py HOME random COUNT`: one JSON line per kill."""
    home, kind, *rest = argv
    if kind == "naive":
        print(json.dumps({"repeated": naive_repeats(Path(home), int(rest[0]))}), flush=True)
        return 0
    if kind == "matrix":
        outcomes = matrix(Path(home), sample=int(rest[0]) if rest else None)
    else:
        outcomes = at_random(Path(home), int(rest[0]))
    failed = 0
    for outcome in outcomes:
        failed += bool(outcome.wrong)
        print(json.dumps(asdict(outcome)), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
