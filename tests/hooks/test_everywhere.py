"""Cut a run with hooks at its awaits: every call has one result, and every log replays."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from bridle import Hook, HookContext, HookResult, Limits
from kernel.test_cancel import Deadlines, cancel, everywhere, interrupt, pause, strike

STEP = 4
"""Every n-th await is cut here; all of them were, once: it takes a minute."""


async def look_twice(context: HookContext) -> HookResult | None:
    await anyio.sleep(0)
    if context.args.get("name") == "a":
        return HookResult(args={"name": "changed"}, context="not a")
    return None


async def shorten(context: HookContext) -> str:
    await anyio.sleep(0)
    return context.result[:20]


async def once_more(context: HookContext) -> HookResult | None:
    await anyio.sleep(0)
    if context.data["stop_hook_active"]:
        return None
    return HookResult(decision="block", reason="are you sure?")


async def listen(context: HookContext) -> HookResult:
    await anyio.sleep(0)
    return HookResult(context=f"heard {context.event}")


async def listen_quietly(_context: HookContext) -> None:
    await anyio.sleep(0)


HOOKS = [
    Hook(event="PreToolUse", handler=look_twice),
    Hook(event="tool:after_call", type="transform", handler=shorten),
    Hook(event="UserPromptSubmit", handler=listen),
    Hook(event="SubagentStart", handler=listen),
    Hook(event="SubagentStop", handler=once_more),
    Hook(event="conversation:end", type="after", handler=listen_quietly),
    Hook(event="PermissionRequest", handler=listen_quietly),
]


@pytest.mark.parametrize(
    ("cut", "more"),
    [
        (pause, {}),
        (interrupt, {}),
        (cancel, {}),
        (strike, {"make_clock": Deadlines, "limits": Limits(timeout=3600)}),
    ],
    ids=["pause", "interrupt", "cancel", "deadline"],
)
@pytest.mark.timeout(300)
async def test_a_cut_anywhere_leaves_a_log_that_replays(cut: Any, more: dict[str, Any]) -> None:
    assert await everywhere(cut, STEP, hooks=HOOKS, **more) > 60
