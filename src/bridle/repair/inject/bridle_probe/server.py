"""The fork server: collect once, then one child per job, with limits, killed without traces."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import selectors
import signal
import sys
import time
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from bridle_probe.patching import Functions, Overlay, Unpatchable, relocate_sys_path
from bridle_probe.tracer import Tracer
from bridle_probe.watch import Reporter

if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
Suite = Any


class Child:
    """A running job: its process, its pipe, what it said and until when it may be silent."""

    def __init__(self, job: int, pid: int, pipe: int, deadline: float, total: float) -> None:
        self.job = job
        self.pid = pid
        self.pipe = pipe
        self.deadline = deadline
        self.total = total
        self.data = b""
        self.seen = 0


class Server:
    """Reads jobs from one pipe, forks, and writes what came of them to another."""

    def __init__(self, source: int, sink: int, hello: dict[str, Any]) -> None:
        self._source = source
        self._sink = sink
        self._root: str = hello["root"]
        self._hello = hello
        self._children: dict[int, Child] = {}
        self._limits: dict[str, float] = {}
        self._selector = selectors.DefaultSelector()
        self._buffer = b""
        self._open = True
        self._collected: dict[str, list[int]] = {}
        self._suite: Suite = None
        self._functions: Functions | None = None
        self._before: set[int] = set()

    def run(self) -> None:
        """Start as the hello says, then serve until the parent closes the pipe."""
        if self._hello["mode"] == "cold":
            preload(self._hello.get("preload", []))
            self._serve()
            return
        tracer = Tracer(self._root)
        tracer.start()

        def then(suite: Suite) -> None:
            tracer.stop()
            self._collected = tracer.take()
            self._suite = suite
            self._functions = Functions(self._root + "/")
            self._serve()
            os._exit(0)

        code = load(self._hello, then)
        tracer.stop()
        if self._suite is None:
            self._say({"failed": f"the test runner could not start (code {code})"})

    def _serve(self) -> None:
        gc.collect()
        gc.freeze()
        suite = self._suite
        self._say(
            {
                "ready": True,
                "tests": suite.tests if suite else [],
                "errors": suite.errors if suite else {},
                "error_frames": suite.error_frames if suite else {},
                "import_lines": self._collected,
                "modules": list(sys.modules),
            }
        )
        os.set_blocking(self._source, False)
        self._selector.register(self._source, selectors.EVENT_READ, None)
        while self._open:
            for key, _ in self._selector.select(self._patience()):
                if key.data is None:
                    self._read_jobs()
                else:
                    self._read_child(key.data)
            self._kill_late()
        for child in list(self._children.values()):
            self._finish(child, "killed")

    def _patience(self) -> float | None:
        if not self._children:
            return None
        first = min(min(c.deadline, c.total) for c in self._children.values())
        return max(0.0, first - time.monotonic())

    def _read_jobs(self) -> None:
        try:
            data = os.read(self._source, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._open = False
            return
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            order = json.loads(line)
            if "limits" in order:
                self._limits = order["limits"]
            else:
                self._fork(order)

    def _fork(self, order: dict[str, Any]) -> None:
        if self._functions is not None:
            for edit in order["edits"]:
                if "value" in edit:
                    continue
                place = {name: edit[name] for name in ("line", "old", "future")}
                self._functions.prepare(edit["path"], **place)
        receive, send = os.pipe()
        try:
            pid = os.fork()
        except OSError:  # the machine is full: this job is lost, the next may not be
            os.close(receive)
            os.close(send)
            self._say({"job": order["job"], "end": "refused", "facts": []})
            return
        if pid == 0:
            os.close(receive)
            self._work(order, send)
        os.close(send)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        now = time.monotonic()
        child = Child(order["job"], pid, receive, now + order["silence"], now + order["total"])
        self._children[pid] = child
        self._selector.register(receive, selectors.EVENT_READ, child)

    def _work(self, order: dict[str, Any], send: int) -> None:
        """The child: apply the edit, run the tests, never return."""
        code = 1
        try:
            with contextlib.suppress(OSError):
                os.setpgid(0, 0)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            self._selector.close()
            os.close(self._source)
            os.close(self._sink)
            tracer = Tracer(self._root) if order["trace"] else None
            reporter = Reporter(
                send, root=self._root, limits=self._limits, limit=order["limit"], tracer=tracer
            )
            if order["overlay"]:
                tell_children(order["overlay"], self._overlay_file(os.getpid()))
            self._child(order, reporter)
            code = 0
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(send, json.dumps(["x", repr(error)[:500]]).encode() + b"\n")
        finally:
            os._exit(code)

    def _child(self, order: dict[str, Any], reporter: Reporter) -> None:
        if self._hello["mode"] == "cold":
            reporter.arm(order["limit"] + 5.0)
            sys.meta_path.insert(0, Overlay(order["overlay"], moved(self._hello)))

            def then(suite: Suite) -> None:
                wanted = order["tests"] or suite.tests
                suite.run(wanted, reporter=reporter, stop=order["stop"])
                if order["tests"] is None and suite.errors:
                    for name in suite.errors:
                        reporter.begin(name)
                        reporter.end(name, "failed")
                reporter.say("d")
                os._exit(0)

            load(self._hello, then, tests=order["tests"])
            reporter.say("x", "the tests could not be collected")
            return
        try:
            for edit in order["edits"]:
                assert self._functions is not None
                if "value" in edit:
                    self._functions.put(edit)
                    continue
                self._functions.patch(
                    edit["path"],
                    line=edit["line"],
                    old=edit["old"],
                    new=edit["new"],
                    future=edit["future"],
                )
        except Unpatchable as error:
            reporter.say("u", str(error))
            return
        wanted = self._suite.tests if order["tests"] is None else order["tests"]
        self._suite.run(wanted, reporter=reporter, stop=order["stop"])
        reporter.say("d")

    def _overlay_file(self, pid: int) -> str:
        return os.path.join(self._hello["scratch"], f"overlay-{pid}.json")

    def _read_child(self, child: Child) -> None:
        data = os.read(child.pipe, 1 << 20)
        if not data:
            self._finish(child, "ended")
            return
        child.data += data
        *lines, _ = child.data[child.seen :].split(b"\n")
        for line in lines:
            child.seen += len(line) + 1
            if line.startswith(b'["s"'):
                limit = float(json.loads(line)[2])
                child.deadline = time.monotonic() + 2 * limit + 2

    def _kill_late(self) -> None:
        now = time.monotonic()
        for child in list(self._children.values()):
            if now >= min(child.deadline, child.total):
                self._finish(child, "killed")

    def _finish(self, child: Child, end: str) -> None:
        self._selector.unregister(child.pipe)
        os.close(child.pipe)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(child.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(child.pid, 0)
        del self._children[child.pid]
        with contextlib.suppress(OSError):
            os.unlink(self._overlay_file(child.pid))
        orphans(set(self._children) | self._before)
        text = child.data.decode(errors="replace")
        facts = [json.loads(line) for line in text.split("\n")[:-1]]
        self._say({"job": child.job, "end": end, "facts": facts})

    def _say(self, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._sink, data) :]


def load(
    hello: dict[str, Any], then: Callable[[Suite], None], *, tests: list[str] | None = None
) -> int:
    """Collect with the runner that the hello names; `then` gets the suite."""
    if hello["runner"] == "pytest":
        from bridle_probe import pytest_suite

        args = list(hello["args"])
        if tests is not None:
            args += sorted({test.split("::")[0] for test in tests if test})
        _, code = pytest_suite.collect(args, cache=hello["cache"], then=then)
        return code
    from bridle_probe.unittest_suite import UnittestSuite

    then(UnittestSuite(hello["root"]))
    return 0


def preload(names: list[str]) -> None:
    """Import what is not the project's, so that children need not."""
    plugins = plugin_modules()
    for name in names:
        if name.split(".")[0] in plugins or name.startswith("pytest_"):
            continue
        with contextlib.suppress(BaseException):
            import_module(name)


