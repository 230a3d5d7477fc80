"""Processor time of this process, its children, and everything that the keeper ran for it."""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from bridle.sandbox.spawn import KEEPER

TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Cost:
    cpu: float
    wall: float

    def __str__(self) -> str:
        return f"{self.cpu * 1e3:8.1f} ms CPU {self.wall * 1e3:8.1f} ms wall"


class Meter:
    """Time since it was made, per run; processor time to a clock tick divided by the runs."""

    def __init__(self) -> None:
        self.cpu, self.wall = _cpu(), time.perf_counter()

    def per(self, runs: int) -> Cost:
        return Cost((_cpu() - self.cpu) / runs, (time.perf_counter() - self.wall) / runs)


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = time.process_time() + children.ru_utime + children.ru_stime
    try:
        fields = Path(f"/proc/{KEEPER.pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return own
    return own + sum(map(int, fields[11:15])) / TICK
