"""`kill -9` while agents speak to one another: every message is heard once, in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent
KILLS = 8
HEARD = ["m0,m1,m2,m3,m4"] * 2
ENVIRON = {"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"}


def test_killed_anywhere_agents_go_on_and_hear_every_message_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(TESTS / "delegation" / "killed.py"), str(tmp_path), str(KILLS)],
        env=ENVIRON,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    whole, *outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == KILLS, done.stderr
    for found in (whole, *outcomes):
        assert "error" not in found, found["error"]
        assert (found["reason"], found["text"]) == ("end_turn", "end"), found
        assert found["results"] == ["forked", *HEARD], found
        assert found["ends"] == [1, 1, 1, 1], found
        assert found["equal"] == [], found
        assert found["keys"] == 2, found
    assert all(found["killed"] for found in outcomes)
    partly = [found for found in outcomes if 0 < found["delivered"] < 2 * len(HEARD[0].split(","))]
    assert partly, "some were killed between two messages"


WAITING = '''
import json, sys
from pathlib import Path
import anyio
from bridle import Agent, Harness, Rules, Subagent, tool
from bridle.testing import calls, says
sys.path.insert(0, sys.argv[3])
from delegation.conftest import Cast

HERE = Path(sys.argv[1])

@tool(category="read", read_only=True)
async def hang() -> str:
    """Never come back."""
    (HERE / "hangs").touch()
    await anyio.sleep_forever()
    return ""

async def main():
    model = Cast(
        main=[calls("fork_agent", task="t", agent_type="kid", name="kid"),
              calls("wait_for_agent", timeout=float(sys.argv[2])), says("gave up")],
        kid=[calls("hang")],
    )
    async with Harness(
        id="h", store=f"sqlite:///{HERE}/store.db", agent=Agent("main"), model="test/cast",
        subagents=[Subagent("kid", instructions="kid", tools=[hang])],
        permissions=Rules(profile="yolo"), resolve_model=lambda _id: model,
    ) as harness:
        session = await harness.session()
        run_id = await session.open_run()
        if run_id is None:
            await session.send("go")
            return
        await session.resume()
        result = await session.wait(run_id)
        events = await session.run_events(run_id)
        kinds = [e.kind for e in events if e.type == "tool_end"]
        print(json.dumps({"text": result.text, "kinds": kinds}))

anyio.run(main)
'''


def test_a_wait_ends_in_time_though_its_process_was_killed(tmp_path: Path) -> None:
    """The deadline is in the log: the next process does not wait as long again."""
    program = tmp_path / "program.py"
    program.write_text(WAITING)
    argv = [sys.executable, str(program), str(tmp_path), "8", str(TESTS)]
    first = subprocess.Popen(argv, stderr=subprocess.PIPE)
    end = time.monotonic() + 30
    while not (tmp_path / "hangs").exists():
        assert time.monotonic() < end
        assert first.poll() is None, first.communicate()[1].decode()
        time.sleep(0.02)
    time.sleep(0.5)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    second = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout) == {"text": "gave up", "kinds": [None, "timeout"]}