def plugin_modules() -> set[str]:
    """Top-level modules of pytest's plugins: pytest warns about those that it did not load."""
    found = set()
    for entry in metadata.entry_points(group="pytest11"):
        found.add(entry.value.split(":")[0].split(".")[0])
        for file in (entry.dist.files if entry.dist is not None else None) or ():
            found.add(file.parts[0].removesuffix(".py"))
    return found


def moved(hello: dict[str, Any]) -> tuple[str, str] | None:
    """Tell which tree the workspace was copied from."""
    return (hello["original"], hello["root"]) if hello["original"] != hello["root"] else None


def prctl(option: int, value: int) -> None:
    """Ask Linux for a favour; elsewhere do without."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


def tell_children(sources: dict[str, str], file: str) -> None:
    """Let a Python that a test starts import the edited text as well."""
    with open(file, "w", encoding="utf-8") as out:
        json.dump(sources, out)
    os.environ["BRIDLE_REPAIR_OVERLAY"] = file
    place = os.path.join(os.path.dirname(os.path.dirname(__file__)), "child")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = place + (os.pathsep + before if before else "")


def orphans(known: set[int]) -> None:
    """End what a killed child left behind; as their subreaper they are ours to end."""
    with contextlib.suppress(OSError):
        with open(f"/proc/self/task/{os.getpid()}/children") as listing:
            found = {int(word) for word in listing.read().split()}
        for pid in found - known:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def main() -> None:
    """Entry: the first line of standard input says what to do."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(source, 1)
        if not piece:
            return
        line += piece
    hello = json.loads(line)
    os.chdir(hello["root"])
    sys.argv = ["pytest" if hello["runner"] == "pytest" else "unittest"]
    relocate_sys_path(hello["original"], hello["root"])
    place = moved(hello)
    if hello["mode"] == "hot" and place:
        sys.meta_path.insert(0, Overlay({}, place))
    Server(source, sink, hello).run()
    sys.stdout.flush()
    os._exit(0)
