"""How events of the thread itself change its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.journal.folding import run_of, weight_of
from bridle.types import events as ev
from bridle.types.agents import facts_of
from bridle.types.ops import Deliver
from bridle.types.permissions import Rule
from bridle.types.plans import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.journal.state import ThreadState

RULES_SETTING = "permissions"
PLAN_SETTING = "plan"


def _thread_created(state: ThreadState, event: ev.ThreadCreated) -> None:
    state.thread = event.thread
    facts = facts_of(event.thread)
    if facts is not None:
        state.mode_id = facts.mode
        state.tasks = facts.goals


def _input_admitted(state: ThreadState, event: ev.InputAdmitted) -> None:
    state.inputs[event.input_id] = event.op
    if isinstance(event.op, Deliver):
        state.mail[event.input_id] = event.op.mail


def _mode_changed(state: ThreadState, event: ev.ModeChanged) -> None:
    state.mode_id = event.mode_id
    if state.run is not None:
        state.run.mode_id = event.mode_id


def _model_changed(state: ThreadState, event: ev.ModelChanged) -> None:
    if event.model_id is None:
        return
    if event.scope == "thread":
        state.models[event.mode_id] = event.model_id
    if state.run is not None and state.run.mode_id == event.mode_id:
        state.run.model_id = event.model_id


def _prefix_broken(state: ThreadState, event: ev.PrefixBroken) -> None:
    run_of(state).head = event.head


def _subagent_model_changed(state: ThreadState, event: ev.SubagentModelChanged) -> None:
    state.subagent_models[event.agent_type or ""] = event.model_id


def _tasks_updated(state: ThreadState, event: ev.TasksUpdated) -> None:
    state.tasks = event.tasks


def _settings_changed(state: ThreadState, event: ev.SettingsChanged) -> None:
    if event.key == RULES_SETTING:
        state.rules = msgspec.convert(event.value, tuple[Rule, ...])
    elif event.key == PLAN_SETTING:
        state.plan = msgspec.convert(event.value, Plan | None)


def _state_changed(state: ThreadState, event: ev.StateChanged) -> None:
    state.values = event.state


def _workspace_changed(state: ThreadState, _event: ev.WorkspaceStatusChanged) -> None:
    state.workspace = None  # ready and error say more


def _workspace_ready(state: ThreadState, event: ev.WorkspaceReady) -> None:
    state.workspace = ("ready", event.root)


def _workspace_failed(state: ThreadState, event: ev.WorkspaceFailed) -> None:
    state.workspace = ("error", event.error)


def _noted(state: ThreadState, event: ev.Noted) -> None:
    if event.code == "timer_expired" and state.run is not None:
        state.run.expired = True
    if event.code == "stop_when" and state.run is not None:
        state.run.satisfied = True


def _permission_granted(state: ThreadState, event: ev.PermissionGranted) -> None:
    state.grants.append(event)


def _lease_taken(state: ThreadState, event: ev.LeaseTaken) -> None:
    """Grants last as long as the harness that they were given in is open."""
    state.grants = [grant for grant in state.grants if grant.owner == event.owner.key]


def _conversation_rewound(state: ThreadState, event: ev.ConversationRewound) -> None:
    if event.redo:
        if state.set_aside:
            messages, seqs = state.set_aside.pop()
            state.messages += messages
            state.message_seqs += seqs
    else:
        keep = sum(seq <= event.to_seq for seq in state.message_seqs)
        while keep and state.messages[keep - 1].calls:  # a call without its result is no end
            keep -= 1
        state.set_aside.append((state.messages[keep:], state.message_seqs[keep:]))
        del state.messages[keep:], state.message_seqs[keep:]
    state.weight = sum(weight_of(part) for message in state.messages for part in message.parts)


THREAD: dict[type[ev.Event], Callable[[ThreadState, Any], None]] = {
    ev.ThreadCreated: _thread_created,
    ev.InputAdmitted: _input_admitted,
    ev.ModeChanged: _mode_changed,
    ev.ModelChanged: _model_changed,
    ev.PrefixBroken: _prefix_broken,
    ev.TasksUpdated: _tasks_updated,
    ev.SubagentModelChanged: _subagent_model_changed,
    ev.SettingsChanged: _settings_changed,
    ev.StateChanged: _state_changed,
    ev.ConversationRewound: _conversation_rewound,
    ev.Noted: _noted,
    ev.PermissionGranted: _permission_granted,
    ev.LeaseTaken: _lease_taken,
    ev.WorkspaceStatusChanged: _workspace_changed,
    ev.WorkspaceReady: _workspace_ready,
    ev.WorkspaceFailed: _workspace_failed,
}
