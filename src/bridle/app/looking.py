"""Look up what commands show of a run: an event, its policy, the files it changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.app.records import find_run, open_undo
from bridle.errors import BridleError, ConfigError
from bridle.runs.evidence import Change, Evidence, evidence
from bridle.runs.tree import Tree, family, read_tree
from bridle.runs.verify import verify
from bridle.runs.why import Why, policy_name, why
from bridle.types.events import CheckpointTaken
from bridle.types.permissions import Policy
from bridle.types.words import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.artefacts import Artefacts
    from bridle.ports.store import Store
    from bridle.runs.tree import Family
    from bridle.types.events import DurableEvent
    from bridle.types.runs import RunRow


async def find_event(store: Store, name: str) -> tuple[list[DurableEvent], int]:
    """Find `thr_….SEQ`, `RUN@SEQ` or the call `run_….STEP.INDEX`: its thread's log, and its seq."""
    run, at, place = name.rpartition("@")
    if at:
        thread_id = (await find_run(store, run, near=Path.cwd())).thread_id
    else:
        thread_id, _, place = name.rpartition(".")
        if thread_id.startswith("run_"):
            return await _call(store, name)
    if not place.isdecimal() or not thread_id:
        raise ConfigError(f"{name!r} is not an event; write thr_….SEQ or RUN@SEQ, as in last@12.")
    events = await store.events(thread_id)
    if not events:
        raise ConfigError(f"There is no thread {thread_id!r}. List them with: bridle threads --all")
    if not 0 < int(place) <= len(events):
        raise ConfigError(f"{thread_id} has events 1 to {len(events)}, not {place}.")
    return events, int(place)


async def _call(store: Store, call_id: str) -> tuple[list[DurableEvent], int]:
    row = await find_run(store, call_id.split(".")[0])
    events = await store.events(row.thread_id)
    for event in events:
        if getattr(event, "call_id", None) == call_id:
            return events, event.seq
    raise ConfigError(f"Run {row.run_id} has no call {call_id!r}.")


async def why_event(store: Store, name: str) -> Why:
    """Explain an event."""
    events, seq = await find_event(store, name)
    return why(events, seq, await policy_at(store, events, seq))


async def policy_at(store: Store, events: list[DurableEvent], seq: int) -> Policy | None:
    """The policy that held at an event, as it was recorded."""
    name = policy_name(events, events[seq - 1])
    blob = await store.blob(name) if name else None
    return msgspec.json.decode(blob, type=Policy) if blob is not None else None


async def changed_files(store: Store, row: RunRow, whole: Family) -> dict[str, list[Change]] | None:
    """What each call of a run and of those below it changed; None where no tree can be read."""
    try:
        checkpoints = (await open_undo(store, row)).checkpoints
        found: dict[str, list[Change]] = {}
        for member in whole.everyone():
            for event in member.events:
                if isinstance(event, CheckpointTaken) and event.problem is None:
                    found[event.call_id] = [
                        Change(path=printable(change.path), status=change.status)
                        for change in await checkpoints.diff(event.before, event.after)
                    ]
    except (BridleError, OSError):
        return None
    return found


async def gather(store: Store, artefacts: Artefacts, row: RunRow) -> tuple[Tree, Evidence]:
    """A run's records, and the evidence that they give."""
    tree = await read_tree(store, row.thread_id, run_id=row.run_id, artefacts=artefacts)
    whole = family(tree)
    changes = await changed_files(store, row, whole)
    return tree, evidence(whole, tree.logs[tree.root].events(), verify(tree), changes)


async def families(store: Store, rows: Sequence[RunRow]) -> list[Family]:
    """Runs with those below them."""
    return [family(await read_tree(store, row.thread_id, run_id=row.run_id)) for row in rows]
