"""A child thread finishes after its parent's process was killed and another one took over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = '''
import json, os, sys, time
from pathlib import Path
import anyio
from bridle import Agent, Harness, Rules, Subagent, parse_subagent_meta, tool
from bridle.runs.replay.driver import replay_thread
from bridle.testing import ScriptedModel, calls, says

HERE = Path(sys.argv[1])
FIRST = sys.argv[2] == "first"

@tool(effect="keyed", category="execute")
async def slow(name: str) -> str:
    """Work for a while, once per key."""
    (HERE / f"began-{name}").touch()
    if FIRST:
        await anyio.sleep(60)
    return f"{name} is done"

class ByRole:
    """Answers for parent and child alike, by what the request holds."""
    id, price, context_window = "test/by-role", None, None
    def stream(self, request):
        child = request.system == "child"
        done = any(m.role == "tool" for m in request.messages)
        if child:
            item = says("the child says hello") if done else calls("slow", name="x")
        else:
            ask = calls("subagent", agent_type="kid", task="work")
            item = says("parent got it") if done else ask
        return ScriptedModel([item]).stream(request)

async def main():
    harness = Harness(
        id="h", store=f"sqlite:///{HERE}/store.db", agent=Agent("parent", tools=[slow]),
        subagents=[Subagent("kid", instructions="child", allowed_tools=["slow"])],
        permissions=Rules(tools={"slow": "allow"}), model="test/by-role",
        resolve_model=lambda _id: ByRole(),
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
        ends = [e for e in events if e.type in ("subagent_end", "tool_end")]
        print(json.dumps({
            "reason": result.reason, "text": result.text, "steps": result.steps,
            "results": [parse_subagent_meta(e.result)[0] for e in ends],
            "errors": [e.is_error for e in ends],
            "ends": sum(e.type == "agent_end" for e in events),
            "equal": replayed.equal, "children": len(replayed.children),
        }))

anyio.run(main)
'''


def test_a_child_goes_on_in_another_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    argv = [sys.executable, str(program), str(tmp_path)]
    first = subprocess.Popen([*argv, "first"], stderr=subprocess.PIPE)
    end = time.monotonic() + 20
    while not (tmp_path / "began-x").exists():
        assert time.monotonic() < end
        assert first.poll() is None, first.communicate()[1].decode()
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    (tmp_path / "began-x").unlink()
    second = subprocess.run([*argv, "second"], capture_output=True, text=True, timeout=60)
    assert second.returncode == 0, second.stderr
    found = json.loads(second.stdout)
    assert found["reason"] == "end_turn"
    assert found["text"] == "parent got it"
    assert found["results"] == ["the child says hello", "the child says hello"]
    assert found["errors"] == [False, False]
    assert found["ends"] == 1
    assert found["equal"]
    assert found["children"] == 1
    assert (tmp_path / "began-x").exists(), "a keyed call runs again with its key"
