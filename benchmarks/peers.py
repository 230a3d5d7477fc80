"""Other agents on the headline task, where they are installed: how each is pointed at the loopback.

Every peer has tools of its own, so each gets the same work as calls of its own tools. A peer that
does not do the work (another version, another name of a tool) is told as such and has no figures.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A program, how it is started, and the calls that do the task with its tools."""

    name: str
    module: str | None = None
    argv: Callable[[str, str], Sequence[str]]
    env: Callable[[str], Mapping[str, str]] = lambda _url: {}
    read: Callable[[], dict[str, Any]]
    write: Callable[[str], dict[str, Any]]
    run: Callable[[str], dict[str, Any]]
    files: Callable[[str], Mapping[str, str]] = field(default=lambda _url: {})
    """Configuration under the home directory."""

    @property
    def installed(self) -> bool:
        if self.module is not None:
            return importlib.util.find_spec(self.module) is not None
        return shutil.which(self.name) is not None

    def script(self, fixed: str, test: str) -> list[Any]:
        """What the model answers."""
        calls = (self.read(), self.write(fixed), self.run(test))
        return [*({"calls": [call]} for call in calls), {"text": "It adds now; the test passes."}]


def _call(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args}


def _shell(command: str) -> dict[str, Any]:
    return _call("shell", command=["bash", "-lc", command])


def _program(name: str) -> Callable[[str, str], Sequence[str]]:
    from common import PYTHON

    return lambda url, task: [PYTHON, str(HERE / name), url, task]


def _plain() -> dict[str, Any]:
    """Tools as our own are named: those of the minimal programs."""
    return {
        "read": lambda: _call("read_file", path="calc.py"),
        "write": lambda text: _call("write_file", path="calc.py", content=text),
        "run": lambda command: _call("bash", command=command),
    }


PEERS = (
    Peer(
        name="codex",
        argv=lambda _url, task: [
            "codex", "exec", "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox", task,
        ],
        files=lambda url: {
            ".codex/config.toml": 'model = "served"\nmodel_provider = "loop"\n'
            f'[model_providers.loop]\nname = "loop"\nbase_url = "{url}"\n'
            'env_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
        },
        read=lambda: _shell("cat calc.py"),
        write=lambda text: _shell(f"cat > calc.py <<'END'\n{text}END"),
        run=_shell,
    ),
    Peer(
        name="claude",
        argv=lambda _url, task: ["claude", "-p", task, "--dangerously-skip-permissions"],
        env=lambda url: {
            "ANTHROPIC_BASE_URL": url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "k",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        },
        read=lambda: _call("Read", file_path="calc.py"),
        write=lambda text: _call("Write", file_path="calc.py", content=text),
        run=lambda command: _call("Bash", command=command, description="run the test"),
    ),
    Peer(
        name="pi",
        argv=lambda _url, task: ["pi", "--provider", "loop", "--model", "served", "-p", task],
        files=lambda url: {
            ".pi/agent/models.json": '{"providers": {"loop": {"baseUrl": "' + url + '", '
            '"apiKey": "k", "api": "openai-completions", "models": [{"id": "served"}]}}}'
        },
        read=lambda: _call("read", path="calc.py"),
        write=lambda text: _call("write", path="calc.py", content=text),
        run=lambda command: _call("bash", command=command),
    ),
    Peer(
        name="gemini",
        argv=lambda _url, task: ["gemini", "--yolo", "-p", task],
        env=lambda url: {
            "GEMINI_API_KEY": "k",
            "GOOGLE_GEMINI_BASE_URL": url.removesuffix("/v1"),
        },
        read=lambda: _call("read_file", absolute_path="calc.py"),
        write=lambda text: _call("write_file", file_path="calc.py", content=text),
        run=lambda command: _call("run_shell_command", command=command),
    ),
    Peer(
        name="pydantic-ai, minimal program",
        module="pydantic_ai",
        argv=_program("peer_pydantic_ai.py"),
        **_plain(),
    ),
    Peer(
        name="openai-agents, minimal program",
        module="agents",
        argv=_program("peer_openai_agents.py"),
        **_plain(),
    ),
)  # fmt: skip
