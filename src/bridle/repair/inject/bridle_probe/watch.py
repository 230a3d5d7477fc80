"""What a child says about its tests, line by line, so that a killed child loses nothing said."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from bridle_probe.tracer import Tracer

MESSAGE_LIMIT = 3000


class Reporter:
    """Writes one JSON line per fact; keeps the CPU limit of the running test.

    Without a tracer a test over its limit dies by the timer's signal. With one, the child first
    tells which lines ran and where it was: an endless loop must show up in the spectrum.
    """

    def __init__(
        self, fd: int, *, root: str, limits: dict[str, float], limit: float, tracer: Tracer | None
    ) -> None:
        self._fd = fd
        self._root = root
        self._limits = limits
        self._limit = limit
        self._tracer = tracer
        self._current = ""
        self._began = 0.0
        self._details: dict[str, dict[str, Any]] = {}
        if tracer is not None:
            signal.signal(signal.SIGPROF, self._on_timer)

    def say(self, *fact: object) -> None:
        """Send one fact."""
        data = json.dumps(fact).encode() + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]

    def begin(self, test: str) -> None:
        """A test starts: arm its limit."""
        self._current = test
        limit = self._limits.get(test, self._limit)
        self.say("s", test, limit)
        self._began = time.perf_counter()
        self.arm(limit)
        if self._tracer is not None:
            self._tracer.start()

    def arm(self, seconds: float) -> None:
        """Limit the CPU time from here to the next test."""
        signal.setitimer(signal.ITIMER_PROF, seconds)

    def note_failure(self, test: str, error: BaseException, trace: TracebackType | None) -> None:
        """Keep what is known of a failure until the test ends."""
        message = f"{type(error).__name__}: {error}"[:MESSAGE_LIMIT]
        self._details.setdefault(
            test, {"message": message, "frames": frames(trace, root=self._root)}
        )

    def end(self, test: str, outcome: str) -> None:
        """A test ended: tell how, what ran, and how long it took."""
        seconds = time.perf_counter() - self._began
        signal.setitimer(signal.ITIMER_PROF, 0)
        if self._tracer is not None:
            self._tracer.stop()
            self.say("c", test, self._tracer.take())
        self.say("e", test, outcome, round(seconds, 4), self._details.pop(test, None))

    def _on_timer(self, _number: int, frame: FrameType | None) -> None:
        if self._tracer is not None:
            self._tracer.stop()
            self.say("c", self._current, self._tracer.take())
        detail = {"message": "time limit", "frames": stack(frame, root=self._root)}
        self.say("e", self._current, "timeout", self._limit, detail)
        os._exit(3)


def frames(trace: TracebackType | None, *, root: str) -> list[tuple[str, int]]:
    """List the places of a traceback that lie in the project, the deepest last."""
    found = []
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(root):
            found.append((name[len(root) + 1 :], trace.tb_lineno))
        trace = trace.tb_next
    return found[-40:]


def stack(frame: FrameType | None, *, root: str) -> list[tuple[str, int]]:
    """List the places of a running stack that lie in the project, the deepest last."""
    found = []
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(root):
            found.append((name[len(root) + 1 :], frame.f_lineno))
        frame = frame.f_back
    return found[:40][::-1]
