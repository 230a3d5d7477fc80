"""The thread's settings: look one up, change one."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.errors import ToolError
from bridle.ports.tools import Recorded, ThreadLook
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.events import SettingsChanged
from bridle.types.regex import lazy
from bridle.types.tools import Done

RESERVED = ("permissions",)
"""Settings that decide what the model may do; only the user changes them."""

LARGEST = 20_000
_KEY = lazy(r"[A-Za-z_][\w.-]{0,99}")


def get_setting_tool() -> Tool:
    """Build the tool."""

    @tool(name="get_setting", category="read", read_only=True, concurrency_safe=True)
    async def get_setting(ctx: ToolContext[Any], key: str | None = None) -> dict[str, Any]:
        """Look up a setting of this thread, or all of them."""
        settings = await thread_of(ctx).settings()
        if key is None:
            return settings
        if key not in settings:
            have = ", ".join(sorted(settings)) or "none"
            raise ToolError(f"There is no setting {key!r}; have {have}.", kind="not_found")
        return {key: settings[key]}

    return get_setting


def update_setting_tool() -> Tool:
    """Build the tool."""

    @tool(name="update_setting", effect="safe")
    async def update_setting(key: str, value: Any, ctx: ToolContext[Any]) -> Recorded:
        """Change a setting of this thread; it stays when the run is over."""
        if _KEY.fullmatch(key) is None:
            raise ToolError(f"{key!r} is not a name of a setting.")
        if key.partition(".")[0] in RESERVED:
            raise ToolError(f"Only the user changes {key!r}.", kind="reserved")
        if len(msgspec.json.encode(value)) > LARGEST:
            raise ToolError(f"A setting has at most {LARGEST:,} bytes.")
        changed = SettingsChanged(key=key, value=value, call_id=ctx.call_id)
        return Recorded(outcome=Done(f"{key} is set."), events=(changed,))

    return update_setting


def thread_of(ctx: ToolContext[Any]) -> ThreadLook:
    """The call's view of its thread."""
    if ctx.scope.look is None:
        raise ToolError("This call has no thread to look at.")
    return ctx.scope.look
