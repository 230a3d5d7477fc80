"""The last lines of a run: what it waits for, what went wrong, what it changed and spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.app.advice import advice
from bridle.surfaces.cli.output import talk
from bridle.types.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridle.app.results import Pending, RunResult
    from bridle.types.runs import PendingRow

ANSWERS = {
    "approval": "bridle approve {id}",
    "question": "bridle answer {id} TEXT",
    "plan": "bridle answer {id} --approve",
}
SHOWN_FILES = 8


def closing(
    result: RunResult[Any],
    files: Sequence[str] = (),
    *,
    rests: bool = False,
    unchecked: str | None = None,
    checks: Mapping[str, bool] | None = None,
    model: str | None = None,
) -> None:
    """Say how a run ended, or what it waits for."""
    for pending in result.pending:
        talk(f"waiting for you: {title_of(pending)}\n  {_answer(pending)}")
    if result.pending and not result.steps:
        talk("queued: the task starts when the run before it has ended")
    if result.error is not None:
        talk(f"bridle: {result.error.type}: {result.error.message}")
        next_step = advice(result.error.type, model)
    else:
        next_step = advice(result.reason, model, failed=False)
    if next_step is not None:
        talk(next_step)
    if files:
        more = f" and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else ""
        talk(f"changed: {', '.join(files[:SHOWN_FILES])}{more} (undo with: bridle undo)")
    if checks:
        results = [f"{name} {'passed' if passed else 'FAILED'}" for name, passed in checks.items()]
        more = "" if all(checks.values()) else " (why: bridle evidence last)"
        talk(f"checks: {', '.join(results)}{more}")
    if unchecked is not None:
        talk(f"not checked: {unchecked}")
    how = "one step done" if rests else result.reason
    talk(
        f"{how}{f', {result.verdict}' if result.verdict else ''}: "
        f"{counted(result.steps, 'step')}, {counted(result.usage.total_tokens, 'token')}, "
        f"{result.cost_usd:.4f} USD{_unpriced(result, model)}"
    )
    if result.pending or rests:
        talk(f"{'go on with' if rests else 'then'}: bridle run --continue")


def _unpriced(result: RunResult[Any], model: str | None) -> str:
    return "" if result.cost_known else f" (the price of {model or 'the model'} is not known)"


def title_of(pending: Pending | PendingRow) -> str:
    """What is waited for, in a few words."""
    said = pending.args.get("question") or pending.args.get("title")
    if pending.kind in ("question", "plan") and said:
        return str(said)
    title: str = pending.card.get("title", pending.tool)
    return title


def _answer(pending: Pending) -> str:
    return ANSWERS.get(pending.kind, "bridle approvals").format(id=pending.id)
