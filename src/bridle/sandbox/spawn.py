"""Our end of the keeper: start it once per process, and hand commands over to it."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import marshal
import os
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from bridle.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.sandbox import Launch

_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from bridle.sandbox.keeper import serve; serve(3, int(sys.argv[2]))"
)


class Keeper:
    """The helper process; one per process of ours, started with the first command."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self.pid = 0
        """Of the running keeper; 0 before the first command."""
        self._owner = 0

    def hand_over(self, fds: Sequence[int], kind: bytes) -> None:
        """Give a command's link and streams to the keeper; a dead keeper is replaced once."""
        with self._lock:
            for attempt in (1, 2):
                if self._control is None or self._owner != os.getpid():
                    self._start()
                assert self._control is not None
                try:
                    socket.send_fds(self._control, [kind], list(fds))
                except OSError as error:
                    self._forget()
                    if attempt == 2:
                        raise RunError(f"the process keeper does not answer: {error}") from error
                else:
                    return

    def close(self) -> None:
        """Let the keeper go; it ends when the last command has."""
        with self._lock:
            self._forget()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        high = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 64)
        theirs.close()
        source = str(Path(__file__).parents[2])
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-c", _BOOT, source, str(os.getpid())],
                {},
                file_actions=[*null, (os.POSIX_SPAWN_DUP2, high, 3)],
            )
        finally:
            os.close(high)
        self._control = ours
        self._owner = os.getpid()

    def _forget(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, os.WNOHANG)


KEEPER = Keeper()
atexit.register(KEEPER.close)


class Link:
    """The line to one command's warden: the request goes out, messages come in.

    Closing it, or our end, ends the command and everything that it started.
    """

    def __init__(self) -> None:
        self._socket, self._theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._data = bytearray()

    async def start(self, launch: Launch, stdio: Sequence[int]) -> None:
        """Hand the command over."""
        try:
            kind = b"l" if launch.confinement else b"c"  # as the keeper names them
            KEEPER.hand_over([self._theirs.fileno(), *stdio, *launch.fds], kind)
        finally:
            self._theirs.close()
        request = marshal.dumps(
            {
                "argv": list(launch.argv),
                "env": launch.env,
                "cwd": launch.cwd,
                "rlimits": list(launch.rlimits),
                "groups": [
                    (g.path, g.home, g.settings, g.freeze, g.counters) for g in launch.groups
                ],
                "confinement": _plain(launch),
                "shadows": list(launch.shadows),
                "guarded": list(launch.guarded),
                "births": list(launch.births),
            }
        )
        data = memoryview(len(request).to_bytes(4, "big") + request)
        while data:
            try:
                data = data[self._socket.send(data) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError:
                return  # refused; `receive` says why

    async def receive(self) -> dict[str, Any] | None:
        """The next message of the warden; None when it is gone."""
        while True:
            if len(self._data) >= 4:
                size = int.from_bytes(self._data[:4], "big")
                if len(self._data) >= 4 + size:
                    message: dict[str, Any] = marshal.loads(bytes(self._data[4 : 4 + size]))
                    del self._data[: 4 + size]
                    return message
            try:
                chunk = self._socket.recv(65536)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            except OSError:
                return None
            if not chunk:
                return None
            self._data += chunk

    def hang_up(self) -> None:
        """Order the tree to be killed; its end is still reported."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the line."""
        self._socket.close()
        self._theirs.close()


def _plain(launch: Launch) -> tuple[Any, ...] | None:
    confinement = launch.confinement
    if confinement is None:
        return None
    return (confinement.handled, list(confinement.landlock), confinement.seccomp)
