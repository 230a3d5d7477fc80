"""The kinds of sandbox by name. A kind that is not available is refused, never replaced."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, get_args

import msgspec

from bridle.errors import ConfigError, ToolError, suggest
from bridle.ports.sandbox import Launch, Sandbox, SandboxKind
from bridle.sandbox import cgroups, probe
from bridle.sandbox.bubblewrap import Bubblewrap
from bridle.sandbox.environment import clean
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from bridle.ports.sandbox import SandboxPolicy
    from bridle.sandbox.probe import Probe

KINDS: tuple[SandboxKind, ...] = get_args(SandboxKind)
ALIASES: dict[str, SandboxKind] = {"local": "auto"}

NO_BARE_REPOSITORY = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
}
"""Files of a project can look like a repository whose settings run something, so `cd sub; git
status` would run it. Where nothing confines a command, git takes only what is named as one."""


def parse(name: str) -> SandboxKind:
    """The kind that a name means; an unknown one is an error with a suggestion."""
    kind = ALIASES.get(name, name)
    for known in KINDS:
        if known == kind:
            return known
    raise ConfigError(suggest(name, (*KINDS, *ALIASES), what="sandbox"))


def make_sandbox(name: str, policy: SandboxPolicy) -> Sandbox:
    """The sandbox of a name for a policy; `ConfigError` says what to install when there is none."""
    match parse(name):
        case "auto":
            return _confined(policy)
        case "bubblewrap":
            return _bubblewrap(policy, _need("bubblewrap", probe.bubblewrap()))
        case "landlock":
            return _landlock(policy, _need("landlock", probe.landlock()))
        case "seatbelt":
            return _seatbelt(policy, _need("seatbelt", probe.seatbelt()))
        case "read-only":
            return _confined(read_only(policy))
        case "no-shell":
            return NoShell(policy=policy)
        case "none":
            return Unconfined(policy=policy)


def read_only(policy: SandboxPolicy) -> SandboxPolicy:
    """The same policy with nothing writable but the private temp."""
    kept = (*policy.read_only, policy.root)
    return msgspec.structs.replace(policy, writable=(), read_only=kept)


def _confined(policy: SandboxPolicy) -> Sandbox:
    """The strongest kind that works here."""
    if sys.platform == "darwin":
        return _seatbelt(policy, _need("seatbelt", probe.seatbelt()))
    first = probe.bubblewrap()
    if first.available:
        return _bubblewrap(policy, first)
    second = probe.landlock()
    if second.available:
        return _landlock(policy, second)
    raise ConfigError(
        f"No sandbox works here: {first.problem}; {second.problem or 'Landlock is missing'}. "
        f"To fix it, {first.remedy or second.remedy or 'use Linux or macOS'}; "
        "or choose sandbox `no-shell` (no commands), or `none` (commands run unconfined)."
    )


def _need(name: str, found: Probe) -> Probe:
    if found.available:
        return found
    remedy = f" To fix it, {found.remedy}." if found.remedy else ""
    raise ConfigError(f"The sandbox {name!r} does not work here: {found.problem}.{remedy}")


def _bubblewrap(policy: SandboxPolicy, found: Probe) -> Sandbox:
    return Bubblewrap(policy=policy, program=found.program, more=found.arguments)


def _landlock(policy: SandboxPolicy, found: Probe) -> Sandbox:
    from bridle.sandbox.landlock import Landlock

    return Landlock(policy=policy, version=int(found.arguments[0]))


def _seatbelt(policy: SandboxPolicy, found: Probe) -> Sandbox:
    from bridle.sandbox.seatbelt import Seatbelt

    return Seatbelt(policy=policy, program=found.program)


class NoShell(Fixed, frozen=True, kw_only=True):
    """No command runs at all."""

    policy: SandboxPolicy
    kind: SandboxKind = "no-shell"

    def enter(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Launch]:
        """Refuse."""
        del cwd, env
        raise ToolError(
            f"{argv[0]!r} was not run: this harness runs no commands (sandbox: no-shell)",
            kind="denied",
        )

    def describe(self) -> tuple[str, ...]:
        """Say what is enforced."""
        return ("no-shell: no command runs",)


class Unconfined(Fixed, frozen=True, kw_only=True):
    """Commands with the rights of the user: a clean environment and limits, no confinement."""

    policy: SandboxPolicy
    kind: SandboxKind = "none"

    @asynccontextmanager
    async def enter(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str] | None = None
    ) -> AsyncIterator[Launch]:
        """Run it as it is."""
        bounds = cgroups.plan(self.policy.limits)
        temp = {"TMPDIR": self.policy.temp} if self.policy.temp else {}
        yield Launch(
            argv=tuple(argv),
            cwd=cwd,
            env=clean(os.environ, allow=self.policy.env, extra=env) | temp | NO_BARE_REPOSITORY,
            rlimits=cgroups.shared_rlimits(bounds),
            groups=bounds.groups,
        )

    def describe(self) -> tuple[str, ...]:
        """Say that nothing is enforced but limits."""
        return (
            "none: commands run unconfined, with all rights of the user",
            *cgroups.plan(self.policy.limits).notes,
        )
