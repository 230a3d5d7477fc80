"""Answer what a run asks, on the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import click
import msgspec

from bridle.errors import UserError
from bridle.surfaces.cli.output import talk

if TYPE_CHECKING:
    from bridle.app.results import Pending, RunResult
    from bridle.app.session import Session

HELP = "y yes · n no · a always · e edit · w why · q leave it for later"


def can_ask() -> bool:
    """Whether a person sits at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm_trust(told: str) -> bool:
    """Show what a project brings and ask whether it may be used."""
    talk(f"This project brings what is not trusted yet:\n{told}")
    agreed: bool = click.confirm("Trust it as it is now?", default=False, err=True)
    return agreed


async def answer_all(session: Session, result: RunResult[Any]) -> bool:
    """Ask for every answer that is needed; False when the person leaves one for later."""
    for pending in result.pending:
        while True:
            try:
                if not await _answer(session, pending):
                    return False
            except UserError as error:
                talk(f"{error}")
                continue
            break
    return True


async def _answer(session: Session, pending: Pending) -> bool:
    match pending.kind:
        case "approval":
            return await _approval(session, pending)
        case "question":
            return await _question(session, pending)
        case "plan":
            return await _plan(session, pending)
        case _:
            talk(f"{pending.id} waits for its tool; it cannot be answered here.")
            return False


async def _approval(session: Session, pending: Pending) -> bool:
    show_card(pending)
    while True:
        said = (await _prompt(f"Run it? [{HELP}]")).strip().lower()
        if said in ("y", "yes"):
            await session.approve(pending.id)
        elif said in ("n", "no"):
            reason = await _prompt("Why not? (told to the model)", default="")
            await session.decline(pending.id, reason or None)
        elif said in ("a", "always"):
            await session.always_allow(pending.id)
        elif said in ("e", "edit"):
            await session.approve(pending.id, await _edited(pending))
        elif said in ("w", "why"):
            talk(f"  {pending.card.get('reason') or 'nothing allows it'}")
            continue
        elif said in ("q", "quit"):
            return False
        else:
            continue
        return True


async def _edited(pending: Pending) -> dict[str, Any]:
    text = await _prompt("Arguments", default=msgspec.json.encode(pending.args).decode())
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UserError(f"That is not a JSON object: {error}") from error


async def _question(session: Session, pending: Pending) -> bool:
    talk(f"? {pending.args.get('question', '')}")
    options = pending.args.get("options", ())
    for number, option in enumerate(options, 1):
        talk(f"  {number}. {option['label']}  {option.get('description', '')}".rstrip())
    said = await _prompt("Answer (q leaves it for later)")
    if said.strip() == "q":
        return False
    labels = [option["label"] for option in options]
    chosen = [_label(part.strip(), labels) for part in said.split(",")] if labels else [said]
    await session.answer(pending.id, chosen if len(chosen) > 1 else chosen[0])
    return True


def _label(said: str, labels: list[str]) -> str:
    return labels[int(said) - 1] if said.isdigit() and 0 < int(said) <= len(labels) else said


async def _plan(session: Session, pending: Pending) -> bool:
    talk(f"{pending.args.get('title', 'Plan')}\n\n{pending.args.get('plan', '')}\n")
    said = (await _prompt("Carry it out? [y · n · q leave it for later]")).strip().lower()
    if said == "q":
        return False
    approved = said in ("y", "yes")
    feedback = None if approved else await _prompt("What should change?", default="")
    await session.answer_plan(pending.id, approved, feedback or None)
    return True


def show_card(pending: Pending) -> None:
    """Show what a call would do."""
    card = pending.card
    talk(f"\n{card.get('title', pending.tool)}")
    for name in ("command", "files", "hosts", "reversible"):
        value = card.get(name)
        if value not in (None, [], "") and not (name == "command" and pending.tool == "bash"):
            shown = ", ".join(value) if isinstance(value, list) else value
            talk(f"  {name}: {shown}")
    if pending.tool != "bash":
        talk(f"  {msgspec.json.encode(pending.args).decode()[:600]}")


async def _prompt(text: str, default: str | None = None) -> str:
    def ask() -> str:
        answer: str = click.prompt(text, default=default, err=True, show_default=bool(default))
        return answer

    return await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
