"""Git in the workspace, without anything that a repository could make it run.

What a repository's own configuration names (hooks, external diffs, text conversions, filters,
pagers, file monitors, signing programs, credential helpers, transports) is switched off for the
command, and the command runs in the sandbox like every other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ToolError
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from bridle.ports.processes import ProcessResult
    from bridle.tools.builtin.workspace import Workplace

TIMEOUT = 60.0
SAFE = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "true",
    "credential.helper": "",
    "protocol.allow": "never",
    "diff.external": "",
    "diff.submodule": "short",
    "diff.noprefix": "false",
    "commit.gpgSign": "false",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "color.ui": "false",
    "user.useConfigOnly": "true",
}
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_EDITOR": "false",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
}
COMMANDS = ("clean", "smudge", "process")
"""What a filter of a repository's configuration runs."""


class Git(Fixed, frozen=True):
    """Runs git commands of our own choosing in a workspace."""

    place: Workplace

    async def run(
        self, *arguments: str, stdin: bytes | None = None, writes: bool = False
    ) -> ProcessResult:
        """Run git; a command that fails is told with what git said."""
        result = await self._git(
            *await self._without_filters(), *arguments, stdin=stdin, writes=writes
        )
        if result.exit_code != 0:
            said = (result.stderr or result.stdout).strip()[:2000] or "it said nothing"
            raise ToolError(f"git {arguments[0]} failed: {said}", kind="git")
        return result

    def inside(self, path: str) -> str:
        """A path as git is given it: from the root of the workspace, and not out of it."""
        real = self.place.files.resolve(path)
        root = str(self.place.root).rstrip("/")
        return real.removeprefix(root).lstrip("/") or "."

    async def _without_filters(self) -> list[str]:
        """Switch off the filters that the configuration names; reading it runs nothing."""
        pattern = r"^filter\..*\.(clean|smudge|process)$"
        found = await self._git("config", "--name-only", "--null", "--get-regexp", pattern)
        if found.exit_code not in (0, 1):
            raise ToolError(f"git cannot read its configuration: {found.stderr.strip()[:500]}")
        options: list[str] = []
        for driver in sorted({key.rpartition(".")[0] for key in found.stdout.split("\0") if key}):
            for command in COMMANDS:
                options += ["-c", f"{driver}.{command}="]
            options += ["-c", f"{driver}.required=false"]
        return options

    async def _git(
        self, *arguments: str, stdin: bytes | None = None, writes: bool = False
    ) -> ProcessResult:
        settings = [word for key, value in SAFE.items() for word in ("-c", f"{key}={value}")]
        locks = {} if writes else {"GIT_OPTIONAL_LOCKS": "0"}
        return await self.place.processes.run(
            ["git", "--no-pager", "--literal-pathspecs", *settings, *arguments],
            sandbox=self.place.sandbox,
            cwd=str(self.place.root),
            env=ENVIRONMENT | locks,
            timeout=TIMEOUT,
            stdin=stdin,
            stderr="separate",
        )
