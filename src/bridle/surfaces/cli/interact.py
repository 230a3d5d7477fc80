"""Answer what a run asks, on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

import anyio.to_thread
import click
import msgspec

from bridle.errors import UserError
from bridle.surfaces.cli.output import talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.app.results import Pending, RunResult

Prompt = Callable[[str, str | None], Awaitable[str]]
"""Asks for a line; an empty one is the default, where there is one."""

HELP = "y yes · n no · a always · e edit · w why · q leave it for later"


class Answering(Protocol):
    """What answers are given to: a session."""

    async def approve(self, id: str, args: dict[str, Any] | None = None) -> str:
        """Let a call run."""
        ...

    async def decline(self, id: str, reason: str | None = None) -> str:
        """Do not let a call run."""
        ...

    async def always_allow(self, id: str, scope: str) -> str:
        """Let it run, and more of its kind."""
        ...

    async def answer(self, id: str, answer: str | Sequence[str]) -> str:
        """Answer a question."""
        ...

    async def answer_plan(self, id: str, approved: bool, feedback: str | None = None) -> str:
        """Approve a plan or not."""
        ...


def can_ask() -> bool:
    """Whether a person sits at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm_trust(told: str) -> bool:
    """Show what a project brings and ask whether it may be used."""
    talk(f"This project brings what is not trusted yet:\n{told}")
    agreed: bool = click.confirm("Trust it as it is now?", default=False, err=True)
    return agreed


async def answer_all(
    session: Answering, result: RunResult[Any], prompt: Prompt | None = None
) -> bool:
    """Ask for every answer that is needed; False when the person leaves one for later."""
    ask = prompt or _prompt
    for pending in result.pending:
        while True:
            try:
                if not await _answer(session, pending, ask):
                    return False
            except UserError as error:
                talk(f"{error}")
                continue
            except click.Abort:  # the end of the input
                talk("")
                return False
            break
    return True


async def _answer(session: Answering, pending: Pending, ask: Prompt) -> bool:
    match pending.kind:
        case "approval":
            return await _approval(session, pending, ask)
        case "question":
            return await _question(session, pending, ask)
        case "plan":
            return await _plan(session, pending, ask)
        case _:
            talk(f"{pending.id} waits for its tool; it cannot be answered here.")
            return False


async def _approval(session: Answering, pending: Pending, ask: Prompt) -> bool:
    show_card(pending)
    while True:
        said = (await ask(f"Run it? [{HELP}]", None)).strip().lower()
        if said in ("y", "yes"):
            await session.approve(pending.id)
        elif said in ("n", "no"):
            reason = await ask("Why not? (told to the model)", "")
            await session.decline(pending.id, reason or None)
        elif said in ("a", "always"):
            if not (always := pending.card.get("always")):
                talk("  it is asked each time, whatever you allow")
                continue
            await session.always_allow(pending.id, always[0]["scope"])
        elif said in ("e", "edit"):
            await session.approve(pending.id, await _edited(pending, ask))
        elif said in ("w", "why"):
            talk(f"  {pending.card.get('reason') or 'nothing allows it'}")
            continue
        elif said in ("q", "quit"):
            return False
        else:
            continue
        return True


async def _edited(pending: Pending, ask: Prompt) -> dict[str, Any]:
    text = await ask("Arguments", msgspec.json.encode(pending.args).decode())
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UserError(f"That is not a JSON object: {error}") from error


async def _question(session: Answering, pending: Pending, ask: Prompt) -> bool:
    talk(f"? {pending.args.get('question', '')}")
    options = pending.args.get("options", ())
    for number, option in enumerate(options, 1):
        talk(f"  {number}. {option['label']}  {option.get('description', '')}".rstrip())
    said = await ask("Answer (q leaves it for later)", None)
    if said.strip() == "q":
        return False
    labels = [option["label"] for option in options]
    chosen = [_label(part.strip(), labels) for part in said.split(",")] if labels else [said]
    await session.answer(pending.id, chosen if len(chosen) > 1 else chosen[0])
    return True


def _label(said: str, labels: list[str]) -> str:
    return labels[int(said) - 1] if said.isdigit() and 0 < int(said) <= len(labels) else said


async def _plan(session: Answering, pending: Pending, ask: Prompt) -> bool:
    talk(f"{pending.args.get('title', 'Plan')}\n\n{pending.args.get('plan', '')}\n")
    said = (await ask("Carry it out? [y · n · q leave it for later]", None)).strip().lower()
    if said == "q":
        return False
    approved = said in ("y", "yes")
    feedback = None if approved else await ask("What should change?", "")
    await session.answer_plan(pending.id, approved, feedback or None)
    return True


def show_card(pending: Pending) -> None:
    """Show what a call would do, and what "always" would allow."""
    card = pending.card
    talk(f"\n{card.get('title', pending.tool)}")
    for name in ("command", "diff"):
        if text := card.get(name):
            talk("\n".join(f"  | {line}" for line in text.splitlines()))
    for name, title in (("files", "files"), ("hosts", "hosts"), ("unnamed", "cannot be named")):
        if values := card.get(name):
            talk(f"  {title}: {', '.join(values)}")
    if not any(card.get(name) for name in ("command", "diff", "files", "hosts")):
        talk(f"  {msgspec.json.encode(pending.args).decode()[:600]}")
    if card.get("cost_usd") is not None:
        talk(f"  costs: {card['cost_usd']:.4f} USD")
    if "reversible" in card:
        talk(f"  {'can' if card['reversible'] else 'cannot'} be undone: {card.get('undo', '')}")
    if always := card.get("always"):
        talk(f"  always: {always[0]['matches']}")


async def _prompt(text: str, default: str | None = None) -> str:
    def ask() -> str:
        answer: str = click.prompt(text, default=default, err=True, show_default=bool(default))
        return answer

    return await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
