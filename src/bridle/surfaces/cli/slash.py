"""What a person may say beside messages: `/help`, `/model`, `/undo` …"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import UserError, suggest
from bridle.surfaces.cli.output import talk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bridle.app.harness import Harness
    from bridle.app.session import Session
    from bridle.app.undo import Undone

HELP = "/help lists what you may say; Ctrl-C stops a turn, Ctrl-D leaves"


class Leave(Exception):
    """The person is done."""


async def command(harness: Harness, session: Session, line: str) -> Session:
    """Do what a line asks for; returns the session to go on with."""
    name, _, rest = line[1:].partition(" ")
    if name in ("exit", "quit"):
        raise Leave
    if name == "new":
        fresh = await harness.session(new=True)
        talk(f"a new thread: {fresh.thread_id}")
        return fresh
    if name not in COMMANDS:
        raise UserError(suggest(name, [*COMMANDS, "new", "exit"], what="command"))
    await COMMANDS[name][1](session, rest.strip())
    return session


async def _help(_session: Session, _rest: str) -> None:
    for name, (text, _) in COMMANDS.items():
        talk(f"/{name:<14} {text}")
    talk(f"/{'new':<14} begin a new thread")
    talk(f"/{'exit':<14} leave; the thread is kept")


async def _model(session: Session, rest: str) -> None:
    if rest:
        await session.models.switch(rest)
    talk(f"model {session.models.current or '(none)'}")


async def _mode(session: Session, rest: str) -> None:
    if rest:
        await session.modes.switch(rest)
    others = [mode.id for mode in session.modes.list]
    talk(f"mode {session.modes.current.id} of {', '.join(others)}")


async def _undo(session: Session, _rest: str) -> None:
    _tell(await session.checkpoints.undo())


async def _redo(session: Session, _rest: str) -> None:
    _tell(await session.checkpoints.redo())


def _tell(undone: Undone) -> None:
    for path in (*undone.restored, *undone.merged):
        talk(f"restored {path}")
    for text in (*undone.kept, *undone.uncovered):
        talk(f"left alone: {text}")
    talk("the conversation went with the files")


async def _cost(session: Session, _rest: str) -> None:
    used = session.usage
    talk(f"{used.total_tokens} tokens ({used.cached_tokens} cached)")


COMMANDS: dict[str, tuple[str, Callable[[Session, str], Awaitable[None]]]] = {
    "help": ("list these", _help),
    "model": ("tell the model, or change it: /model provider/name", _model),
    "mode": ("tell the mode, or change it", _mode),
    "undo": ("take back the last turn: files and conversation", _undo),
    "redo": ("do it again", _redo),
    "cost": ("what this thread has used", _cost),
}
