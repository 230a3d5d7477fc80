"""Bubblewrap: namespaces of its own for every command; the strongest kind on Linux."""

from __future__ import annotations

import os
import stat
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bridle.ports.sandbox import Launch
from bridle.sandbox import cgroups, mounts, seccomp
from bridle.sandbox.environment import clean
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from bridle.ports.sandbox import SandboxKind, SandboxPolicy
    from bridle.sandbox.hosts import Hosts
    from bridle.sandbox.mounts import Mount

NAMESPACES = (
    "--die-with-parent", "--new-session", "--unshare-user", "--unshare-pid", "--unshare-ipc",
    "--cap-drop", "ALL",
)  # fmt: skip
SHADOWED = frozenset({".mcp.json", ".bridle", ".claude", ".envrc", ".git", "hooks"})
"""Absent protected names that stand as placeholders; the others are put back afterwards."""

KEPT_IN_RUN = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
"""Where a system keeps its programs in a place that otherwise holds sockets and secrets."""

LISTENING = "00010000"


class Bubblewrap(Fixed, frozen=True, kw_only=True):
    """Commands in namespaces of their own, with the file system that the policy shows."""

    policy: SandboxPolicy
    program: str = "bwrap"
    more: tuple[str, ...] = ()
    kind: SandboxKind = "bubblewrap"
    hosts: Hosts | None = None
    """Decides over hosts instead of the policy's list, where that may grow while a command runs."""

    @asynccontextmanager
    async def enter(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str] | None = None
    ) -> AsyncIterator[Launch]:
        """Turn a command into a bubblewrap command, with a proxy when only hosts are allowed."""
        fds = [_filter()]
        try:
            if self.policy.network != "hosts":
                yield self.launch(argv, cwd=cwd, env=env, fds=fds)
                return
            from bridle.sandbox import proxy
            from bridle.sandbox.hosts import AllowedHosts

            hosts = self.hosts or AllowedHosts(self.policy.allowed_hosts)
            async with proxy.serving(hosts) as way:
                fds.append(way.descriptor)
                argv = proxy.behind(argv, descriptor=4)
                yield self.launch(argv, cwd=cwd, env={**(env or {}), **proxy.VARIABLES}, fds=fds)
        finally:
            os.close(fds[0])

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str] | None = None,
        fds: Sequence[int] = (),
    ) -> Launch:
        """What is executed for a command; the first descriptor is its seccomp filter."""
        policy = self.policy
        bounds = cgroups.plan(policy.limits)
        plan = mounts.plan(policy)
        absent = [mount for mount in plan if not mount.exists]
        shadows = [mount for mount in absent if os.path.basename(mount.path) in SHADOWED]
        guarded = [mount.path for mount in absent if mount not in shadows]
        network = ("--unshare-net",) if policy.network != "on" else ()
        births = self._births(shadows)
        seen = [mount for mount in plan if mount.exists or mount in shadows]
        views = _views(seen, dict(births))
        command = tuple(argv)
        if bounds.process_limit is not None:
            command = limited(command, bounds.process_limit)
        seccomp_filter = ("--seccomp", "3") if fds else ()
        inside = (*seccomp_filter, "--chdir", os.path.abspath(cwd), "--", *command)
        return Launch(
            argv=(self.program, *NAMESPACES, *self.more, *network, *_base(policy), *views, *inside),
            cwd="/",
            env=clean(os.environ, allow=policy.env, extra=env) | {"TMPDIR": "/tmp"},
            rlimits=bounds.rlimits,
            groups=bounds.groups,
            fds=tuple(fds),
            shadows=tuple(mount.path for mount in shadows),
            guarded=(*guarded, *_links(policy)),
            births=births,
        )

    def _births(self, shadows: Sequence[Mount]) -> tuple[tuple[str, str], ...]:
        """Absent repositories, each with a private directory in which it may be made."""
        temp = self.policy.temp
        return tuple(
            (mount.path, os.path.join(temp, f".git-{os.urandom(6).hex()}"))
            for mount in shadows
            if temp and os.path.basename(mount.path) == ".git"
        )

    def describe(self) -> tuple[str, ...]:
        """Say what is enforced and what is not."""
        policy = self.policy
        writable = ", ".join((policy.root, *policy.writable))
        return (
            f"bubblewrap: writable: {writable} and a private /tmp; all else is read-only",
            f"{len(policy.hidden)} places with secrets are hidden",
            f"{len(policy.read_only)} settings and start-up files cannot be changed or made",
            f"network: {describe_network(policy)}",
            *cgroups.plan(policy.limits).notes,
        )


