"""Calls that wait for other agents: when they are over, and what they return.

Pure functions of what the log says: a wait ends when the agents it waits for are over, when one
of them speaks, or when its time has passed, whichever is first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.types import events as ev

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridle.journal.calls import CallState
    from bridle.journal.run_state import RunState
    from bridle.ports.tools import Helper
    from bridle.types.agents import Mail


def ended_waits(
    run: RunState,
    mail: Mapping[str, Mail],
    news: Sequence[ev.Event] = (),
    *,
    expired: str | None = None,
    consumes: tuple[str, ...] = (),
) -> list[ev.Event]:
    """The results of the calls that have nothing more to wait for.

    `news` are events that are about to be recorded, `expired` is a call whose time has passed.
    Messages that a result tells are heard by it.
    """
    helpers = dict(run.helpers)
    for event in news:
        if isinstance(event, ev.SubagentEnded) and event.call_id in helpers:
            helpers[event.call_id] = msgspec.structs.replace(helpers[event.call_id], ended=event)
    unheard = dict(mail)
    events: list[ev.Event] = []
    for call in run.open_calls:
        if call.stage != "suspended" or call.pending_kind != "wait":
            continue
        heard = _from(unheard, call.payload)
        timed_out = call.call.id == expired
        if not (timed_out or heard or is_over(call.payload, helpers)):
            continue
        unheard = {name: told for name, told in unheard.items() if name not in heard}
        took = (*(consumes if timed_out else ()), *heard)
        events.append(_result(run, call, helpers, heard, took, timed_out=timed_out))
    return events


def is_over(payload: Mapping[str, Any], helpers: Mapping[str, Helper]) -> bool:
    """Whether the agents that a wait is for have ended; then nobody is left who could speak."""
    if payload["until"] == "message" and len(payload["calls"]) < max(1, len(payload["agents"])):
        return False  # somebody may speak whose end is not known here
    over = [helpers[name].ended is not None for name in payload["calls"]]
    return any(over) if payload["until"] == "any" else all(over)


def report(
    payload: Mapping[str, Any],
    helpers: Mapping[str, Helper],
    mail: Sequence[Mail] = (),
    *,
    timed_out: bool = False,
) -> tuple[str, str | None]:
    """What a wait returns, as JSON, and the kind of failure if anything failed."""
    agents = [_status(helpers[name]) for name in payload["calls"]]
    found: dict[str, Any] = {"agents": agents}
    if mail:
        found["messages"] = [{"from": one.name, "text": one.text} for one in mail]
    if timed_out:
        found["timed_out"] = f"after {payload['timeout']:g} s"
        found["hint"] = (
            "Wait again, go on without them, or replace one that is stuck: "
            'fork_agent(replaces="NAME").'
        )
    kind = "agent_failed" if any(one["status"] == "failed" for one in agents) else None
    return msgspec.json.encode(found).decode(), "timeout" if timed_out else kind


def _status(helper: Helper) -> dict[str, Any]:
    started, ended = helper.started, helper.ended
    if ended is None:
        return {"name": started.name, "status": "running"}
    status = "failed" if ended.is_error else "completed"
    return {"name": started.name, "status": status, "result": ended.result}


def _from(mail: Mapping[str, Mail], payload: Mapping[str, Any]) -> dict[str, Mail]:
    """The messages that end a wait: of the agents that it is for, or of any where it names none."""
    senders = payload["agents"]
    return {name: one for name, one in mail.items() if not senders or one.sender in senders}


def _result(
    run: RunState,
    call: CallState,
    helpers: Mapping[str, Helper],
    heard: Mapping[str, Mail],
    consumes: tuple[str, ...],
    *,
    timed_out: bool,
) -> ev.ToolReturned:
    text, kind = report(call.payload, helpers, tuple(heard.values()), timed_out=timed_out)
    return ev.ToolReturned(
        run_id=run.run_id,
        call_id=call.call.id,
        tool=call.call.tool,
        result=text,
        is_error=kind is not None,
        kind=kind,
        consumes=consumes,
    )
