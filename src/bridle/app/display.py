"""The display state: everything that a user interface shows, folded from events.

A snapshot is a value: the fold makes a new one for every change, so none changes under its
reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.results import Pending
from bridle.types import events as ev
from bridle.types.content import Text
from bridle.types.messages import Message
from bridle.types.tasks import Task
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridle.journal.state import ThreadState

CRITICAL: frozenset[str] = frozenset(
    {
        "agent_start",
        "agent_paused",
        "agent_resumed",
        "agent_end",
        "tool_approval_required",
        "ask_question",
        "plan_approval_required",
        "plan_approved",
        "plan_rejected",
        "question_answered",
        "tool_suspended",
        "tool_end",
        "subagent_end",
        "error",
        "mode_changed",
        "model_changed",
    }
)
"""Events that a person may have to react to: shown at once."""

LIVE_OUTPUT = 20_000


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it is shown."""

    call_id: str
    tool: str
    args: dict[str, Any] = {}
    status: str = "streaming_input"
    output: str = ""
    result: str | None = None
    is_error: bool = False
    edits: tuple[str, ...] = ()


class SubagentToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a subagent as it is shown."""

    call_id: str
    tool: str
    status: str = "running"


class SubagentView(msgspec.Struct, frozen=True, kw_only=True):
    """A subagent as it is shown."""

    call_id: str
    agent_type: str
    task: str
    model_id: str | None
    forked: bool = False
    status: str = "running"
    text: str = ""
    tools: tuple[SubagentToolView, ...] = ()
    result: str | None = None
    duration_ms: int | None = None


class DisplaySnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of a session."""

    is_running: bool = False
    run_id: str | None = None
    mode_id: str | None = None
    model_id: str | None = None
    current_message: Message | None = None
    tools: tuple[ToolView, ...] = ()
    pending: tuple[Pending, ...] = ()
    subagents: tuple[SubagentView, ...] = ()
    tasks: tuple[Task, ...] = ()
    previous_tasks: tuple[Task, ...] = ()
    modified_files: tuple[str, ...] = ()
    usage: Usage = Usage()
    cost_usd: float = 0.0
    queued: int = 0


def fold(now: DisplaySnapshot, event: ev.AnyEvent) -> DisplaySnapshot:
    """The snapshot after one more event of the session's thread."""
    handler = _HANDLERS.get(type(event))
    return now if handler is None else handler(now, event)


def restored(
    state: ThreadState, last_run: Iterable[ev.AnyEvent], pending: tuple[Pending, ...]
) -> DisplaySnapshot:
    """What a session that comes late shows: the same as one that heard everything.

    Totals are those of the thread; the rest is folded from the events of its last run.
    """
    now = DisplaySnapshot()
    for event in last_run:
        now = fold(now, event)
    run = state.run or state.last_run
    return _with(
        now,
        is_running=state.run is not None and not state.run.paused,
        run_id=run.run_id if run is not None else None,
        model_id=now.model_id or (run.model_id if run is not None else None),
        mode_id=state.mode_id or now.mode_id,
        pending=pending,
        tasks=state.tasks,
        modified_files=tuple(state.files),
        usage=state.usage,
        cost_usd=state.cost_usd,
        queued=state.queued,
    )


class DisplayState:
    """Holds the present snapshot and tells listeners when there is another one."""

    def __init__(self) -> None:
        self.snapshot = DisplaySnapshot()
        self._listeners: list[Callable[[bool], None]] = []

    def listen(self, listener: Callable[[bool], None]) -> Callable[[], None]:
        """Call `listener(critical)` after each change; returns how to stop."""
        self._listeners.append(listener)

        def forget() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return forget

    def restore_tasks(self, tasks: tuple[Task, ...]) -> None:
        """Show other tasks."""
        before = self.snapshot.tasks
        self._show(_with(self.snapshot, tasks=tasks, previous_tasks=before), critical=False)

    def reset(self, snapshot: DisplaySnapshot) -> None:
        """Begin with another thread."""
        self._show(snapshot, critical=True)

    def apply(
        self, event: ev.AnyEvent | None, pending: tuple[Pending, ...], queued: int = 0
    ) -> None:
        """Take one event into account, and what waits after it: for answers, and for its turn."""
        after = self.snapshot if event is None else fold(self.snapshot, event)
        if queued != after.queued:
            after = _with(after, queued=queued)
        asked = pending != after.pending
        if asked:
            after = _with(after, pending=pending)
        if after is not self.snapshot:
            self._show(after, critical=asked or (event is not None and event.type in CRITICAL))

    def _show(self, snapshot: DisplaySnapshot, *, critical: bool) -> None:
        self.snapshot = snapshot
        for listener in tuple(self._listeners):
            listener(critical)


