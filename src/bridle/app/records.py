"""Read and answer from another process: the store without a harness."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.app.answers import article, check_always, check_choice
from bridle.app.project import resource_of
from bridle.app.secrets import configured, hiding
from bridle.app.stores import configured_store
from bridle.app.undo import Undo
from bridle.app.wiring import open_store
from bridle.app.workspace import Workspace, open_checkpoints
from bridle.errors import AnswerError, ConfigError
from bridle.journal.bus import Bus
from bridle.journal.recorder import Journal
from bridle.ports.clock import SystemClock
from bridle.types.ops import Answer, AnswerPlan, Approve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bridle.ports.artefacts import Artefacts
    from bridle.ports.store import Store
    from bridle.types.ops import Decline
    from bridle.types.runs import PendingRow, RunRow

SHORTEST_SUFFIX = 4
NEWEST = 200


@asynccontextmanager
async def open_records(url: str | None = None) -> AsyncIterator[Store]:
    """Open a store to look things up."""
    async with open_archive(url) as (store, _):
        yield store


@asynccontextmanager
async def open_archive(url: str | None = None) -> AsyncIterator[tuple[Store, Artefacts]]:
    """Open a store together with the artefacts beside it."""
    store, artefacts = open_store(configured_store(url), SystemClock())
    try:
        yield store, artefacts
    finally:
        await store.close()


async def find_run(store: Store, name: str, *, near: Path | None = None) -> RunRow:
    """Find a run by its id, by `last`, or by the end of its id.

    The last one is the newest of the project that `near` lies in, where it has some.
    """
    if name == "last":
        newest = [run for run in await store.runs(limit=NEWEST) if run.parent_run_id is None]
        if not newest:
            raise ConfigError("There are no runs yet. Start one with: bridle run TASK")
        for run in newest if near is not None else ():
            if await works_near(store, run, near or Path()):
                return run
        return newest[0]
    place = await store.run(name)
    if place is not None:
        return place.row
    if len(name) < SHORTEST_SUFFIX:
        raise ConfigError(f"{name!r} is too short; give at least {SHORTEST_SUFFIX} characters.")
    found = await store.find_runs(name.upper())
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigError(f"There is no run {name!r}. List them with: bridle runs")
    raise ConfigError(f"{name!r} fits {len(found)} runs; give more of the id.")


async def works_near(store: Store, run: RunRow, directory: Path) -> bool:
    """Whether a run works in the project that a directory lies in, or below it."""
    thread = await store.thread(run.thread_id)
    if thread is None:
        return False
    top = resource_of(directory)
    return any(
        Path(place).is_relative_to(top) for place in (thread.resource_id, thread.workspace) if place
    )


async def answer(store: Store, pending_id: str, op: Approve | Decline) -> PendingRow:
    """Admit an answer to an approval; the run goes on where it is drained."""
    row = await _waiting(store, pending_id, "approval")
    if isinstance(op, Approve) and op.always is not None:
        check_always(row.card, op.always)
    return await _admit(store, row, op)


async def answer_question(store: Store, pending_id: str, texts: Sequence[str]) -> PendingRow:
    """Admit an answer to a question: a text, or the labels that were chosen."""
    row = await _waiting(store, pending_id, "question")
    said = texts[0] if len(texts) == 1 else list(texts)
    check_choice(row.args, said)
    return await _admit(store, row, Answer(id=row.id, answer=said))


async def answer_plan(store: Store, pending_id: str, *, feedback: str | None) -> PendingRow:
    """Approve a plan, which goes on in the mode that follows, or ask for another one."""
    row = await _waiting(store, pending_id, "plan")
    if feedback is not None:
        return await _admit(store, row, AnswerPlan(id=row.id, approved=False, feedback=feedback))
    then = (row.args.get("mode_id"), row.args.get("model_id"))
    op = AnswerPlan(id=row.id, approved=True, mode_id=then[0], model_id=then[1])
    return await _admit(store, row, op)


async def _waiting(store: Store, pending_id: str, kind: str) -> PendingRow:
    rows = [row for row in await store.pending() if _names(row.id, pending_id)]
    if not rows:
        raise AnswerError(
            f"Nothing waits for an answer to {pending_id!r}. List what does with: bridle approvals"
        )
    if len(rows) > 1:
        raise AnswerError(f"{pending_id!r} fits {len(rows)} that wait; give more of the id.")
    if rows[0].kind != kind:
        raise AnswerError(f"{rows[0].id} is {article(rows[0].kind)}, not {article(kind)}.")
    return rows[0]


async def _admit(
    store: Store, row: PendingRow, op: Approve | Decline | Answer | AnswerPlan
) -> PendingRow:
    redactor = hiding(configured(None, os.environ), (), os.environ)
    journal = Journal(store=store, bus=Bus(), redactor=redactor)
    whole = msgspec.structs.replace(op, id=row.id)
    admitted = await journal.admit(row.thread_id, whole, input_id=f"{row.id}.answer")
    if not admitted:
        raise AnswerError(f"{row.id} was answered already; the run has not gone on yet.")
    return row


def _names(full: str, given: str) -> bool:
    return full == given or (len(given) >= SHORTEST_SUFFIX and full.endswith(given.upper()))


async def open_undo(store: Store, row: RunRow) -> Undo:
    """The way back for a run, in the workspace that it worked in."""
    thread = await store.thread(row.thread_id)
    if thread is None or thread.workspace is None:
        raise ConfigError(f"Run {row.run_id} had no workspace, so there are no files to put back.")
    place = Workspace(thread.workspace, sandbox="no-shell").place()
    checkpoints = open_checkpoints(place)
    if checkpoints is None:
        raise ConfigError("Undo needs git, which is not installed.")
    return Undo(journal=Journal(store=store, bus=Bus()), checkpoints=checkpoints)
