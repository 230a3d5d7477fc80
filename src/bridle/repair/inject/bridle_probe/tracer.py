"""Which lines of a project run, by `sys.monitoring` where there is one, else by `sys.settrace`."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

TOOL_ID = 4
EXCLUDED_PARTS = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/", "/.tox/", "/.nox/")
IDLE_CALLS = 40
IDLE_LINES = 2000
"""A function that has shown nothing new for so long is left alone until the next test."""


class Tracer:
    """Collects (file, line) pairs for files under the root; `take` hands them over and forgets."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/") + "/"
        self._wanted: dict[str, bool] = {}
        self._lines: set[tuple[str, int]] = set()
        self._idle: dict[CodeType, int] = {}
        self._monitoring: Any = getattr(sys, "monitoring", None)

    def start(self) -> None:
        """Begin to record, in every thread that starts from now on."""
        if self._monitoring is not None:
            self._start_monitoring()
            return
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def stop(self) -> None:
        """Stop recording; what was recorded stays until it is taken."""
        if self._monitoring is not None:
            self._monitoring.set_events(TOOL_ID, 0)
            return
        sys.settrace(None)
        threading.settrace(None)

    def take(self) -> dict[str, list[int]]:
        """Hand over the lines seen since the last call, by file relative to the root."""
        lines, self._lines = self._lines, set()
        self._idle.clear()
        if self._monitoring is not None:
            self._monitoring.restart_events()
        found: dict[str, list[int]] = {}
        for name, line in lines:
            found.setdefault(name[len(self._root) :], []).append(line)
        return {name: sorted(found[name]) for name in sorted(found)}

    def _is_wanted(self, name: str) -> bool:
        known = self._wanted.get(name)
        if known is None:
            inside = name.startswith(self._root)
            known = inside and not any(part in name for part in EXCLUDED_PARTS)
            self._wanted[name] = known
        return known

    def _trace(self, frame: FrameType, event: str, _arg: object) -> Any:
        name = frame.f_code.co_filename
        if event != "call" or not self._is_wanted(name):
            return None
        code = frame.f_code
        idle = self._idle.get(code, 0)
        if idle > IDLE_CALLS:
            return None
        self._idle[code] = idle + 1
        lines = self._lines
        known = 0

        def local(frame: FrameType, event: str, _arg: object) -> Any:
            nonlocal known
            if event == "line":
                place = (name, frame.f_lineno)
                if place not in lines:
                    lines.add(place)
                    self._idle[code] = known = 0
                else:
                    known += 1
                    if known > IDLE_LINES:
                        frame.f_trace_lines = False
            return local

        return local

    def _start_monitoring(self) -> None:
        monitoring = self._monitoring
        if monitoring.get_tool(TOOL_ID) is None:
            monitoring.use_tool_id(TOOL_ID, "bridle-repair")

        def on_line(code: CodeType, line: int) -> Any:
            if self._is_wanted(code.co_filename):
                self._lines.add((code.co_filename, line))
            return monitoring.DISABLE

        monitoring.register_callback(TOOL_ID, monitoring.events.LINE, on_line)
        monitoring.set_events(TOOL_ID, monitoring.events.LINE)
        monitoring.restart_events()