def _with(now: DisplaySnapshot, **changes: Any) -> DisplaySnapshot:
    return msgspec.structs.replace(now, **changes)


def _run_started(now: DisplaySnapshot, event: ev.RunStarted) -> DisplaySnapshot:
    return _with(
        now,
        is_running=True,
        run_id=event.run_id,
        mode_id=event.mode_id,
        model_id=event.model_id,
        current_message=None,
        tools=(),
        subagents=(),
    )


def _run_paused(now: DisplaySnapshot, _event: ev.RunPaused) -> DisplaySnapshot:
    return _with(now, is_running=False)


def _run_resumed(now: DisplaySnapshot, _event: ev.RunResumed) -> DisplaySnapshot:
    return _with(now, is_running=True)


def _run_ended(now: DisplaySnapshot, _event: ev.RunEnded) -> DisplaySnapshot:
    tools = tuple(
        tool if tool.status in ("completed", "error") else _tool_with(tool, status="error")
        for tool in now.tools
    )
    return _with(now, is_running=False, tools=tools)


def _message_started(now: DisplaySnapshot, event: ev.MessageStarted) -> DisplaySnapshot:
    if event.role != "assistant":
        return now
    return _with(now, current_message=Message(id=event.message_id, role="assistant", parts=()))


def _message_delta(now: DisplaySnapshot, event: ev.MessageDelta) -> DisplaySnapshot:
    message = now.current_message
    if event.kind != "text" or message is None or message.id != event.message_id:
        return now
    text = Text(message.text + event.delta)
    return _with(now, current_message=msgspec.structs.replace(message, parts=(text,)))


def _message_ended(now: DisplaySnapshot, event: ev.MessageEnded) -> DisplaySnapshot:
    if event.message.role != "assistant":
        return now
    return _with(now, current_message=event.message)


def _input_started(now: DisplaySnapshot, event: ev.ToolInputStarted) -> DisplaySnapshot:
    return _put(now, ToolView(call_id=event.call_id, tool=event.tool))


def _tool_called(now: DisplaySnapshot, event: ev.ToolCalled) -> DisplaySnapshot:
    view = ToolView(
        call_id=event.call_id,
        tool=event.tool,
        args=event.args,
        status="running",
        edits=event.facts.paths if event.facts.category == "edit" else (),
    )
    return _put(now, view)


def _shell_output(now: DisplaySnapshot, event: ev.ShellOutput) -> DisplaySnapshot:
    return _grow(now, event.call_id, event.text)


def _tool_progress(now: DisplaySnapshot, event: ev.ToolProgress) -> DisplaySnapshot:
    return _grow(now, event.call_id, event.text + "\n")


def _tool_returned(now: DisplaySnapshot, event: ev.ToolReturned) -> DisplaySnapshot:
    found = _find(now, event.call_id)
    if found is None:
        return now
    status = "error" if event.is_error else "completed"
    after = _put(
        now, _tool_with(found, status=status, result=event.result, is_error=event.is_error)
    )
    if event.is_error or not found.edits:
        return after
    files = dict.fromkeys((*now.modified_files, *found.edits))
    return _with(after, modified_files=tuple(files))


def _subagent_started(now: DisplaySnapshot, event: ev.SubagentStarted) -> DisplaySnapshot:
    view = SubagentView(
        call_id=event.call_id,
        agent_type=event.agent_type,
        task=event.task,
        model_id=event.model_id,
        forked=event.forked,
    )
    return _with(now, subagents=(*now.subagents, view))


def _subagent_said(now: DisplaySnapshot, event: ev.SubagentTextDelta) -> DisplaySnapshot:
    def said(view: SubagentView) -> SubagentView:
        return msgspec.structs.replace(view, text=(view.text + event.delta)[-LIVE_OUTPUT:])

    return _subagent_with(now, event.call_id, said)


