"""What the tests of this directory share: a shell in a sandbox, and who is still alive."""

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.ports.processes import ProcessResult
from bridle.ports.sandbox import Sandbox
from bridle.sandbox.supervisor import Supervisor


@dataclass
class Shell:
    """Runs shell commands in one sandbox."""

    supervisor: Supervisor
    sandbox: Sandbox | None
    cwd: str

    async def __call__(self, command: str, **options: Any) -> ProcessResult:
        options.setdefault("timeout", 30)
        return await self.supervisor.run(
            ["bash", "-c", command], sandbox=self.sandbox, cwd=self.cwd, **options
        )


def survivors(word: str) -> list[str]:
    """Processes whose command line or environment carries the word, other than zombies."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            if "\nState:\tZ" in Path(f"/proc/{name}/status").read_text():
                continue
            line = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        environ = b""
        with contextlib.suppress(OSError):
            environ = Path(f"/proc/{name}/environ").read_bytes()
        if word.encode() in line or word.encode() in environ:
            found.append(f"{name}: {line!r}")
    return found


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments],
        cwd=root, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout
