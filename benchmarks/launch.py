"""Run one command and print what it and everything that it started used, as a line of JSON.

A process of its own, without site packages: small, so that its memory does not count as the
command's, and the reaper of the command's orphans, so that their CPU does.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    sink = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    started = time.monotonic()
    pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=sink)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - started
    while True:
        try:
            os.wait()  # what the command left behind, such as a helper that is just ending
        except ChildProcessError:
            break
    tree = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {
        "code": os.waitstatus_to_exitcode(status),
        "cpu": tree.ru_utime + tree.ru_stime,
        "wall": wall,
        "rss": usage.ru_maxrss * 1024,
    }
    sys.stdout.write(json.dumps(cost))


main()
