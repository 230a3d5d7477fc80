"""What a sandbox costs per command, beside plain `sh` in the same run.

python benchmarks/sandbox.py [RUNS]
"""

import os
import subprocess
import sys
import tempfile

import anyio
from measure import Cost, Meter

from bridle.errors import ConfigError
from bridle.ports.sandbox import Sandbox
from bridle.sandbox import tree
from bridle.sandbox.bubblewrap import Bubblewrap
from bridle.sandbox.kinds import make_sandbox
from bridle.sandbox.policy import default_policy
from bridle.sandbox.spawn import KEEPER
from bridle.sandbox.supervisor import Supervisor

COMMAND = ["sh", "-c", "true"]


async def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = os.path.join(base, "workspace")
        os.mkdir(root)
        subprocess.run(["git", "init", "-q", root], check=True)
        floor = await measure(runs, None, root, plain=True)
        report("plain sh (subprocess)", floor, floor)
        meter = Meter()
        await Supervisor().run(COMMAND, sandbox=None, cwd=root)
        report("first command: starts the keeper", meter.per(1), floor)
        temp = os.path.join(base, "temp")
        os.mkdir(temp)
        policy = default_policy(root, temp=temp)
        report("supervised, no sandbox", await measure(runs, None, root), floor)
        for kind in ("none", "bubblewrap", "landlock", "seatbelt"):
            try:
                sandbox = make_sandbox(kind, policy)
            except ConfigError as error:
                print(f"{kind}: {error}")
                continue
            if isinstance(sandbox, Bubblewrap):
                report("plain bwrap, same arguments", bare_bubblewrap(runs, sandbox, root), floor)
            report(f"supervised, {kind}", await measure(runs, sandbox, root), floor)


async def measure(runs: int, sandbox: Sandbox | None, root: str, *, plain: bool = False) -> Cost:
    supervisor = Supervisor()
    meter = Meter()
    for _ in range(runs):
        if plain:
            subprocess.run(COMMAND, cwd=root, check=True, capture_output=True)
        else:
            await supervisor.run(COMMAND, sandbox=sandbox, cwd=root)
    return meter.per(runs)


def bare_bubblewrap(runs: int, sandbox: Bubblewrap, root: str) -> Cost:
    """Bubblewrap alone; its inner process outlives it, so this process reaps that too."""
    tree.adopt_orphans()
    launch = sandbox.launch(COMMAND, cwd=root)
    for path in launch.shadows:
        os.makedirs(path, exist_ok=True)
    meter = Meter()
    for _ in range(runs):
        subprocess.run(launch.argv, env=launch.env, check=True, capture_output=True)
        while tree.descendants(frozenset({KEEPER.pid})):
            os.waitpid(-1, 0)
    cost = meter.per(runs)
    for path in launch.shadows:
        os.rmdir(path)
    return cost


def report(name: str, cost: Cost, floor: Cost) -> None:
    over = (cost.cpu - floor.cpu) * 1e3
    print(f"{name:36} {cost}  {over:+7.1f} ms CPU over sh  {cost.cpu / floor.cpu:5.1f} ×")


anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 100)
