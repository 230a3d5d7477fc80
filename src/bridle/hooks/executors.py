"""Run one hook: a Python function, a command under the supervisor, or a request to a URL."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec

from bridle.errors import BridleError, ToolError
from bridle.hooks.content import changed_content
from bridle.hooks.dialect import told_as
from bridle.hooks.handlers import load_handler
from bridle.hooks.protocol import HookFailed, of_process, of_text, of_value
from bridle.ports.processes import OutputLimits
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from bridle.hooks.define import Bound, HookContext, HookResult
    from bridle.models.http import HttpClient
    from bridle.ports.processes import Processes
    from bridle.ports.sandbox import Sandbox

LONGEST_ANSWER = 1024 * 1024
OUTPUT = OutputLimits(keep=LONGEST_ANSWER, total=16 * LONGEST_ANSWER)


class Executors(Fixed, frozen=True, kw_only=True):
    """Where hooks run: a project's commands in the sandbox of its workspace, the user's own not."""

    processes: Processes
    http: HttpClient
    sandbox: Sandbox | None = None
    cwd: str = "."

    async def run(self, bound: Bound, context: HookContext) -> HookResult:
        """Run a hook to its answer; raises `HookFailed` for everything that is not one."""
        try:
            _check_content(bound)
            with anyio.fail_after(bound.hook.timeout + 1):  # a command is stopped by its own limit
                return await self._run(bound, context)
        except TimeoutError:
            raise HookFailed(f"it did not end within {bound.hook.timeout:g} s") from None
        except HookFailed:
            raise
        except ToolError as error:
            raise HookFailed(error.message) from error
        except BridleError as error:
            raise HookFailed(str(error)) from error
        except OSError as error:
            raise HookFailed(f"it cannot be run: {error}") from error

    async def _run(self, bound: Bound, context: HookContext) -> HookResult:
        if bound.hook.command is not None:
            return await self._command(bound, context, bound.hook.command)
        with anyio.fail_after(bound.hook.timeout):
            if bound.hook.url is not None:
                return await self._post(bound, context, bound.hook.url)
            return of_value(bound, await self._call(bound, context))

    async def _command(self, bound: Bound, context: HookContext, command: str) -> HookResult:
        if bound.layer == "project" and self.sandbox is None:
            raise HookFailed("there is no workspace in whose sandbox it could run")
        place = str(bound.root or self.cwd)
        done = await self.processes.run(
            ["bash", "-c", command],
            sandbox=self.sandbox if bound.layer == "project" else None,
            cwd=place,
            env={"CLAUDE_PROJECT_DIR": place, "BRIDLE_PROJECT_DIR": place},
            timeout=bound.hook.timeout,
            stdin=msgspec.json.encode(told_as(bound, context.data)) + b"\n",
            stderr="separate",
            output=OUTPUT,
        )
        return of_process(bound, done)

    async def _post(self, bound: Bound, context: HookContext, url: str) -> HookResult:
        response = await self.http.send(
            "POST",
            url,
            headers=[("Content-Type", "application/json"), ("Accept", "application/json")],
            body=msgspec.json.encode(told_as(bound, context.data)),
        )
        try:
            body = await response.read(LONGEST_ANSWER)
        finally:
            await response.aclose()
        if not 200 <= response.status < 300:
            raise HookFailed(f"{url} answered with status {response.status}")
        return of_text(bound, body.decode("utf-8", "replace"))

    async def _call(self, bound: Bound, context: HookContext) -> Any:
        given = bound.hook.handler
        handler = load_handler(given, bound.root) if isinstance(given, str) else given
        assert handler is not None
        own = msgspec.structs.replace(context, data=copy.deepcopy(context.data))
        try:  # a copy: what is decided about a call is not changed behind the gate's back
            if inspect.iscoroutinefunction(handler):
                return await handler(own)
            found = await anyio.to_thread.run_sync(handler, own, abandon_on_cancel=True)
            return await found if inspect.isawaitable(found) else found
        except TimeoutError:
            raise
        except (Exception, SystemExit) as error:
            raise HookFailed(f"it raised {type(error).__name__}: {error}") from error


def _check_content(bound: Bound) -> None:
    """What a project's hook names must be what was trusted, also when an agent could write it."""
    changed = changed_content(bound) if bound.layer == "project" else None
    if changed is not None:
        raise HookFailed(f"{changed} was changed after it was trusted")
