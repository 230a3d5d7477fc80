"""What is said to a thread or changed on it: pure functions from an op to its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.journal.state import MAIL_KEPT
from bridle.types import events as ev
from bridle.types.content import Text
from bridle.types.hooks import halted, heard
from bridle.types.ids import derive_id, message_id
from bridle.types.messages import Message
from bridle.types.ops import Deliver, Grant, Op, Pin, Send, Steer, SwitchMode, SwitchModel

if TYPE_CHECKING:
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.types.agents import Mail


def mode_switch(
    mode_id: str,
    model_id: str | None,
    previous: str | None,
    *,
    run_id: str | None = None,
    consumes: tuple[str, ...] = (),
) -> list[ev.Event]:
    """The events of a change of mode, in their order."""
    events: list[ev.Event] = [
        ev.ModeChanged(run_id=run_id, mode_id=mode_id, previous_mode_id=previous, consumes=consumes)
    ]
    if model_id is not None:
        events.append(
            ev.ModelChanged(run_id=run_id, model_id=model_id, scope="mode", mode_id=mode_id)
        )
    return events


def switched_mode(
    state: ThreadState, op: SwitchMode, *, consumes: tuple[str, ...] = ()
) -> list[ev.Event]:
    """The events of a switch that the user asked for."""
    previous = state.mode_id or op.previous_mode_id
    return mode_switch(op.mode_id, op.model_id, previous, consumes=consumes)


def idle_events(state: ThreadState, op: Op, input_id: str, owner: str) -> list[ev.Event]:
    """What an op does to a thread without a run; nothing when it needs one."""
    match op:
        case SwitchMode():
            return switched_mode(state, op, consumes=(input_id,))
        case SwitchModel():
            return [switched_model(op, input_id)]
        case Grant():
            return [grant_given(op, input_id, owner)]
        case Deliver(mail=mail):
            text = f"A message from {mail.name} is kept for the next run."
            return [noted(None, input_id, MAIL_KEPT, text)]
        case Pin():
            return [pinned(op, input_id)]
        case _:
            return []


def switched_model(op: SwitchModel, input_id: str) -> ev.Event:
    """The event of another model for a mode."""
    return ev.ModelChanged(
        model_id=op.model_id, scope=op.scope, mode_id=op.mode_id, consumes=(input_id,)
    )


def grant_given(op: Grant, input_id: str, owner: str) -> ev.Event:
    """The event of something that the user allowed without being asked."""
    return ev.PermissionGranted(
        scope=op.scope, matches=op.matches, owner=owner, consumes=(input_id,)
    )


def pinned(op: Pin, input_id: str) -> ev.MessageEnded:
    """What is pinned between runs."""
    message = Message(id=derive_id("pin", input_id), role="user", parts=(Text(op.text),))
    return ev.MessageEnded(message=message, consumes=(input_id,))


def steered(
    run: RunState, op: Steer | Pin, input_id: str, rans: tuple[ev.HookRan, ...] = ()
) -> list[ev.Event]:
    """The events of a steer or a pin that the next request hears, unless a hook ends the run."""
    if isinstance(op, Pin):
        end = msgspec.structs.replace(pinned(op, input_id), run_id=run.run_id)
        name = end.message.id
        return [ev.MessageStarted(run_id=run.run_id, message_id=name, role="user"), end]
    name = f"{run.run_id}.{input_id}"
    halt = halted(rans)
    if halt is not None:
        told = halt.reason or "a hook blocked it"
        return [*rans, noted(run.run_id, input_id, "blocked_input", told)]
    message = Message(id=name, role="user", parts=heard(op.parts, rans))
    return [
        *rans,
        ev.MessageStarted(run_id=run.run_id, message_id=name, role="user"),
        ev.MessageEnded(run_id=run.run_id, message=message, consumes=(input_id,)),
    ]


def mailed(run_id: str, mail: Mail, input_id: str) -> list[ev.Event]:
    """The events of a message from another agent that is heard by the next request."""
    name = f"{run_id}.{input_id}"
    text = f"Message from agent {mail.name} ({mail.sender}), to {mail.to}:\n{mail.text}"
    message = Message(id=name, role="user", parts=(Text(text),))
    return [
        ev.MessageStarted(run_id=run_id, message_id=name, role="user"),
        ev.MessageEnded(run_id=run_id, message=message, consumes=(input_id,)),
    ]


def opening(op: Send, rans: tuple[ev.HookRan, ...] = ()) -> tuple[ev.Event, ...]:
    """The user's message that a run begins with; a message that a hook blocks is not kept."""
    if halted(rans) is not None:
        return rans
    name = message_id(op.run_id, 0, "input")
    message = Message(id=name, role="user", parts=heard(op.parts, rans))
    return (
        *rans,
        ev.MessageStarted(run_id=op.run_id, message_id=name, role="user"),
        ev.MessageEnded(run_id=op.run_id, message=message),
    )


def noted(run_id: str | None, input_id: str, code: str, text: str) -> ev.Noted:
    """Deal with an input that changes nothing, and say so."""
    return ev.Noted(run_id=run_id, code=code, text=text, consumes=(input_id,))
