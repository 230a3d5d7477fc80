"""Seatbelt, the sandbox of macOS, as a profile for `sandbox-exec`."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bridle.errors import ConfigError
from bridle.ports.sandbox import Launch
from bridle.sandbox import cgroups, mounts
from bridle.sandbox.environment import clean
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from bridle.ports.sandbox import SandboxKind, SandboxPolicy

BASE = """(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.SecurityServer"))
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow pseudo-tty)
(allow file-read*)
(allow file-write*
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))
(allow file-ioctl (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))
"""


class Seatbelt(Fixed, frozen=True, kw_only=True):
    """Commands under a profile of the policy; later rules of a profile win over earlier ones."""

    policy: SandboxPolicy
    program: str = "/usr/bin/sandbox-exec"
    kind: SandboxKind = "seatbelt"

    def __post_init__(self) -> None:
        """Refuse a policy that a profile cannot hold."""
        if self.policy.network == "hosts":
            raise ConfigError(
                "The sandbox 'seatbelt' cannot allow single hosts yet; "
                "set the network to on or off."
            )

    @asynccontextmanager
    async def enter(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str] | None = None
    ) -> AsyncIterator[Launch]:
        """Turn a command into one under the profile."""
        bounds = cgroups.plan(self.policy.limits)
        temp = {"TMPDIR": self.policy.temp} if self.policy.temp else {}
        yield Launch(
            argv=(self.program, "-p", profile(self.policy), "--", *argv),
            cwd=cwd,
            env=clean(os.environ, allow=self.policy.env, extra=env) | temp,
            rlimits=bounds.rlimits,
        )

    def describe(self) -> tuple[str, ...]:
        """Say what is enforced and what is not."""
        policy = self.policy
        return (
            f"seatbelt: writable: {', '.join((policy.root, *policy.writable))} and a private temp",
            f"{len(policy.hidden)} places with secrets cannot be read",
            f"{len(policy.read_only)} settings and start-up files cannot be changed or made",
            f"network: {policy.network}",
            *cgroups.plan(policy.limits).notes,
        )


def profile(policy: SandboxPolicy) -> str:
    """The profile: grants first, then what is taken back, then what is readable all the same."""
    lines = [BASE.rstrip()]
    lines += [f"(allow file-write* {_tree(path)})" for path in mounts.writable_roots(policy)]
    lines += [f"(deny file-write* {_tree(path)})" for path in mounts.read_only(policy)]
    lines += [f"(deny file-read* file-write* {_tree(path)})" for path in policy.hidden]
    lines += [f"(allow file-read* {_tree(path)})" for path in policy.readable]
    if policy.network == "on":
        lines.append("(allow network*)\n(allow system-socket)")
    return "\n".join(lines) + "\n"


def _tree(path: str) -> str:
    """A path with all that is below it; a name that only differs in case is the same file."""
    return f"(subpath {_quoted(os.path.realpath(path))})"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
