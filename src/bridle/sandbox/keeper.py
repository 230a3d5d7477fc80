"""The keeper: one small process that starts all our commands and outlives us by a moment.

It is started once, with the first command, and forks a `warden` per command: a fork of a small
single-threaded process costs less than a millisecond where a fresh interpreter costs fifteen. It
holds no state: a command is handed over as a socket and its streams. When we die, the wardens
see it and end their trees; the keeper adopts what a dying warden leaves and ends that too.

C modules instead of `socket` and `signal` save ten milliseconds of start-up.
"""

from __future__ import annotations

import _socket
import gc
import os
import select
import sys

from bridle.sandbox import tree, warden

MAX_FDS = 16
PLAIN, CONFINED = b"c", b"l"
"""A command, and one that confines itself."""


def serve(control: int, owner: int) -> None:
    """Fork a warden for each request that arrives, until the owner is gone and all have ended."""
    os.setsid()
    os.closerange(control + 1, _highest_descriptor())
    tree.adopt_orphans()
    link = _socket.socket(fileno=control)
    link.setblocking(False)
    owner_fd = tree.watch(owner)
    wardens: dict[int, int] = {}
    listening = True
    while listening or wardens:
        poller = select.poll()
        asked = {link.fileno(), owner_fd} - {-1} if listening else set()
        for fd in asked.union(wardens.values()) - {-1}:
            poller.register(fd, select.POLLIN)
        blind = -1 in wardens.values()
        ready = {fd for fd, _ in poller.poll(20 if blind else None)}
        _collect(wardens)
        if ready & asked:
            asked_for = _take(link, wardens, owner_fd)
            listening = bool(asked_for)
            _preload(asked_for == CONFINED)  # behind the command, which did not wait for it


def _take(link: _socket.socket, wardens: dict[int, int], owner_fd: int) -> bytes:
    """Take one request and fork its warden; tells its kind, nothing when nobody asks any more.

    A socket that is merely empty means that the owner ended while a copy of its end lives on.
    """
    try:
        data, ancillary, _flags, _address = link.recvmsg(1, _socket.CMSG_SPACE(4 * MAX_FDS))
    except OSError:
        return b""
    if not data:
        return b""
    fds: list[int] = []
    for level, kind, payload in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds += memoryview(payload[: len(payload) // 4 * 4]).cast("i").tolist()
    for fd in fds:
        os.set_inheritable(fd, False)
    try:
        pid = os.fork()
    except OSError as error:
        warden.refuse(fds[0], f"no process can be started: {error.strerror}")
        for fd in fds[1:]:
            os.close(fd)
        return data
    if pid == 0:
        link.close()
        for fd in wardens.values():
            if fd >= 0:
                os.close(fd)
        warden.keep(fds[0], fds[1:], owner_fd)
    for fd in fds:
        os.close(fd)
    wardens[pid] = tree.watch(pid)
    return data


def _preload(confined: bool) -> None:
    """Import here, once, what wardens and commands would each import for themselves."""
    missing = {"bridle.sandbox.shadows"} | ({"bridle.sandbox.confine"} if confined else set())
    if not missing <= sys.modules.keys():
        import resource  # noqa: F401

        from bridle.sandbox import shadows  # noqa: F401

        if confined:
            from bridle.sandbox import confine  # noqa: F401

        gc.collect()
        gc.freeze()
        gc.disable()


def _collect(wardens: dict[int, int]) -> None:
    """Take note of what ended; what a killed warden left to us is ended too."""
    ended = tree.reap()
    if any(pid not in wardens or status for pid, (status, _) in ended.items()):
        ended |= tree.end(spare=frozenset(wardens.keys() - ended.keys()))
    for pid in ended:
        if (fd := wardens.pop(pid, -1)) >= 0:
            os.close(fd)


def _highest_descriptor() -> int:
    try:
        return max(map(int, os.listdir("/dev/fd"))) + 1
    except (OSError, ValueError):
        return 4096
