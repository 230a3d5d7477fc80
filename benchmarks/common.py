"""What the benchmarks share: costs of processes, a loopback model server, tables of ratios.

CPU is user + system time of all threads (`cpu`) or of a whole tree of processes (`command`). Every
figure is the smallest of several runs: other work on the machine only ever adds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
BRIDLE = str(Path(sys.executable).parent / "bridle")
SERVER = ROOT / "tests" / "support" / "wire_server.py"
LAUNCH = Path(__file__).resolve().parent / "launch.py"

cpu = time.process_time
"""CPU seconds of this process, all threads, user + system."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command used, in milliseconds and megabytes."""

    cpu: float
    wall: float
    rss: float


def command(
    *argv: str, env: Mapping[str, str] | None = None, cwd: Path | str | None = None
) -> Cost:
    """Run a command to its end and tell what its whole tree used; it must succeed."""
    given = dict(os.environ if env is None else env)
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # the first run caches the bytecode, as installed
    told = subprocess.run(
        [PYTHON, "-I", "-S", str(LAUNCH), *argv],
        env=given,
        cwd=cwd,
        stdout=subprocess.PIPE,
        check=True,
    )
    cost = json.loads(told.stdout)
    if cost["code"] != 0:
        raise SystemExit(f"{' '.join(argv)} failed with exit code {cost['code']}")
    return Cost(cost["cpu"] * 1000, cost["wall"] * 1000, cost["rss"] / 1e6)


def best(measure: Callable[[], Cost], times: int) -> Cost:
    """The smallest of each figure over several runs."""
    costs = [measure() for _ in range(times)]
    return Cost(min(c.cpu for c in costs), min(c.wall for c in costs), min(c.rss for c in costs))


class Server:
    """A scripted model server in a process of its own; its CPU is not counted."""

    def __init__(self, script: Sequence[Any], directory: Path, *, log: bool = False) -> None:
        file = directory / "script.json"
        file.write_text(json.dumps(list(script)))
        self._log = directory / "requests.jsonl"
        more = ["--log", str(self._log)] if log else []
        self._process = subprocess.Popen(
            [PYTHON, str(SERVER), "--script", str(file), *more], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def take_sizes(self) -> list[int]:
        """The sizes of the request bodies since this was asked last."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return [int(json.loads(line)["headers"]["content-length"]) for line in lines]

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextmanager
def serving(script: Sequence[Any], *, log: bool = False) -> Iterator[Server]:
    """Serve a script while the block lasts."""
    with tempfile.TemporaryDirectory() as directory:
        server = Server(script, Path(directory), log=log)
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory for a store; on a disk, because a sync in memory costs nothing."""
    with tempfile.TemporaryDirectory(prefix="bridle-bench-", dir=os.environ.get("TMPDIR")) as name:
        yield Path(name)


def verdict(value: float, target: float, *, at_least: bool = False) -> str:
    """Met, or by how much not."""
    if (value >= target) if at_least else (value <= target):
        return "met"
    return f"missed by {abs(value / target - 1):.0%}"


def number(value: float) -> str:
    """A figure with as many digits as it is worth."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def table(title: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in Markdown, columns aligned."""
    cells = [
        [number(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    print(f"\n{title}\n")
    for row in (headers, ["-" * width for width in widths], *cells):
        line = " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(f"| {line} |")
