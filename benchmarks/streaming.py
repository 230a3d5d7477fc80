"""1,000 sessions that stream at once in one process, with all that a user interface hears.

Every session has a raw listener and a display listener. No model says its first word before all of
them were asked, so all 1,000 streams are open together. The floor is the same streams, read by
plain tasks that keep the text.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
from common import cpu, scratch, table
from sessions import resident

from bridle import Agent, Harness
from bridle.ports.model import Finish, StreamPart, TextDelta
from bridle.types.usage import Usage

SESSIONS, DELTAS = 1000, 50
WORD = "some words "


class Chorus:
    """A model whose streams wait for one another."""

    id, price, context_window = "scripted/chorus", None, None

    def __init__(self) -> None:
        self.asked = 0
        self.together = anyio.Event()

    async def stream(self, _request: Any) -> AsyncIterator[StreamPart]:
        """Speak when everybody is there."""
        self.asked += 1
        if self.asked == SESSIONS:
            self.together.set()
        await self.together.wait()
        for _ in range(DELTAS):
            yield TextDelta(WORD)
            await anyio.sleep(0)
        yield Finish(stop="end_turn", usage=Usage(input_tokens=10, output_tokens=DELTAS))


async def ours() -> dict[str, float]:
    """Megabytes and CPU seconds of the sessions, opened and streaming."""
    with scratch() as directory:
        harness = Harness(
            agent=Agent("Speak."),
            model="scripted/chorus",
            store=f"sqlite:///{directory / 'b.db'}",
            resolve_model=lambda _: model,
        )
        async with harness:
            heard = shown = 0

            def hear(event: Any) -> None:
                nonlocal heard
                heard += event.type == "message_update"

            def show(_snapshot: Any) -> None:
                nonlocal shown
                shown += 1

            model = Chorus()
            sessions = [await harness.session(f"user-{n}") for n in range(SESSIONS)]
            for session in sessions:
                session.events.subscribe(hear)
                session.events.subscribe_display(show)
            before, used = resident(), cpu()
            most = before

            async def speak(session: Any) -> None:
                result = await session.send("Speak.")
                assert result.reason == "end_turn", result

            async def watch() -> None:
                nonlocal most
                await model.together.wait()
                most = max(most, resident())

            async with anyio.create_task_group() as group:
                group.start_soon(watch)
                for session in sessions:
                    group.start_soon(speak, session)
            used = cpu() - used
            assert model.asked == SESSIONS
            assert heard == SESSIONS * DELTAS
            assert shown >= SESSIONS
            texts = {session.display.current_message.text for session in sessions}
            assert texts == {WORD * DELTAS}
            return {"cpu": used, "grown": max(most, resident()) - before, "snapshots": shown}


async def floor() -> float:
    """CPU seconds of the same streams without a harness."""
    model = Chorus()
    kept: list[str] = []

    async def speak() -> None:
        text = ""
        async for part in model.stream(None):
            if isinstance(part, TextDelta):
                text += part.text
        kept.append(text)

    used = cpu()
    async with anyio.create_task_group() as group:
        for _ in range(SESSIONS):
            group.start_soon(speak)
    assert set(kept) == {WORD * DELTAS}
    return cpu() - used


def main() -> None:
    plain = anyio.run(floor)
    found = anyio.run(ours)
    rows = [
        ["CPU ms per session", found["cpu"] / SESSIONS * 1e3, plain / SESSIONS * 1e3],
        [
            "CPU µs per delta",
            found["cpu"] / SESSIONS / DELTAS * 1e6,
            plain / SESSIONS / DELTAS * 1e6,
        ],
        ["kB per session", found["grown"] / SESSIONS * 1e3, ""],
        ["display calls per session", found["snapshots"] / SESSIONS, ""],
    ]
    table(f"{SESSIONS} sessions of {DELTAS} deltas streaming at once", ["", "ours", "plain"], rows)


if __name__ == "__main__":
    main()
