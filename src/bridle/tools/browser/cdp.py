"""The DevTools protocol over a pipe: JSON messages that end with a NUL.

A pipe rather than a websocket: nothing listens on the machine that a page or another user could
reach, it works from outside of the sandbox's network, and it ends with the process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec

from bridle.errors import ToolError
from bridle.types.base import Moving

MAX_MESSAGE = 64_000_000
Listener = Callable[[str, dict[str, Any]], None]
"""Told the name of an event and its parameters."""


class _Waiting(Moving):
    done: anyio.Event
    result: dict[str, Any] | None = None
    error: str | None = None


class Connection:
    """Sends commands, matches answers to them, and hands out events."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self.closed: str | None = None
        self.listeners: list[Listener] = []
        self._send = send
        self._sending = anyio.Lock()
        self._last = 0
        self._waiting: dict[int, _Waiting] = {}
        self._rest = bytearray()

    async def call(
        self, method: str, *, session: str | None = None, seconds: float = 30.0, **params: Any
    ) -> dict[str, Any]:
        """Send a command and wait for its answer; raises `ToolError` where it fails."""
        self._last += 1
        number = self._last
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        waiting = self._waiting[number] = _Waiting(anyio.Event())
        try:
            with anyio.fail_after(seconds):
                async with self._sending:
                    self._check_open()
                    await self._send(msgspec.json.encode(message) + b"\0")
                await waiting.done.wait()
        except TimeoutError:
            raise ToolError(
                f"The page did not answer within {seconds:g} s ({method}).",
                hint="It may be busy or hang; open it again.",
                kind="timeout",
            ) from None
        except (BrokenPipeError, anyio.ClosedResourceError):
            raise self._ended() from None
        finally:
            self._waiting.pop(number, None)
        if waiting.result is None:
            if self.closed is not None and waiting.error is None:
                raise self._ended()
            raise ToolError(f"The browser refused {method}: {waiting.error}.", kind="browser")
        return waiting.result

    def feed(self, data: bytes) -> None:
        """Take bytes that the browser wrote."""
        self._rest += data
        while (end := self._rest.find(b"\0")) >= 0:
            message = bytes(self._rest[:end])
            del self._rest[: end + 1]
            try:
                self._take(msgspec.json.decode(message))
            except msgspec.DecodeError:
                self.close("it sent what is not JSON")
        if len(self._rest) > MAX_MESSAGE:
            self.close("it sent a message that is too large")

    def close(self, why: str) -> None:
        """Nothing comes any more; whoever waits is told."""
        self.closed = self.closed or why
        for waiting in list(self._waiting.values()):
            waiting.done.set()

    def _take(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if number is None:
            for listener in list(self.listeners):
                listener(str(message.get("method")), message.get("params") or {})
            return
        waiting = self._waiting.get(number)
        if waiting is None:  # nobody waits for it any more
            return
        if "error" in message:
            waiting.error = str(message["error"].get("message", "no reason"))[:500]
        else:
            waiting.result = message.get("result") or {}
        waiting.done.set()

    def _check_open(self) -> None:
        if self.closed is not None:
            raise self._ended()

    def _ended(self) -> ToolError:
        return ToolError(
            f"The browser is gone: {self.closed or 'its process ended'}.",
            hint="Call navigate to start it again.",
            kind="browser_gone",
        )
