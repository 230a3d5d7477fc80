"""A shell that stays: its variables, functions and background jobs live from call to call.

Every command is decided by its parts, as for `bash`, in the directory that the shell is in when it
is decided; it runs in that directory, whatever happened meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from bridle.errors import ToolError
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.tools import Done, Failed

if TYPE_CHECKING:
    from bridle.tools.builtin.shells import Shell, Shells

DEFAULT_WAIT = 30.0
LONGEST_WAIT = 600.0
GRACE = 20.0
"""The gate waits this much longer than the call may."""

Action = Literal["start", "send", "read", "stop", "list"]
LOOKING = ("read", "list", "stop")
"""Actions that run nothing. Ending what was started needs no permission."""


def bash_session_tool(shells: Shells) -> Tool:
    """Build the tool over the shells of a harness."""

    def fill(args: dict[str, Any]) -> dict[str, Any]:
        """Say where the command will run, so that it is decided for that place."""
        if args.get("cwd") or args.get("action") != "send":
            return args
        here = shells.directory(args.get("session"))
        return args if here is None else {**args, "cwd": here}

    @tool(
        name="bash_session",
        category=lambda args: "read" if args.get("action") in LOOKING else "execute",
        read_only=lambda args: args.get("action") in LOOKING,
        destructive=lambda args: args.get("action") == "send",
        effect=lambda args: "safe" if args.get("action") in LOOKING else "once",
        timeout=lambda args: _seconds(args) + GRACE,
        command=_command,
        cwd=lambda args: args.get("cwd"),
        fills=fill,
    )
    async def bash_session(
        action: Action,
        ctx: ToolContext[Any],
        session: str | None = None,
        command: str | None = None,
        timeout: float | None = None,
        cwd: str | None = None,
    ) -> Done | Failed:
        """A shell that stays: start one, send commands (& for background jobs), read, stop."""
        seconds = _seconds({"action": action, "timeout": timeout})
        if action == "list":
            return _listed(shells.of(ctx.thread_id))
        if action == "start":
            shell = await shells.start(ctx.scope, shells.place.directory(cwd))
        else:
            shell = shells.find(session or "", ctx.thread_id)
        if action == "stop":
            shell.end("it was stopped")
            await shell.wait(GRACE, until=lambda: False)
        elif action == "read":
            await shell.wait(seconds, until=lambda: shell.has_news or not shell.busy)
        elif command is not None:
            where = shells.place.directory(cwd) if cwd else shell.cwd
            await shell.run(command, where, seconds, ctx.scope)
        elif action == "send":
            raise ToolError("send needs a command.")
        return _told(shells, shell, action)

    return bash_session


def _command(args: dict[str, Any]) -> str | None:
    """What is decided: the command, and for an empty shell a command that does nothing."""
    if args.get("action") in LOOKING:
        return None
    return args.get("command") or "true"


def _seconds(args: dict[str, Any]) -> float:
    wanted = args.get("timeout")
    if wanted is None:
        return 0.0 if args.get("action") == "read" else DEFAULT_WAIT
    return min(max(float(wanted), 0.0), LONGEST_WAIT)


def _listed(alive: list[Shell]) -> Done:
    lines = [f"{s.id}: in {s.cwd}{', a command is running' if s.busy else ''}" for s in alive]
    return Done("\n".join(lines) or "(no sessions)")


def _told(shells: Shells, shell: Shell, action: Action) -> Done | Failed:
    """What the model reads: the output, then the state of the shell."""
    lines = [said.rstrip("\n")] if (said := shell.read()) else []
    failed = False
    if shell.ended is not None:
        shells.forget(shell)
        lines.append(f"[session {shell.id} is over: {shell.ended}]")
        failed = action == "send"
    elif shell.busy:
        lines.append(f"[still running in session {shell.id}; read it again later, or stop it]")
    elif shell.exit_code:
        lines.append(f"[exit code {shell.exit_code}]")
        failed = action in ("send", "start")
    if action == "start" and shell.ended is None:
        lines.append(f"[session {shell.id}]")
    text = "\n".join(lines) or "(no output)"
    return Failed(text, kind="exit_code") if failed else Done(text)
