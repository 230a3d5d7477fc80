"""Landlock with seccomp: for Linux without bubblewrap or without user namespaces.

It confines reading, writing, the network and signals, without a view of its own: paths are the
real ones. What it cannot do is said by `describe`, and refused where it matters.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bridle.errors import ConfigError
from bridle.ports.sandbox import Confinement, Launch
from bridle.sandbox import cgroups, mounts, seccomp
from bridle.sandbox.environment import clean
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from bridle.ports.sandbox import SandboxKind, SandboxPolicy

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR = 1 << 4, 1 << 5, 1 << 6, 1 << 7
MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK = 1 << 8, 1 << 9, 1 << 10, 1 << 11
MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = 1 << 12, 1 << 13, 1 << 14, 1 << 15
ALL = (1 << 15) - 1
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ALL & ~(MAKE_CHAR | MAKE_BLOCK)
TCP = 3
SCOPES = 3
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts")


class Landlock(Fixed, frozen=True, kw_only=True):
    """Commands that confine themselves before they start."""

    policy: SandboxPolicy
    version: int
    kind: SandboxKind = "landlock"

    def __post_init__(self) -> None:
        """Refuse a policy that Landlock cannot hold."""
        if self.policy.network == "hosts":
            raise ConfigError(
                "The sandbox 'landlock' cannot allow single hosts; "
                "install bubblewrap, or set the network to on or off."
            )
        for mount in mounts.plan(self.policy):
            roots = mounts.writable_roots(self.policy)
            if mount.view == "hidden" and mounts.lies_in(mount.path, roots):
                raise ConfigError(
                    f"The sandbox 'landlock' cannot hide {mount.path} inside the workspace; "
                    "install bubblewrap, or choose a smaller workspace."
                )

    @asynccontextmanager
    async def enter(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str] | None = None
    ) -> AsyncIterator[Launch]:
        """Turn a command into one that confines itself."""
        policy = self.policy
        bounds = cgroups.plan(policy.limits)
        temp = {"TMPDIR": policy.temp} if policy.temp else {}
        kept = mounts.kept_in_writable(policy)
        made = _absent_repositories(kept)
        yield Launch(
            argv=tuple(argv),
            cwd=cwd,
            env=clean(os.environ, allow=policy.env, extra=env) | temp,
            rlimits=cgroups.shared_rlimits(bounds),
            groups=bounds.groups,
            confinement=Confinement(
                landlock=tuple(self.rules()),
                handled=self._handled(),
                seccomp=seccomp.compile_filter(network=policy.network == "on"),
            ),
            guarded=tuple(path for path in kept if path not in made),
            births=tuple((path, "") for path in made),
        )

    def rules(self) -> Iterator[tuple[int, str]]:
        """What is granted: reading all but secrets, listing everything, writing few places."""
        policy = self.policy
        hidden = {mount.path for mount in mounts.plan(policy) if mount.view == "hidden"}
        for path in _visible("/", hidden, _ancestors(hidden)):
            yield READ, path
        yield READ_DIR, "/"
        for path in policy.readable:
            yield READ, path
        for path in mounts.writable_roots(policy):
            yield WRITE, path
        for path in DEVICES:
            yield READ_FILE | WRITE_FILE, path

    def describe(self) -> tuple[str, ...]:
        """Say what is enforced and what is not."""
        policy = self.policy
        signals = () if self.version >= 6 else ("signals reach the user's other processes",)
        writable = ", ".join(mounts.writable_roots(policy))
        return (
            f"landlock: writable: {writable}; all else is read-only",
            f"{len(policy.hidden)} places with secrets cannot be read; their names can be listed",
            f"{len(policy.read_only)} settings and start-up files are put back after each command",
            "modes, owners and times of the user's other files are not protected",
            f"network: {policy.network}",
            *signals,
            *cgroups.plan(policy.limits).notes,
        )

    def _handled(self) -> tuple[int, int, int]:
        files = ALL | (IOCTL_DEV if self.version >= 5 else 0)
        network = TCP if self.version >= 4 and self.policy.network == "off" else 0
        return (files, network, SCOPES if self.version >= 6 else 0)


def _absent_repositories(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path.endswith("/.git") and not os.path.lexists(path)]


def _visible(directory: str, hidden: set[str], above: set[str]) -> Iterator[str]:
    """The largest parts of a tree that hold nothing hidden; `above` are the ancestors of that."""
    if directory in hidden:
        return
    if directory not in above:
        yield directory
        return
    try:
        with os.scandir(directory) as entries:
            names = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return
    for path, is_dir in names:
        if is_dir:
            yield from _visible(path, hidden, above)
        elif path not in hidden:
            yield path


def _ancestors(paths: set[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        parent = os.path.dirname(path)
        while parent not in found:
            found.add(parent)
            parent = os.path.dirname(parent)
    return found