def _subagent_calls(now: DisplaySnapshot, event: ev.SubagentToolStarted) -> DisplaySnapshot:
    called = SubagentToolView(call_id=event.sub_call_id, tool=event.tool)

    def calls(view: SubagentView) -> SubagentView:
        return msgspec.structs.replace(view, text="", tools=(*view.tools, called))

    return _subagent_with(now, event.call_id, calls)


def _subagent_called(now: DisplaySnapshot, event: ev.SubagentToolEnded) -> DisplaySnapshot:
    status = "error" if event.is_error else "completed"

    def called(view: SubagentView) -> SubagentView:
        tools = tuple(
            msgspec.structs.replace(one, status=status) if one.call_id == event.sub_call_id else one
            for one in view.tools
        )
        return msgspec.structs.replace(view, tools=tools)

    return _subagent_with(now, event.call_id, called)


def _subagent_ended(now: DisplaySnapshot, event: ev.SubagentEnded) -> DisplaySnapshot:
    def ended(view: SubagentView) -> SubagentView:
        return msgspec.structs.replace(
            view,
            status="error" if event.is_error else "completed",
            result=event.result,
            duration_ms=event.duration_ms,
        )

    return _subagent_with(now, event.call_id, ended)


def _subagent_with(
    now: DisplaySnapshot, call_id: str, change: Callable[[SubagentView], SubagentView]
) -> DisplaySnapshot:
    views = (change(view) if view.call_id == call_id else view for view in now.subagents)
    return _with(now, subagents=tuple(views))


def _usage_updated(now: DisplaySnapshot, event: ev.UsageUpdated) -> DisplaySnapshot:
    return _with(now, usage=now.usage + event.usage, cost_usd=now.cost_usd + event.cost_usd)


def _tasks_updated(now: DisplaySnapshot, event: ev.TasksUpdated) -> DisplaySnapshot:
    return _with(now, tasks=event.tasks, previous_tasks=now.tasks)


def _mode_changed(now: DisplaySnapshot, event: ev.ModeChanged) -> DisplaySnapshot:
    return _with(now, mode_id=event.mode_id)


def _model_changed(now: DisplaySnapshot, event: ev.ModelChanged) -> DisplaySnapshot:
    return _with(now, model_id=event.model_id)


def _find(now: DisplaySnapshot, call_id: str) -> ToolView | None:
    place = _place(now, call_id)
    return None if place is None else now.tools[place]


def _place(now: DisplaySnapshot, call_id: str) -> int | None:
    """Where a call is shown, looked for from the end: events are about the newest calls."""
    for place in range(len(now.tools) - 1, -1, -1):
        if now.tools[place].call_id == call_id:
            return place
    return None


def _put(now: DisplaySnapshot, view: ToolView) -> DisplaySnapshot:
    place = _place(now, view.call_id)
    if place is None:
        return _with(now, tools=(*now.tools, view))
    return _with(now, tools=(*now.tools[:place], view, *now.tools[place + 1 :]))


def _grow(now: DisplaySnapshot, call_id: str, text: str) -> DisplaySnapshot:
    found = _find(now, call_id)
    if found is None:
        return now
    return _put(now, _tool_with(found, output=(found.output + text)[-LIVE_OUTPUT:]))


def _tool_with(view: ToolView, **changes: Any) -> ToolView:
    return msgspec.structs.replace(view, **changes)


_HANDLERS: dict[type, Callable[[DisplaySnapshot, Any], DisplaySnapshot]] = {
    ev.RunStarted: _run_started,
    ev.RunPaused: _run_paused,
    ev.RunResumed: _run_resumed,
    ev.RunEnded: _run_ended,
    ev.MessageStarted: _message_started,
    ev.MessageDelta: _message_delta,
    ev.MessageEnded: _message_ended,
    ev.ToolInputStarted: _input_started,
    ev.ToolCalled: _tool_called,
    ev.ShellOutput: _shell_output,
    ev.ToolProgress: _tool_progress,
    ev.ToolReturned: _tool_returned,
    ev.SubagentStarted: _subagent_started,
    ev.SubagentTextDelta: _subagent_said,
    ev.SubagentToolStarted: _subagent_calls,
    ev.SubagentToolEnded: _subagent_called,
    ev.SubagentEnded: _subagent_ended,
    ev.UsageUpdated: _usage_updated,
    ev.TasksUpdated: _tasks_updated,
    ev.ModeChanged: _mode_changed,
    ev.ModelChanged: _model_changed,
}
