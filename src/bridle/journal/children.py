"""What is written when an agent starts another one, stops it, and watches it work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.ports.store import Append
from bridle.types import events as ev
from bridle.types.agents import facts_of
from bridle.types.ids import derive_id
from bridle.types.ops import Interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.ports.tools import Child
    from bridle.types.threads import Thread

TOLD_CHARACTERS = 2000
"""How much of a child's arguments and results its parent's log repeats; the rest is in its own."""


def started(child: Child, *, call_id: str, run_id: str | None, task: str) -> ev.SubagentStarted:
    """The record of a child's beginning in its parent's log."""
    facts = facts_of(child.thread)
    return ev.SubagentStarted(
        run_id=run_id,
        call_id=call_id,
        agent_type=child.agent_type,
        task=task,
        model_id=child.send.model,
        forked=child.forked,
        child_thread_id=child.thread.id,
        child_run_id=child.send.run_id,
        name=facts.name if facts is not None else child.name,
        background=child.background,
        replaces=child.replaces,
    )


def beginning(child: Child, *, input_id: str) -> Append:
    """The child's log: its thread, what it takes over of the conversation, its first input."""
    copies = tuple(
        ev.MessageEnded(
            message=msgspec.structs.replace(
                message,
                id=derive_id("pin" if message.pinned else "msg", f"{child.thread.id}:{message.id}"),
            )
        )
        for message in child.copies
    )
    return Append(
        thread_id=child.thread.id,
        events=(
            ev.ThreadCreated(thread=child.thread),
            *copies,
            ev.InputAdmitted(input_id=input_id, op=child.send),
        ),
    )


def interrupt(child: ev.SubagentStarted, *, input_id: str) -> Append:
    """What ends a child's run."""
    op = Interrupt(run_id=child.child_run_id)
    return Append(
        thread_id=child.child_thread_id,
        events=(ev.InputAdmitted(input_id=input_id, op=op),),
    )


def agent_type_of(thread: Thread) -> str:
    """What an agent is called in its parent's events."""
    facts = facts_of(thread)
    return "" if facts is None else facts.kind or facts.role or facts.how


def told(thread: Thread | None, events: Sequence[ev.Event]) -> tuple[Append, ...]:
    """What the parent's log is told of a child's events, in the transaction that records them."""
    if thread is None or thread.parent_thread is None or thread.parent_call is None:
        return ()
    news = tuple(news for event in events if (news := _news(thread, event)) is not None)
    return (Append(thread_id=thread.parent_thread, events=news),) if news else ()


def _news(thread: Thread, event: ev.Event) -> ev.Event | None:
    call_id, agent_type = thread.parent_call or "", agent_type_of(thread)
    match event:
        case ev.ToolCalled():
            return ev.SubagentToolStarted(
                run_id=thread.parent_run,
                call_id=call_id,
                agent_type=agent_type,
                sub_call_id=event.call_id,
                tool=event.tool,
                args={name: _short(value) for name, value in event.args.items()},
            )
        case ev.ToolReturned():
            return ev.SubagentToolEnded(
                run_id=thread.parent_run,
                call_id=call_id,
                agent_type=agent_type,
                sub_call_id=event.call_id,
                tool=event.tool,
                result=_short(event.result),
                is_error=event.is_error,
                denied=event.denied,
            )
        case _:
            return None


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > TOLD_CHARACTERS:
        return f"{value[:TOLD_CHARACTERS]}… ({len(value)} characters)"
    return value


def heard_above(
    live: Callable[[ev.AnyLiveEvent], None], thread: Thread | None
) -> Callable[[ev.AnyLiveEvent], None]:
    """Publish what a child says in its parent's thread too."""
    if thread is None or thread.parent_thread is None or thread.parent_call is None:
        return live
    parent, call_id = thread.parent_thread, thread.parent_call
    parent_run, agent_type = thread.parent_run, agent_type_of(thread)

    def publish(event: ev.AnyLiveEvent) -> None:
        live(event)
        if isinstance(event, ev.MessageDelta) and event.kind == "text":
            live(
                ev.SubagentTextDelta(
                    thread_id=parent,
                    run_id=parent_run,
                    call_id=call_id,
                    agent_type=agent_type,
                    delta=event.delta,
                )
            )

    return publish
