"""A shell that stays dies with a killed process, and the run that goes on is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = '''
import json, re, sys
from pathlib import Path
import anyio
from bridle import Agent, Harness, Rules, Workspace
from bridle.runs.replay.driver import replay_thread
from bridle.testing import ScriptedModel, calls, says

HERE = Path(sys.argv[1])
FIRST = sys.argv[2] == "first"
BEAT = "(while :; do date +%s%N > beat; sleep 0.05; done) & echo up"

class ByStep:
    """Goes on by what was answered, in whichever process."""
    id, price, context_window = "test/by-step", None, None
    def stream(self, request):
        told = [p.text for m in request.messages if m.role == "tool" for p in m.parts]
        found = re.search(r"sh_\\w+", "".join(told))
        item = [
            lambda: calls("bash_session", action="start", command=BEAT),
            lambda: calls("bash_session", action="send", session=found[0], command="sleep 60"),
            lambda: calls("bash_session", action="send", session=found[0], command="touch again"),
            lambda: says("done"),
        ][len(told)]()
        return ScriptedModel([item]).stream(request)

async def main():
    harness = Harness(
        id="h", store=f"sqlite:///{HERE}/store.db", agent=Agent("x"),
        workspace=Workspace(HERE / "work"), permissions=Rules(profile="yolo"),
        model="test/by-step", resolve_model=lambda _id: ByStep(),
    )
    async with harness:
        session = await harness.session()
        if FIRST:
            await session.send("go")
            return
        run_id = await session.open_run()
        await session.resume()
        result = await session.wait(run_id)
        events = await session.run_events(run_id)
        replayed = await replay_thread(harness.store, session.thread_id)
        ends = [e for e in events if e.type == "tool_end"]
        print(json.dumps({
            "text": result.text, "kinds": [e.kind for e in ends],
            "last": ends[-1].result, "equal": replayed.equal,
        }))

anyio.run(main)
'''


def test_a_session_is_gone_after_a_kill_and_never_started_again(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    argv = [sys.executable, str(program), str(tmp_path)]
    env = {**os.environ, "BRIDLE_HOME": str(tmp_path / "b")}
    first = subprocess.Popen([*argv, "first"], stderr=subprocess.PIPE, env=env)
    beat = work / "beat"
    end = time.monotonic() + 60
    while len(_requests(tmp_path)) < 2 or not beat.exists():
        assert time.monotonic() < end
        assert first.poll() is None, first.communicate()[1].decode()
        time.sleep(0.05)
    assert _changes(beat), "it beats before the kill"
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    while _changes(beat):
        assert time.monotonic() < end, "it beats on after the kill"
    second = subprocess.run([*argv, "second"], capture_output=True, text=True, timeout=60, env=env)
    assert second.returncode == 0, second.stderr
    found = json.loads(second.stdout)
    assert found["kinds"] == [None, "ambiguous", "gone"]
    assert "was not started again" in found["last"]
    assert found["text"] == "done"
    assert found["equal"]
    assert not (work / "again").exists()


def _requests(place: Path) -> list[str]:
    """The calls that are in the log by now."""
    import sqlite3

    try:
        with sqlite3.connect(f"file:{place}/store.db?mode=ro", uri=True) as db:
            return [row[0] for row in db.execute("select seq from events where type='tool_start'")]
    except sqlite3.Error:
        return []


def _changes(path: Path) -> bool:
    before = path.read_text()
    time.sleep(0.6)
    return path.read_text() != before
