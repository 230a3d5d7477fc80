"""Who this process is, and whether another one still lives.

A process is known by host, boot, pid and start time, so a reused pid is not mistaken for it.
"""

from __future__ import annotations

import functools
import itertools
import os
import socket
import subprocess
from pathlib import Path

import msgspec

from bridle.types.threads import Owner

_opened = itertools.count(1)


def this_process() -> Owner:
    """The identity of this process."""
    return _process(os.getpid())


def new_owner() -> Owner:
    """The identity of a harness that is opened now, in this process."""
    return msgspec.structs.replace(this_process(), opened=next(_opened))


@functools.cache
def _process(pid: int) -> Owner:
    """Remembered by pid: a fork is another process."""
    return Owner(
        host=socket.gethostname(), boot=_boot_id(), pid=pid, started=_start_time(pid) or "unknown"
    )


def owner_is_alive(owner: Owner) -> bool | None:
    """Tell whether an owner lives; None when it is on another host and cannot be asked."""
    here = this_process()
    if owner.host != here.host:
        return None
    if owner.boot != here.boot:
        return False
    return _start_time(owner.pid) == owner.started


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _start_time(pid: int) -> str | None:
    """When a process started, in the kernel's own words; None when it does not exist."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return None if Path("/proc/self").exists() else _start_time_by_ps(pid)
    except OSError:
        return _start_time_by_ps(pid)
    fields = stat.rpartition(")")[2].split()
    if fields[0] == "Z":  # dead, not yet reaped
        return None
    return fields[19]


def _start_time_by_ps(pid: int) -> str | None:
    answer = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() or None
