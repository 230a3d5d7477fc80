"""A bot that goes on where it was when it was killed.

Messages come in through files in `inbox/` (one per message, named by who wrote it), answers go out
to `outbox/`. Each writer has a thread, and each message a run, which is noted with the thread: a
message is sent once however often the bot is killed while it reads; a run that was cut goes on.

    python bot.py DIRECTORY --model anthropic/claude-sonnet-4-5
"""

import argparse
from pathlib import Path

import anyio

from bridle import Agent, Harness, Rules, Session, ToolContext, tool


@tool(category="read", read_only=True)
async def look_up(topic: str, ctx: ToolContext[Path]) -> str:
    """Ask the library for what it has on a topic; it may take days to send it."""
    book = ctx.deps / "library" / f"{Path(topic).name}.txt"
    while not book.exists():
        await anyio.sleep(0.05)
    return book.read_text()


async def serve(harness: Harness, session: Session, place: Path, writer: str) -> None:
    """Read a writer's messages in order; reply to each, and only once."""
    await session.resume()  # what an earlier process left unfinished
    while True:
        for letter in sorted((place / "inbox" / writer).glob("*.txt")):
            reply = place / "outbox" / writer / letter.name
            if not reply.exists():
                await answer(harness, session, letter, reply)
        await anyio.sleep(0.05)


async def answer(harness: Harness, session: Session, letter: Path, reply: Path) -> None:
    """Send a message, or go on with the run that it began before a restart."""
    noted: dict[str, str] = await session.threads.settings.get("letters", {})
    run_id = noted.get(letter.name) or await unnoted(harness, session, noted)
    if run_id is None:
        run_id = session.start(letter.read_text()).id
    await session.threads.settings.set("letters", {**noted, letter.name: run_id})
    result = await session.wait(run_id)
    draft = reply.with_suffix(".part")
    draft.write_text(result.text or f"({result.reason})")
    draft.rename(reply)


async def unnoted(harness: Harness, session: Session, noted: dict[str, str]) -> str | None:
    """The run that was begun just before the bot was killed: the next letter's, as it is first."""
    newest = await harness.runs.list(thread_id=session.thread_id, limit=1)
    run_id = await session.open_run() or (newest[0].run_id if newest else None)
    return None if run_id in noted.values() else run_id


async def main(place: Path, model: str) -> None:
    """Serve everybody who has an inbox."""
    harness = Harness(
        id="bot",
        store=f"sqlite:////{place}/bot.db",
        agent=Agent("You answer letters.", tools=[look_up], deps=place),
        permissions=Rules(tools={"look_up": "allow"}),
        model=model,
    )
    async with harness, anyio.create_task_group() as tasks:
        for writer in sorted(path.name for path in (place / "inbox").iterdir()):
            (place / "outbox" / writer).mkdir(parents=True, exist_ok=True)
            session = await harness.session(resource_id=writer)
            tasks.start_soon(serve, harness, session, place, writer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("place", type=Path)
    parser.add_argument("--model", default="anthropic/claude-sonnet-4-5")
    options = parser.parse_args()
    anyio.run(main, options.place.resolve(), options.model)
