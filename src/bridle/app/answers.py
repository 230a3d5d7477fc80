"""Answers to what waits: checked against what was asked, then admitted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.errors import AnswerError
from bridle.types.content import ToolCall
from bridle.types.ops import Approve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.app.attachment import Attachment
    from bridle.app.waiting import Runs
    from bridle.types.ops import Op
    from bridle.types.runs import PendingRow


def article(kind: str) -> str:
    """The kind of something that waits, as it is said."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


class Answers:
    """Answers for the thread that a session is attached to, and for its children."""

    def __init__(self, attachment: Attachment, runs: Runs) -> None:
        self._attachment = attachment
        self._runs = runs

    async def give(self, pending_id: str, kind: str, op: Op) -> str:
        """Admit an answer; returns the run of the session's thread that goes on by it."""
        rows = [row for row in await self._runs.pending() if row.id == pending_id]
        if not rows:
            raise AnswerError(
                f"Nothing waits for an answer to {pending_id!r}. It was answered, or its run ended."
            )
        row = rows[0]
        if row.kind != kind:
            raise AnswerError(f"{pending_id} is {article(row.kind)}, not {article(kind)}.")
        if isinstance(op, Approve):
            await self._check_approval(row, op)
        if not await self._attachment.journal.admit(
            row.thread_id, op, input_id=f"{pending_id}.answer"
        ):
            raise AnswerError(f"{pending_id} was answered already.")
        if row.thread_id == self._attachment.thread.id:
            return row.run_id
        return await self._runs.open_run() or row.run_id

    async def _check_approval(self, row: PendingRow, op: Approve) -> None:
        """Refuse an approval that could not have its effect; the call still waits for another."""
        if op.always is not None:
            check_always(row.card, op.always)
        if op.args is None:
            return
        attachment = self._attachment
        state = await attachment.journal.fold(row.thread_id)
        call = ToolCall(id=row.call_id, tool=row.tool, args=op.args)
        facts = attachment.blueprint.described(state, call)
        if facts.problem is not None and facts.problem_kind == "invalid_arguments":
            raise AnswerError(f"{facts.problem}\nThe call still waits for an answer.")

    def check_choice(self, id: str, answer: str | list[str]) -> None:
        """A chosen answer must be one of the options; only a multiple choice takes several."""
        asked = next((p for p in self._attachment.shown.view.pending if p.id == id), None)
        if asked is not None:
            check_choice(asked.args, answer)


def check_always(card: Mapping[str, Any], scope: str) -> None:
    """Refuse a scope by which nothing would be granted; what there is stands on the card."""
    scopes = [way["scope"] for way in card.get("always", ())]
    if scope == "pattern" and scope not in scopes:
        raise AnswerError(f"No pattern describes this call; have {', '.join(scopes) or 'none'}.")


def check_choice(asked: Mapping[str, Any], answer: str | list[str]) -> None:
    """Refuse an answer that the question does not allow."""
    labels = [option["label"] for option in asked.get("options", ())]
    if not labels:
        return
    chosen = [answer] if isinstance(answer, str) else answer
    if len(chosen) != 1 and asked.get("selection_mode") != "multi_select":
        raise AnswerError(f"Choose one of: {', '.join(labels)}.")
    for label in chosen:
        if label not in labels:
            raise AnswerError(f"{label!r} is not an option; have {', '.join(labels)}.")
