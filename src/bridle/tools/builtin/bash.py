"""Run a shell command in the workspace, in its sandbox, under the supervisor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.tools import Done, Failed

if TYPE_CHECKING:
    from bridle.ports.processes import ProcessResult, Stream
    from bridle.tools.builtin.workspace import Workplace

DEFAULT_TIMEOUT = 120.0
LONGEST_TIMEOUT = 3600.0
GRACE = 10.0
"""The gate waits this much longer than the command may run."""


def bash_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""

    @tool(
        name="bash",
        category="execute",
        destructive=True,
        timeout=lambda args: _seconds(args.get("timeout")) + GRACE,
        command=lambda args: args.get("command"),
        cwd=lambda args: args.get("cwd"),
    )
    async def bash(
        command: str,
        ctx: ToolContext[Any],
        timeout: float | None = None,
        cwd: str | None = None,
    ) -> Done | Failed:
        """Run a command with bash in the workspace and return its output and exit code."""
        where = place.directory(cwd)

        async def tell(stream: Stream, text: str) -> None:
            ctx.scope.output(stream, text)

        result = await place.processes.run(
            ["bash", "-c", command],
            sandbox=place.sandbox,
            cwd=where,
            env=ctx.scope.secrets,
            timeout=_seconds(timeout),
            on_output=tell,
        )
        return _told(result)

    return bash


def _seconds(wanted: float | None) -> float:
    if wanted is None:
        return DEFAULT_TIMEOUT
    return min(max(float(wanted), 0.1), LONGEST_TIMEOUT)


def _told(result: ProcessResult) -> Done | Failed:
    """What the model reads: the output, then how it ended. A failed command is a failed call."""
    output = result.stdout if not result.notes else "\n".join((result.stdout, *result.notes))
    if result.exit_code == 0 and result.killed is None:
        return Done(output or "(no output)")
    return Failed(f"{output.rstrip()}\n[exit code {result.exit_code}]".lstrip(), kind="exit_code")
