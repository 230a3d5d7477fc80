"""The sandbox: turns a command into what is really executed, within a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from bridle.types.base import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

Network = Literal["off", "on", "hosts"]
SandboxKind = Literal["auto", "bubblewrap", "landlock", "seatbelt", "read-only", "no-shell", "none"]


class ResourceLimits(Fact, frozen=True, kw_only=True):
    """What one command and everything that it starts may use; None is no limit.

    `cpu_seconds` and `file_bytes` hold per process, `memory_bytes` and `pids` for the whole tree
    where the system has control groups.
    """

    cpu_seconds: int | None = None
    memory_bytes: int | None = None
    pids: int | None = None
    file_bytes: int | None = None


class SandboxPolicy(Fact, frozen=True, kw_only=True):
    """What a command may see and touch. Paths are absolute; directories include what is in them.

    Everything outside `root`, `writable` and `temp` is read-only, `hidden` cannot be read either,
    and `read_only` stays as it is although it lies in a writable place, also while it does not
    exist. `temp` is the private directory that the command sees as its temporary directory.
    `readable` is visible although it lies in a hidden place. `env` names the variables that a
    command inherits.
    """

    root: str
    temp: str | None = None
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    network: Network = "off"
    allowed_hosts: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    limits: ResourceLimits = ResourceLimits()


class ControlGroup(Fact, frozen=True, kw_only=True):
    """A control group made for one command: `settings` are written before it is joined.

    `home` is the group that its starter goes back to. `freeze` is written when the tree is ended,
    so that it cannot grow while it is killed; `counters` are files whose `name value` lines are
    reported at the end.
    """

    path: str
    home: str
    settings: tuple[tuple[str, str], ...] = ()
    freeze: tuple[tuple[str, str], ...] = ()
    counters: tuple[str, ...] = ()


class Confinement(Fact, frozen=True, kw_only=True):
    """What the command does to itself before it starts, where no other program does it.

    `landlock` are the rules (access bits, path) of one Landlock ruleset, `handled` what it
    restricts: file system, network, scopes. `seccomp` is a compiled filter.
    """

    landlock: tuple[tuple[int, str], ...] = ()
    handled: tuple[int, int, int] = (0, 0, 0)
    seccomp: bytes = b""


class Launch(Fact, frozen=True, kw_only=True):
    """What is really executed, and what its keeper does around it.

    `fds` become 3, 4, … in the command.
    `shadows` are absent protected paths that stand as empty directories while the command runs;
    `guarded` are paths put back to what they were when it ends. `births` are absent repositories
    that the command may make, each with the directory that stands in for it meanwhile, or with
    none: what makes them run something is not kept.
    """

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    rlimits: tuple[tuple[int, int], ...] = ()
    groups: tuple[ControlGroup, ...] = ()
    confinement: Confinement | None = None
    fds: tuple[int, ...] = ()
    shadows: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    births: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


class Sandbox(Protocol):
    """One kind of confinement with its policy.

    `enter` holds whatever must live as long as the command (a proxy, a descriptor) and raises
    `ToolError` when no command may run at all.
    """

    @property
    def kind(self) -> SandboxKind:
        """What really confines; never `auto`."""
        ...

    @property
    def policy(self) -> SandboxPolicy:
        """What it holds commands to."""
        ...

    def enter(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Launch]:
        """Turn a command into what is executed; `env` is added to the clean environment."""
        ...

    def describe(self) -> tuple[str, ...]:
        """Say what is enforced, line by line, and what is not."""
        ...
