"""The headline task, from process start to exit: read a file, change it, run the test, answer.

Four model calls and three tool calls against a loopback server without latency. Ours is `bridle
run` with the durable log and commands in bubblewrap; the floor is the same in fifty lines of
standard library with neither. CPU is that of the whole tree: helpers, sandbox and the test. Peers
that are installed do the same with tools of their own (`peers.py`). `REPEAT=3` measures less often.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from common import BRIDLE, PYTHON, Cost, Server, best, command, scratch, serving, table, verdict
from peers import PEERS, Peer

REPEAT = int(os.environ.get("REPEAT", "15"))
TASK = "The test fails. Make it pass."
BROKEN = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
TEST = "from calc import add\nassert add(2, 3) == 5\nprint('1 passed')\n"
RUN_TEST = "python3 test_calc.py"
SCRIPT = [
    {"text": "I look first.", "calls": [{"tool": "read_file", "args": {"path": "calc.py"}}]},
    {"calls": [{"tool": "write_file", "args": {"path": "calc.py", "content": FIXED}}]},
    {"calls": [{"tool": "bash", "args": {"command": RUN_TEST}}]},
    {"text": "add subtracted its arguments; it adds them now and the test passes."},
]
TARGETS = (300.0, 500.0, 60.0, 35.0, 8.0)


def project(directory: Path) -> Path:
    """A project whose test fails."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    (directory / "calc.py").write_text(BROKEN)
    (directory / "test_calc.py").write_text(TEST)
    return directory


def measure(
    server: Server, argv: list[str], home: Path, *, env: Mapping[str, str] | None = None
) -> list[float]:
    """CPU ms, wall ms, RSS MB, kB sent, first request kB."""
    given = {
        "PATH": os.defpath,  # the system's python3 for the test: the sandbox shows it too
        "TMPDIR": str(home),
        "HOME": str(home),
        "BRIDLE_HOME": str(home / "b"),
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "k",
        **(env or {}),
    }
    sizes: list[int] = []

    def once() -> Cost:
        nonlocal sizes
        root = project(home / "project")
        cost = command(*argv, env=given, cwd=root)
        sizes = server.take_sizes()
        assert (root / "calc.py").read_text() == FIXED
        assert len(sizes) >= len(SCRIPT), sizes
        return cost

    once()  # the store exists, the bytecode is cached
    cost = best(once, REPEAT)
    return [cost.cpu, cost.wall, cost.rss, sum(sizes) / 1e3, sizes[0] / 1e3]


def main() -> None:
    with scratch() as home, serving(SCRIPT, log=True) as server:
        floor_argv = [PYTHON, str(Path(__file__).parent / "floor_agent.py")]
        floor = measure(server, [*floor_argv, str(server.port), TASK], home)
        run = [BRIDLE, "run", TASK, "--model", "openai/gpt-4o-mini", "--profile", "yolo"]
        ours = measure(server, [*run, "--sandbox", "bubblewrap"], home)
        bare = measure(server, [*run, "--sandbox", "none"], home)
    heads = ["", "CPU ms", "wall ms", "RSS MB", "kB sent", "first request kB"]
    rows: list[list[object]] = [
        ["bridle, bubblewrap, durable log", *ours],
        ["50 lines of stdlib", *floor],
        ["ratio", *(mine / theirs for mine, theirs in zip(ours, floor, strict=True))],
        ["target", *(f"≤ {target:g}" for target in TARGETS)],
        ["", *(verdict(mine, aim) for mine, aim in zip(ours, TARGETS, strict=True))],
        ["bridle, no sandbox", *bare],
    ]
    told = [peer_row(peer) for peer in PEERS]
    table(f"Headline task, least of {REPEAT}", heads, [*rows, *told])


def peer_row(peer: Peer) -> list[object]:
    """A peer's figures, or why it has none."""
    nothing: list[object] = [""] * 4
    if not peer.installed:
        return [peer.name, "not installed", *nothing]
    script = peer.script(FIXED, RUN_TEST)
    with scratch() as home, serving(script, log=True) as server:
        for name, text in peer.files(server.url).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        argv = list(peer.argv(server.url, TASK))
        program = shutil.which(argv[0]) or argv[0]
        try:
            env = {**peer.env(server.url), "PATH": os.environ["PATH"]}
            return [peer.name, *measure(server, [program, *argv[1:]], home, env=env)]
        except (AssertionError, SystemExit, OSError) as error:
            return [peer.name, f"did not do it: {str(error)[-40:]}", *nothing]


if __name__ == "__main__":
    main()
