"""The warden: the parent of one command, which ends it and everything that it started.

It is forked by the keeper and talks to us over one socket: a request comes in, `pid` and the
exit go out. The end of that socket is the order to kill, so a tree never outlives the one who
asked for it, however that one ended. Orphans of the tree come back to the warden (it is their
reaper), so a daemon that left its session and its parent is found all the same.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import select

from bridle.sandbox import tree

TYPE_CHECKING = False  # typing itself costs more than this module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

PR_SET_PDEATHSIG = 1
DEFAULT_SIGNALS = (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT)


def keep(link_fd: int, fds: list[int], owner_fd: int) -> NoReturn:
    """Run one command as asked over the link, report its end, and leave nothing behind."""
    link = _socket.socket(fileno=link_fd)
    undo: list[Callable[[], list[str]]] = []
    try:
        tree.adopt_orphans()
        request = _receive(link)
        if _ready({link.fileno(), owner_fd}, 0):
            os._exit(0)  # whoever asked is gone already
        report = _supervise(request, link, fds, owner_fd, undo)
        report["notes"] = _clean_up(undo)
        _send(link, report)
    except BaseException as error:  # noqa: BLE001  the last frame of this process: told, then ended
        tree.end()
        _clean_up(undo)
        _send(link, {"error": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(0)


def refuse(link_fd: int, why: str) -> None:
    """Tell the one who asked that there will be no command."""
    link = _socket.socket(fileno=link_fd)
    _send(link, {"error": why})
    link.close()


def _supervise(
    request: dict[str, Any],
    link: _socket.socket,
    fds: list[int],
    owner_fd: int,
    undo: list[Callable[[], list[str]]],
) -> dict[str, Any]:
    for path, _home, settings, *_ in request["groups"]:
        os.mkdir(path)
        undo.append(_removal(path))
        for name, value in settings:
            _write(f"{path}/{name}", value)
    if request["births"]:
        from bridle.sandbox import births

        undo.append(births.attend(request["births"]))  # kept after the placeholders are gone
    if request["shadows"] or request["guarded"]:
        from bridle.sandbox import shadows

        undo.append(shadows.stand(request["shadows"], request["guarded"]))
    start = _fork if request["confinement"] else _spawn
    pid, failure = start(request, fds, {link.fileno(), owner_fd})
    for fd in fds:
        os.close(fd)
    ended: tree.Reaped = {}
    if failure is None:
        _send(link, {"pid": pid})
        ended = _wait(pid, link, owner_fd)
    for path, _home, _settings, freeze, _names in request["groups"]:
        for name, value in freeze:
            _try_write(f"{path}/{name}", value)
    ended |= tree.end()
    status, usage = ended.get(pid, (tree.SIGKILL, None))
    if failure:
        return {"failed": failure}
    return {
        "code": os.waitstatus_to_exitcode(status),
        "cpu": usage.ru_utime + usage.ru_stime if usage else 0.0,
        "counters": _counters(request["groups"]),
    }


def _spawn(request: dict[str, Any], fds: list[int], links: set[int]) -> tuple[int, str | None]:
    """Start a command that inherits all it needs; cheaper than a fork of this process.

    The warden joins the command's groups for that moment. The command dies with the warden all
    the same: the keeper inherits it then, and ends it.
    """
    try:
        for path, *_ in request["groups"]:
            _write(f"{path}/cgroup.procs", "0")
        if tree.LINUX:
            _write("/proc/self/oom_score_adj", "500")
        os.chdir(request["cwd"])
        program = _find(request["argv"][0], request["env"])
        high, tell = _move_up(fds, fds[0])
        os.close(tell)
        _limit(request["rlimits"])
        pid = os.posix_spawn(
            program,
            request["argv"],
            request["env"],
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(high)],
            setsid=True,
            setsigmask=(),
            setsigdef=DEFAULT_SIGNALS,
        )
    except NotImplementedError:  # a system that cannot give a spawned process its own session
        return _fork(request, fds, links)
    except OSError as error:
        return 0, error.strerror or str(error)
    finally:
        for _path, home, *_ in request["groups"]:
            _write(f"{home}/cgroup.procs", "0")
    for fd in high:
        os.close(fd)
    return pid, None


def _find(program: str, env: dict[str, str]) -> str:
    """Where a program lies, by the command's own PATH."""
    if "/" in program:
        return program
    for directory in env.get("PATH", os.defpath).split(":"):
        path = f"{directory or '.'}/{program}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise FileNotFoundError(2, "No such file or directory")


