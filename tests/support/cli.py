"""The installed `bridle` executable, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXECUTABLE = Path(sys.executable).parent / "bridle"
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")


@dataclass
class Finished:
    """What a command printed and how it exited."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class Bridle:
    """Runs the executable in a project with a home of its own."""

    cwd: Path
    home: Path
    env: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {**kept, "HOME": str(self.home), "BRIDLE_HOME": str(self.home / "b"), **self.env}

    def __call__(self, *arguments: str, stdin: str = "", timeout: float = 60) -> Finished:
        done = subprocess.run(
            [str(EXECUTABLE), *arguments],
            cwd=self.cwd,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Begin a command that the test will kill."""
        return subprocess.Popen(
            [str(EXECUTABLE), *arguments],
            cwd=self.cwd,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )
