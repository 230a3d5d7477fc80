"""Process trees: find all descendants of this process and end them.

Used by the helper processes, so it imports only what starts fast. It relies on orphans coming
back to this process (`adopt_orphans`); elsewhere than on Linux a daemon that left its session and
its parent is not found.
"""

from __future__ import annotations

import os
import select
import sys

TYPE_CHECKING = False  # typing itself costs more than this module
if TYPE_CHECKING:
    from typing import Any

    Reaped = dict[int, tuple[int, Any]]
    """Wait status and resource usage of each process that was collected."""

PR_SET_CHILD_SUBREAPER = 36
SIGKILL = 9
SIGSTOP = 19 if sys.platform == "linux" else 17
LINUX = sys.platform == "linux"


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (Linux)."""
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)


def prctl(option: int, value: int) -> None:
    """Ask Linux for something about this process.

    The C module does it without `ctypes`, which would be half of what a helper imports.
    """
    import _ctypes

    here = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # this process itself
    function = _ctypes.dlsym(here, "prctl")
    _ctypes.call_function(function, (option, value, 0, 0, 0))


def watch(pid: int) -> int:
    """A descriptor that becomes readable when the process ends; -1 where there is none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def reap() -> Reaped:
    """Collect all children that have ended."""
    found: Reaped = {}
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found[pid] = (status, usage)


def end(*, spare: frozenset[int] = frozenset()) -> Reaped:
    """Kill all descendants except `spare` and theirs, until there are none; return what ended.

    They are stopped before they are killed: what is stopped does not fork, so a tree that grows
    as fast as it is killed still comes to an end. What is not ours to kill (a program that became
    another user) or does not die within ten seconds (stuck in the kernel) is left.
    """
    found: Reaped = {}
    for attempt in range(150):
        stopped: set[int] = set()
        while fresh := descendants(spare) - stopped:
            spare |= {pid for pid in fresh if not _signal(pid, SIGSTOP)}
            stopped |= fresh
        for pid in stopped - spare:
            _signal(pid, SIGKILL)
        found |= reap()
        left = descendants(spare)
        if not left:
            break
        _await_end(left, milliseconds=5 + attempt)
    return found


def _await_end(pids: set[int], *, milliseconds: int) -> None:
    """Sleep until one of these processes ends, or a moment has passed."""
    fds = [fd for pid in pids if (fd := watch(pid)) >= 0]
    poller = select.poll()
    for fd in fds:
        poller.register(fd, select.POLLIN)
    poller.poll(min(milliseconds, 100))
    for fd in fds:
        os.close(fd)


def descendants(spare: frozenset[int] = frozenset()) -> set[int]:
    """All processes below this one, without `spare` and what is below those."""
    found: set[int] = set()
    children = _children_by_proc if LINUX else _table().__getitem__
    open_pids = [os.getpid()]
    while open_pids:
        for pid in children(open_pids.pop()):
            if pid not in spare and pid not in found:
                found.add(pid)
                open_pids.append(pid)
    return found


def _children_by_proc(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += map(int, file.read().split())
    except FileNotFoundError:
        if os.path.exists(f"/proc/{pid}"):
            return _table()[pid]  # a kernel without the list of children
    except ProcessLookupError:
        pass
    return found


def _table() -> _Table:
    """Children by parent, for all processes."""
    table = _Table()
    if LINUX:
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", "rb") as file:
                        table[int(file.read().rsplit(b")", 1)[1].split()[1])].append(int(name))
                except OSError:
                    continue
        return table
    with os.popen("/bin/ps -A -o pid=,ppid=") as lines:
        for line in lines:
            pid, parent = line.split()
            table[int(parent)].append(int(pid))
    return table


class _Table(dict[int, list[int]]):
    def __missing__(self, pid: int) -> list[int]:
        return self.setdefault(pid, [])


def _signal(pid: int, number: int) -> bool:
    """Send a signal; False when the process is not ours to end."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True