def _fork(request: dict[str, Any], fds: list[int], links: set[int]) -> tuple[int, str | None]:
    """Start a command that joins groups or confines itself first."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(request, fds, tell)
    os.close(tell)
    if told not in _ready({told, *links}):
        return pid, "nobody waits for it"
    text = os.read(told, 4096).decode("utf-8", "replace")
    os.close(told)
    return pid, text or None


def _become(request: dict[str, Any], fds: list[int], tell: int) -> NoReturn:
    """Turn this fork into the command; a failure is told through the pipe."""
    try:
        warden = os.getppid()
        if tree.LINUX:
            tree.prctl(PR_SET_PDEATHSIG, tree.SIGKILL)
            if os.getppid() != warden:
                os._exit(126)
            _write("/proc/self/oom_score_adj", "500")
        os.setsid()
        for path, *_ in request["groups"]:
            _write(f"{path}/cgroup.procs", "0")
        high, tell = _move_up(fds, tell)
        for number, fd in enumerate(high):
            os.dup2(fd, number, inheritable=True)
        _limit(request["rlimits"])
        os.chdir(request["cwd"])
        for number in DEFAULT_SIGNALS:
            _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
        if request["confinement"]:
            from bridle.sandbox import confine

            confine.apply(*request["confinement"])
        os.execvpe(request["argv"][0], request["argv"], request["env"])
    except BaseException as error:  # noqa: BLE001  the last frame of this process: told, then ended
        os.write(tell, str(getattr(error, "strerror", None) or error).encode() or b"unknown")
    finally:
        os._exit(127)


def _move_up(fds: list[int], tell: int) -> tuple[list[int], int]:
    """Copies of descriptors above the numbers that they are to get; closed on exec."""
    import fcntl

    base = len(fds) + 8
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, base) for fd in (*fds, tell)]
    return high[:-1], high[-1]


def _limit(limits: list[tuple[int, int]]) -> None:
    if not limits:
        return
    import resource

    for kind, value in limits:
        _soft, hard = resource.getrlimit(kind)
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        last = limit + 1 if kind == resource.RLIMIT_CPU and limit != hard else limit
        resource.setrlimit(kind, (limit, last))  # a signal that names the limit, then the end


def _wait(pid: int, link: _socket.socket, owner_fd: int) -> tree.Reaped:
    """Wait until the command ends, the link closes or our owner is gone."""
    child_fd = tree.watch(pid)
    if child_fd >= 0:
        _ready({link.fileno(), owner_fd, child_fd})
        os.close(child_fd)
        return {}
    while not _ready({link.fileno(), owner_fd}, 20):
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return {pid: (status, usage)}
    return {}


def _ready(fds: set[int], milliseconds: int | None = None) -> set[int]:
    poller = select.poll()
    for fd in fds - {-1}:
        poller.register(fd, select.POLLIN)
    return {fd for fd, _ in poller.poll(milliseconds)}


def _counters(groups: list[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for path, _home, _settings, _freeze, names in groups:
        for name in names:
            try:
                with open(f"{path}/{name}") as file:
                    for line in file:
                        key, _, value = line.partition(" ")
                        found[f"{name}:{key}"] = int(value)
            except (OSError, ValueError):
                continue
    return found


def _removal(path: str) -> Callable[[], list[str]]:
    def remove() -> list[str]:
        for _ in range(100):
            try:
                os.rmdir(path)
            except FileNotFoundError:
                break
            except OSError:  # the last process is gone for us before it is for the group
                select.select([], [], [], 0.005)
            else:
                break
        return []

    return remove


def _clean_up(undo: list[Callable[[], list[str]]]) -> list[str]:
    notes: list[str] = []
    while undo:
        notes += undo.pop()()
    return notes


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _try_write(path: str, text: str) -> None:
    try:
        _write(path, text)
    except OSError:  # an older kernel, or a group that is gone
        return


def _receive(link: _socket.socket) -> dict[str, Any]:
    size = int.from_bytes(_exactly(link, 4), "big")
    request: dict[str, Any] = marshal.loads(_exactly(link, size))
    return request


def _exactly(link: _socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = link.recv(size - len(data))
        if not chunk:
            os._exit(0)  # nobody waits for this command any more
        data += chunk
    return bytes(data)


def _send(link: _socket.socket, message: dict[str, Any]) -> None:
    data = marshal.dumps(message)
    try:
        link.sendall(len(data).to_bytes(4, "big") + data)
    except OSError:  # the owner is gone; its command has been ended
        return
