"""The evidence of a run: what was asked, decided, changed, checked and spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.runs.cost import Costs, costs
from bridle.runs.summary import summarise
from bridle.runs.verify import Verified
from bridle.runs.words import call_words, told
from bridle.types import events as ev
from bridle.types.base import Fact
from bridle.types.content import plain_text
from bridle.types.ops import Send, Steer
from bridle.types.permissions import Verdict
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridle.runs.tree import Family

SAID_LINES = 12


class Asked(Fact, frozen=True, kw_only=True):
    """Something that a person said."""

    id: str
    at: str
    what: str


class Decided(Fact, frozen=True, kw_only=True):
    """What was decided about a call, by which rule, and what became of it."""

    id: str
    run_id: str
    call: str
    effect: Verdict
    rule: str
    layer: str
    source: str | None
    reason: str | None
    answer: str | None
    outcome: str


class Change(Fact, frozen=True, kw_only=True):
    """One file and what happened to it."""

    path: str
    status: str
    calls: tuple[str, ...] = ()


class Checked(Fact, frozen=True, kw_only=True):
    """A check of the result, and the end of what a failed one said."""

    id: str
    name: str
    passed: bool
    exit_code: int | None
    duration_ms: int
    said: str = ""


class Evidence(Fact, frozen=True, kw_only=True):
    """Everything that a reviewer asks for; every row names its event.

    `changes_from` is `trees` where the saved trees were compared, `calls` where only the calls say
    what they touched.
    """

    run_id: str
    thread_id: str
    task: str
    model: str | None
    started_at: str
    ended_at: str | None
    reason: str | None
    verdict: str | None
    error: Failure | None
    text: str
    runs: tuple[str, ...]
    asked: tuple[Asked, ...]
    decided: tuple[Decided, ...]
    changed: tuple[Change, ...]
    changes_from: str
    uncovered: tuple[str, ...]
    checked: tuple[Checked, ...]
    spent: Costs
    record: Verified


def evidence(
    whole: Family,
    log: Sequence[ev.DurableEvent],
    record: Verified,
    changes: Mapping[str, Sequence[Change]] | None,
) -> Evidence:
    """Fold a run and those below it; `log` is the whole log of its thread."""
    summary = summarise(whole.run_id, whole.events)
    everyone = list(whole.everyone())
    started = next((e for e in whole.events if isinstance(e, ev.RunStarted)), None)
    ended = next((e for e in whole.events if isinstance(e, ev.RunEnded)), None)
    return Evidence(
        run_id=whole.run_id,
        thread_id=whole.thread_id,
        task=summary.task,
        model=summary.model,
        started_at=started.at if started is not None else "",
        ended_at=ended.at if ended is not None else None,
        reason=summary.reason,
        verdict=summary.verdict,
        error=summary.error,
        text=summary.text,
        runs=tuple(member.run_id for member in everyone),
        asked=tuple(_asked(whole, log)),
        decided=tuple(row for member in everyone for row in _decided(member)),
        changed=_changed(everyone, changes),
        changes_from="calls" if changes is None else "trees",
        uncovered=tuple(
            f"{event.call_id}: {event.problem}"
            for member in everyone
            for event in member.events
            if isinstance(event, ev.CheckpointTaken) and event.problem is not None
        ),
        checked=tuple(
            Checked(
                id=event.id,
                name=event.name,
                passed=event.passed,
                exit_code=event.exit_code,
                duration_ms=event.duration_ms,
                said="" if event.passed else last_lines(event.output),
            )
            for event in whole.events
            if isinstance(event, ev.CheckEnded)
        ),
        spent=costs([whole]),
        record=record,
    )


def _asked(whole: Family, log: Sequence[ev.DurableEvent]) -> Iterator[Asked]:
    """What people said: the inputs that the run dealt with, and answers to what it asked."""
    consumed = {name for event in whole.events for name in getattr(event, "consumes", ())}
    for event in log:
        if isinstance(event, ev.InputAdmitted) and event.input_id in consumed:
            op = event.op
            said = plain_text(op.parts) if isinstance(op, Send | Steer) else told(event)
            if not said.startswith("a subagent ended"):
                yield Asked(id=event.id, at=event.at, what=said)
        elif event.run_id == whole.run_id and isinstance(event, ev.QuestionAnswered):
            yield Asked(id=event.id, at=event.at, what=f"answered: {event.answer}")


def _decided(member: Family) -> Iterator[Decided]:
    called = {e.call_id: e for e in member.events if isinstance(e, ev.ToolCalled)}
    returned = {e.call_id: e for e in member.events if isinstance(e, ev.ToolReturned)}
    answered = {e.call_id: e for e in member.events if isinstance(e, ev.ApprovalAnswered)}
    for event in member.events:
        if not isinstance(event, ev.PermissionDecided) or event.call_id not in called:
            continue
        answer = answered.get(event.call_id) if event.effect == "ask" else None
        yield Decided(
            id=event.id,
            run_id=member.run_id,
            call=call_words(called[event.call_id]),
            effect=event.effect,
            rule=event.rule,
            layer=event.layer,
            source=event.source,
            reason=event.reason,
            answer=None if answer is None else ("approved" if answer.approved else "rejected"),
            outcome=_outcome(returned.get(event.call_id)),
        )


def _outcome(event: ev.ToolReturned | None) -> str:
    if event is None:
        return "open"
    if event.denied:
        return "denied"
    if event.ambiguous:
        return "unknown"
    return "failed" if event.is_error else "done"


def _changed(
    everyone: Sequence[Family], changes: Mapping[str, Sequence[Change]] | None
) -> tuple[Change, ...]:
    found: dict[str, Change] = {}
    if changes is None:
        changes = _touched(everyone)
    for call_id, files in changes.items():
        for file in files:
            before = found.get(file.path)
            if before is None:
                found[file.path] = msgspec.structs.replace(file, calls=(call_id,))
            else:
                status = _together(before.status, file.status)
                calls = (*before.calls, call_id)
                found[file.path] = Change(path=file.path, status=status, calls=calls)
    return tuple(change for change in found.values() if change.status != "none")


def _together(first: str, then: str) -> str:
    if first == "added":
        return "none" if then == "deleted" else "added"
    if first == "deleted" and then == "added":
        return "modified"
    return "added" if first == "none" and then == "added" else then


def _touched(everyone: Sequence[Family]) -> dict[str, list[Change]]:
    """What calls that edit say they touched, where there are no trees to compare."""
    found: dict[str, list[Change]] = {}
    for member in everyone:
        done = {
            e.call_id for e in member.events if isinstance(e, ev.ToolReturned) and not e.is_error
        }
        for event in member.events:
            if (
                isinstance(event, ev.ToolCalled)
                and event.facts.category == "edit"
                and event.call_id in done
            ):
                files = [Change(path=path, status="modified") for path in event.facts.paths]
                found[event.call_id] = files
    return found


def last_lines(text: str) -> str:
    """The end of an output, where programs say what failed."""
    return "\n".join([line for line in text.splitlines() if line.strip()][-SAID_LINES:])
