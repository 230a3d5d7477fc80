"""What a file snapshot costs at 20,000 files, beside plain git on the same tree.

python benchmarks/snapshot.py [FILES]
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
from measure import Cost, Meter

from bridle.sandbox.checkpoints import Checkpoints
from bridle.sandbox.supervisor import Supervisor


def make(root: Path, count: int) -> list[Path]:
    random.seed(1)
    paths = []
    for number in range(count):
        path = root / f"src/m{number % 40}/p{number % 400}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {random.random()}\n" * random.randint(10, 150))
        paths.append(path)
    return paths


def git(root: Path, *arguments: str, index: str | None = None) -> None:
    env = {**os.environ, **({"GIT_INDEX_FILE": index} if index else {})}
    subprocess.run(["git", *arguments], cwd=root, check=True, stdout=subprocess.DEVNULL, env=env)


async def main(count: int) -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as base:
        root = Path(base) / "repo"
        root.mkdir()
        paths = make(root, count)
        git(root, "init", "-q")
        meter = Meter()
        git(root, "add", ".")
        report("plain git: first `git add` (cold)", meter.per(1))
        identity = ("-c", "user.name=b", "-c", "user.email=b@example.com", "-c", "gc.auto=0")
        git(root, *identity, "commit", "-q", "-m", "x")
        time.sleep(1.1)
        git(root, "status")
        meter = Meter()
        for _ in range(10):
            git(root, "status", "--porcelain")
        floor = meter.per(10)
        report("plain git: `git status`", floor)
        copy = f"{base}/index"
        meter = Meter()
        for _ in range(10):
            subprocess.run(["cp", "-p", root / ".git/index", copy], check=True)
            git(root, "add", "-A", index=copy)
            git(root, "write-tree", index=copy)
        report("plain git: copy index, add -A, write-tree", meter.per(10), floor)
        await Supervisor().run(["true"], sandbox=None, cwd="/")
        meter = Meter()
        points = Checkpoints(str(root), state=f"{base}/state", processes=Supervisor())
        await points.snapshot()
        report("snapshot: first (seeded from the index)", meter.per(1), floor)
        meter = Meter()
        for _ in range(10):
            await points.snapshot()
        report("snapshot: nothing changed", meter.per(10), floor)
        for changed in (1, 100):
            meter = Meter()
            for number in range(10):
                for path in paths[:changed]:
                    path.write_text(f"round {number}\n")
                await points.snapshot()
            report(f"snapshot: {changed} changed", meter.per(10), floor)
        before = await points.snapshot()
        for path in paths[:100]:
            path.unlink()
        after = await points.snapshot()
        meter = Meter()
        await points.restore(after, before)
        report("restore: 100 files", meter.per(1), floor)
        meter = Meter()
        for number in range(50):
            await points.save_paths([f"src/m1/p1/f{number}.py"])
        report("save_paths: one file", meter.per(50), floor)
        os.rename(root / ".git", f"{base}/gone")
        meter = Meter()
        other = Checkpoints(str(root), state=f"{base}/state2", processes=Supervisor())
        await other.snapshot()
        report("snapshot: first, outside a repository (cold)", meter.per(1), floor)


def report(name: str, cost: Cost, floor: Cost | None = None) -> None:
    ratio = f"{cost.cpu / floor.cpu:6.2f} × git status" if floor else ""
    print(f"{name:48} {cost} {ratio}")


anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 20000)