def _filter() -> int:
    """A pipe that holds the compiled filter, as bubblewrap takes it."""
    read, write = os.pipe()
    os.write(write, seccomp.compile_filter(network=True))
    os.close(write)
    return read


def limited(argv: tuple[str, ...], processes: int) -> tuple[str, ...]:
    """A command under a limit of processes that counts in its own user namespace only."""
    script = f'ulimit -u {processes} 2>/dev/null || ulimit -p {processes}; exec "$@"'
    return ("/bin/sh", "-c", script, "sh", *argv)


def describe_network(policy: SandboxPolicy) -> str:
    """The network rule in words."""
    if policy.network == "hosts":
        return "only " + ", ".join(policy.allowed_hosts) + ", through a filtering proxy"
    return policy.network


def _base(policy: SandboxPolicy) -> Iterator[str]:
    """The system as it is, read-only, without what other programs left running in it."""
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    for place in ("/run", "/var/run"):
        if os.path.isdir(place) and not os.path.islink(place):
            yield from ("--tmpfs", place)
    for place in KEPT_IN_RUN:
        if os.path.isdir(place):
            yield from ("--ro-bind", place, place)
    if policy.network != "off":
        resolver = os.path.realpath("/etc/resolv.conf")
        if resolver.startswith(("/run/", "/var/run/")) and os.path.exists(resolver):
            yield from ("--ro-bind", resolver, resolver)
    for place in ("/tmp", "/var/tmp"):
        if os.path.isdir(place) and not os.path.islink(place):
            yield from ("--bind", policy.temp, place) if policy.temp else ("--tmpfs", place)
    for path in _sockets():
        yield from ("--ro-bind", "/dev/null", path)


def _sockets() -> list[str]:
    """Sockets on which other programs listen: a way out for who may write to them."""
    found = set()
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields = line.rstrip("\n").split(None, 7)
                if len(fields) == 8 and fields[3] == LISTENING and fields[7].startswith("/"):
                    found.add(fields[7])
    except OSError:
        return []
    replaced = ("/run/", "/var/run/", "/tmp/", "/var/tmp/", "/dev/")
    return sorted(path for path in found if not path.startswith(replaced) and _is_socket(path))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _views(plan: Sequence[Mount], births: Mapping[str, str]) -> Iterator[str]:
    empty: list[str] = []
    for mount in plan:
        if mount.path in births:
            yield from ("--bind", births[mount.path], mount.path)
            continue
        match mount.view:
            case "writable":
                yield from ("--bind", mount.path, mount.path)
            case "readable" | "read_only" if mount.exists:
                yield from ("--ro-bind", mount.path, mount.path)
            case _ if mount.is_dir or not mount.exists:
                yield from ("--perms", "0755", "--tmpfs", mount.path)
                empty.append(mount.path)
            case _:
                yield from ("--ro-bind", "/dev/null", mount.path)
    for path in empty:
        yield from ("--remount-ro", path)


def _links(policy: SandboxPolicy) -> Iterator[str]:
    """Protected names that are links: what they point to is mounted, the name is put back."""
    for path in mounts.read_only(policy):
        if os.path.islink(path.rstrip("/")):
            yield path.rstrip("/")
