"""Control groups: limits for a whole tree, where per-process limits do not hold.

A limit of processes is not enforced for root by the kernel, and one of memory holds for each
process alone. Where no group can be made, `plan` says so in its notes and per-process limits are
used as far as they go.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import resource
import sys
from typing import TYPE_CHECKING

from bridle.ports.sandbox import ControlGroup
from bridle.types.base import Fact

if TYPE_CHECKING:
    from bridle.ports.sandbox import ResourceLimits

_COUNT = itertools.count()


class Controllers(Fact, frozen=True, kw_only=True):
    """Directories in which groups can be made, by controller; the same one in version 2.

    The homes are the groups that this process is in.
    """

    version: int = 0
    pids: str | None = None
    memory: str | None = None
    pids_home: str = ""
    memory_home: str = ""


class Bounds(Fact, frozen=True, kw_only=True):
    """How limits are enforced here: groups, per-process limits, and what is not enforced."""

    groups: tuple[ControlGroup, ...] = ()
    rlimits: tuple[tuple[int, int], ...] = ()
    process_limit: int | None = None
    notes: tuple[str, ...] = ()


def plan(limits: ResourceLimits) -> Bounds:
    """Choose how to enforce limits; `process_limit` is left for whoever can set it inside."""
    here = controllers()
    groups: list[ControlGroup] = []
    rlimits = [(resource.RLIMIT_CORE, 0)]
    notes: list[str] = []
    if limits.cpu_seconds is not None:
        rlimits.append((resource.RLIMIT_CPU, limits.cpu_seconds))
    if limits.file_bytes is not None:
        rlimits.append((resource.RLIMIT_FSIZE, limits.file_bytes))
    name = f"bridle-{os.getpid()}-{next(_COUNT)}"
    process_limit: int | None = None
    if limits.pids is not None:
        if here.pids:
            groups.append(_pids_group(here, name, limits.pids))
        elif os.geteuid() == 0:
            notes.append("no limit of processes: root needs a pids control group, none is writable")
        else:
            process_limit = limits.pids
    if limits.memory_bytes is not None:
        if here.memory:
            groups.append(_memory_group(here, name, limits.memory_bytes))
        else:
            rlimits.append((resource.RLIMIT_DATA, limits.memory_bytes))
            notes.append("memory is limited per process only: no memory control group is writable")
    return Bounds(
        groups=_merged(groups),
        rlimits=tuple(rlimits),
        process_limit=process_limit,
        notes=tuple(notes),
    )


def shared_rlimits(bounds: Bounds) -> tuple[tuple[int, int], ...]:
    """The per-process limits for a command that shares its user with other programs.

    The kernel counts all tasks of the user, so those that run now are added to the limit.
    """
    if bounds.process_limit is None:
        return bounds.rlimits
    return (*bounds.rlimits, (resource.RLIMIT_NPROC, _tasks_of_user() + bounds.process_limit))


def _tasks_of_user() -> int:
    found = 0
    user = os.geteuid()
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and entry.stat().st_uid == user:
                    found += len(os.listdir(f"/proc/{entry.name}/task"))
    return found


@functools.cache
def controllers() -> Controllers:
    """Find out once per process where groups can be made."""
    if sys.platform != "linux":
        return Controllers()
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
        with open("/proc/self/mountinfo") as file:
            mounts = [line.split(" - ") for line in file]
    except OSError:
        return Controllers()
    own = {name: path for _id, names, path in lines for name in names.split(",")}
    roots: dict[str, str] = {}
    for left, right in mounts:
        kind, _source, options = right.split(" ", 2)
        where = left.split(" ")[4]
        if kind == "cgroup2":
            roots.setdefault("", where)
        elif kind == "cgroup":
            for name in options.strip().split(","):
                roots.setdefault(name, where)
    pids = _first(_usable_v1(roots, own, "pids"))
    memory = _first(_usable_v1(roots, own, "memory"))
    if pids or memory:
        return Controllers(
            version=1,
            pids=pids,
            memory=memory,
            pids_home=_home_v1(roots, own, "pids"),
            memory_home=_home_v1(roots, own, "memory"),
        )
    return _version_2(roots, own)


def _usable_v1(roots: dict[str, str], own: dict[str, str], name: str) -> list[str]:
    if name not in roots or name not in own:
        return []
    return [path for path in (roots[name] + own[name], roots[name]) if _can_make(path)]


def _home_v1(roots: dict[str, str], own: dict[str, str], name: str) -> str:
    if name not in roots or name not in own:
        return ""
    path = (roots[name] + own[name]).rstrip("/")
    return path if os.path.isdir(path) else roots[name]


def _version_2(roots: dict[str, str], own: dict[str, str]) -> Controllers:
    """The group beside ours: ours holds processes, so it cannot hold limited groups as well."""
    if "" not in roots or "" not in own:
        return Controllers()
    mine = (roots[""] + own[""]).rstrip("/")
    for parent in (os.path.dirname(mine), mine):
        if not parent.startswith(roots[""]):
            continue
        try:
            with open(f"{parent}/cgroup.subtree_control") as file:
                enabled = file.read().split()
        except OSError:
            continue
        if enabled and os.access(f"{parent}/cgroup.procs", os.W_OK) and _can_make(parent):
            return Controllers(
                version=2,
                pids=parent if "pids" in enabled else None,
                memory=parent if "memory" in enabled else None,
                pids_home=mine,
                memory_home=mine,
            )
    return Controllers()


def _can_make(parent: str) -> bool:
    """Try it: permissions alone do not tell (containers mount groups read-only)."""
    parent = parent.rstrip("/")
    _sweep(parent)
    probe = f"{parent}/bridle-{os.getpid()}-probe"
    try:
        os.mkdir(probe)
        os.rmdir(probe)
    except OSError:
        return False
    return True


def _sweep(parent: str) -> None:
    """Remove empty groups that a killed process of ours left."""
    with contextlib.suppress(OSError):
        for name in os.listdir(parent):
            owner = name.split("-")[1] if name.startswith("bridle-") else ""
            if owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
                with contextlib.suppress(OSError):
                    os.rmdir(f"{parent}/{name}")


def _first(paths: list[str]) -> str | None:
    return paths[0].rstrip("/") if paths else None


def _pids_group(here: Controllers, name: str, limit: int) -> ControlGroup:
    kill = (("cgroup.kill", "1"),) if here.version == 2 else ()
    return ControlGroup(
        path=f"{here.pids}/{name}",
        home=here.pids_home,
        settings=(("pids.max", str(limit)),),
        freeze=(("pids.max", "0"), *kill),
        counters=("pids.events",),
    )


def _memory_group(here: Controllers, name: str, limit: int) -> ControlGroup:
    path = f"{here.memory}/{name}"
    if here.version == 1:
        swap = os.path.exists(f"{here.memory}/memory.memsw.limit_in_bytes")
        return ControlGroup(
            path=path,
            home=here.memory_home,
            settings=(
                ("memory.limit_in_bytes", str(limit)),
                *((("memory.memsw.limit_in_bytes", str(limit)),) if swap else ()),
            ),
            counters=("memory.oom_control",),
        )
    swap = os.path.exists(f"{here.memory}/memory.swap.max")
    return ControlGroup(
        path=path,
        home=here.memory_home,
        settings=(
            ("memory.max", str(limit)),
            ("memory.oom.group", "1"),
            *((("memory.swap.max", "0"),) if swap else ()),
        ),
        freeze=(("cgroup.kill", "1"),),
        counters=("memory.events",),
    )


def _merged(groups: list[ControlGroup]) -> tuple[ControlGroup, ...]:
    """One group per directory: in version 2 all controllers share it."""
    found: dict[str, ControlGroup] = {}
    for group in groups:
        before = found.get(group.path)
        found[group.path] = (
            group
            if before is None
            else ControlGroup(
                path=group.path,
                home=group.home,
                settings=before.settings + group.settings,
                freeze=before.freeze + group.freeze,
                counters=before.counters + group.counters,
            )
        )
    return tuple(found.values())
