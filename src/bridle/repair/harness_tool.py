"""`try_edits` as a tool of the harness: the search runs in the sandbox, on copies."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ToolError
from bridle.repair.report import Progress, RepairReport
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.tools import Done

if TYPE_CHECKING:
    from bridle.ports.processes import Stream
    from bridle.tools.builtin.workspace import Workplace

DEFAULT_SECONDS = 60.0
LONGEST_SECONDS = 1800.0
GRACE = 60.0

_progress = msgspec.json.Decoder(Progress)
_report = msgspec.json.Decoder(RepairReport)


def try_edits_tool(place: Workplace, *, seconds: float = DEFAULT_SECONDS) -> Tool:
    """Build the tool for a workspace; the project is read, never written."""

    @tool(
        name="try_edits",
        category="execute",
        effect="safe",
        timeout=lambda args: _seconds(args.get("time_budget"), seconds) + GRACE,
    )
    async def try_edits(ctx: ToolContext[Any], time_budget: float | None = None) -> Done:
        """Run the tests, find the bug and look for an edit with which all tests pass."""
        budget = _seconds(time_budget, seconds)

        async def tell(stream: Stream, text: str) -> None:
            if stream == "stderr":
                for line in text.splitlines():
                    _tell(ctx, line)

        result = await place.processes.run(
            [sys.executable, "-m", "bridle.repair", str(place.root), str(budget), "--json"],
            sandbox=place.sandbox,
            cwd=str(place.root),
            timeout=budget + GRACE / 2,
            on_output=tell,
            stderr="separate",
        )
        try:
            report = _report.decode(result.stdout.strip())
        except msgspec.DecodeError as error:
            tail = "\n".join((result.stderr[-2000:], *result.notes))
            raise ToolError(f"The repair did not come to an end:\n{tail}") from error
        return Done(msgspec.json.encode(report).decode())

    return try_edits


def _seconds(wanted: float | None, default: float) -> float:
    return default if wanted is None else min(max(float(wanted), 1.0), LONGEST_SECONDS)


def _tell(ctx: ToolContext[Any], line: str) -> None:
    try:
        progress = _progress.decode(line)
    except msgspec.DecodeError:
        return  # a line of the tests themselves, or half of one
    count = f" {progress.tried}/{progress.candidates}" if progress.candidates else ""
    ctx.progress(f"{progress.phase}{count}: {progress.message}")
