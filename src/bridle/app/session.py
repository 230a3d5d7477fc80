"""A session: one live attachment of a user to a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from bridle.app.content import FileInput, content_parts
from bridle.app.parts.checkpoints import SessionCheckpoints
from bridle.app.parts.events import SessionEvents
from bridle.app.parts.models import SessionModels
from bridle.app.parts.modes import SessionModes, model_for
from bridle.app.parts.permissions import SessionPermissions
from bridle.app.parts.state import SessionState
from bridle.app.parts.subagents import SessionSubagents
from bridle.app.parts.tasks import SessionTasks
from bridle.app.parts.threads import SessionThreads
from bridle.app.parts.workspace import SessionWorkspace
from bridle.app.results import Pending, RunResult, result_of
from bridle.app.run import Run
from bridle.errors import AnswerError, ConfigError
from bridle.journal.feed import Feed
from bridle.runs.summary import summarise
from bridle.types.content import UserPart
from bridle.types.events import AnyEvent, DurableEvent, FollowUpQueued, RunEnded
from bridle.types.ops import (
    Answer,
    AnswerPlan,
    Approve,
    Decline,
    Interrupt,
    Op,
    ResumeTool,
    Send,
    Steer,
)

if TYPE_CHECKING:
    from bridle.app.attachment import Attachment
    from bridle.app.display import DisplaySnapshot
    from bridle.app.workspace import Workspace
    from bridle.sandbox.checkpoints import Checkpoints
    from bridle.types.runs import PendingRow
    from bridle.types.usage import Usage

Content = str | Sequence[UserPart]
Context = Mapping[str, Any] | None

FOREIGN_SECONDS = 0.1
"""How often a run that another process works on is looked at, while somebody waits for it."""


class Session:
    """Sends input to a thread and answers what it asks; the run goes on by itself."""

    def __init__(
        self,
        attachment: Attachment,
        workspace: Workspace | None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self._attachment = attachment
        self._engine = attachment.engine
        self._journal = attachment.journal
        display = attachment.display
        self.threads = SessionThreads(attachment)
        self.events = SessionEvents(attachment, display, attachment.engine.tasks)
        self.modes = SessionModes(attachment)
        self.models = SessionModels(attachment)
        self.state = SessionState(attachment)
        self.permissions = SessionPermissions(attachment)
        self.tasks = SessionTasks(attachment, display)
        self.subagents = SessionSubagents(attachment)
        self.workspace = SessionWorkspace(workspace)
        self.checkpoints = SessionCheckpoints(attachment, checkpoints)

    @property
    def thread_id(self) -> str:
        """The id of the session's thread."""
        return self._attachment.thread.id

    @property
    def is_running(self) -> bool:
        """Whether anything of the thread is being worked on here."""
        return self._engine.dispatcher.busy(self.thread_id)

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What waits for an answer in this thread and below it."""
        return self._attachment.view.pending

    @property
    def usage(self) -> Usage:
        """What the thread has used."""
        return self._attachment.state.usage

    @property
    def display(self) -> DisplaySnapshot:
        """What a user interface shows now."""
        return self._attachment.display.snapshot

    # --- input -----------------------------------------------------------------------------

    def start(
        self,
        content: Content,
        *,
        files: Sequence[FileInput] = (),
        context: Context = None,
        model: str | None = None,
    ) -> Run:
        """Begin a run; await it, or use it as a context manager and watch its events."""
        mode_model = self._attachment.session_models.get(self.modes.current.id)
        op = Send(
            run_id=self._engine.new_id("run"),
            parts=content_parts(content, files),
            context=dict(context or {}),
            model=model or mode_model,
        )
        return Run(self, op)

    async def send(
        self,
        content: Content,
        *,
        files: Sequence[FileInput] = (),
        context: Context = None,
        model: str | None = None,
    ) -> RunResult[Any]:
        """Run to the end, or until the run waits for an answer. A failed model does not raise."""
        return await self.start(content, files=files, context=context, model=model)

    async def steer(
        self, content: Content, restart: bool = False, *, context: Context = None
    ) -> None:
        """Say something to the run in progress; `restart` ends it and its queue first."""
        if restart:
            await self._interrupt_open(clear=True)
        op = Steer(parts=content_parts(content), context=dict(context or {}))
        await self._attachment.admit(op)

    async def follow_up(self, content: Content, *, context: Context = None) -> str:
        """Queue a run behind the present one; returns its id."""
        op = Send(
            run_id=self._engine.new_id("run"),
            parts=content_parts(content),
            context=dict(context or {}),
            follow_up=True,
        )
        await self._attachment.admit(op)
        state = await self._journal.fold(self.thread_id)
        waiting = sum(isinstance(op, Send) for op in state.inputs.values())
        if waiting and state.run is not None:
            await self._journal.append(self.thread_id, FollowUpQueued(count=waiting))
        return op.run_id

    async def abort(self) -> None:
        """End the run in progress, also when it is parked; returns when it has ended."""
        run_id = await self._interrupt_open(clear=False)
        if run_id is not None:
            await self._ended(run_id)

    async def set_resource(self, id: str) -> None:
        """Work for another resource; the session has no thread until one is chosen."""
        self._attachment.change_resource(id)

    # --- answers ---------------------------------------------------------------------------

    async def approve(
        self, id: str, args: dict[str, Any] | None = None, *, context: Context = None
    ) -> str:
        """Let a call run, with changed arguments if given; returns the run's id."""
        del context
        return await self._answer(id, "approval", Approve(id=id, args=args))

    async def decline(self, id: str, reason: str | None = None) -> str:
        """Do not let a call run; the model is told why."""
        return await self._answer(id, "approval", Decline(id=id, reason=reason))

    async def always_allow(self, id: str, scope: str = "category") -> str:
        """Let a call run, and more of its kind for the rest of the session."""
        if scope not in ("category", "tool", "pattern"):
            raise AnswerError(f"Unknown scope {scope!r}; have category, tool, pattern.")
        return await self._answer(id, "approval", Approve(id=id, always=scope))

    async def answer(self, id: str, answer: str | Sequence[str]) -> str:
        """Answer a question: a text, or labels of its options."""
        said = answer if isinstance(answer, str) else list(answer)
        self._check_answer(id, said)
        return await self._answer(id, "question", Answer(id=id, answer=said))

    async def answer_plan(self, id: str, approved: bool, feedback: str | None = None) -> str:
        """Approve a plan, which goes on in the mode that follows, or ask for another one."""
        blueprint = self._engine.blueprint
        target = blueprint.mode(self.modes.current.transitions_to)
        op = AnswerPlan(
            id=id,
            approved=approved,
            feedback=feedback,
            mode_id=target.id if approved else None,
            model_id=model_for(self._attachment, target) if approved else None,
        )
        return await self._answer(id, "plan", op)

    async def resume_tool(self, id: str, data: Any) -> str:
        """Give a suspended tool what it waits for; it is run again with it."""
        return await self._answer(id, "tool", ResumeTool(id=id, data=data))

    # --- waiting ---------------------------------------------------------------------------

    async def wait(self, run_id: str) -> RunResult[Any]:
        """Wait until a run has ended or rests, and return its result."""
        await self.rested(run_id)
        place = await self._journal.store.run(run_id)
        waiting = await self._pending_rows()
        if place is None and not waiting:
            raise ConfigError(f"There is no run {run_id} in thread {self.thread_id}.")
        summary = summarise(run_id, await self.run_events(run_id))
        return result_of(summary, waiting, self._engine.blueprint.output(self._attachment.state))

    async def rested(self, run_id: str) -> None:
        """Wait until nothing of the thread is being worked on; raises what stopped it."""
        dispatcher = self._engine.dispatcher
        elsewhere = False
        while True:
            await dispatcher.rested(self.thread_id)
            failure = dispatcher.failures.pop(self.thread_id, None)
            place = await self._journal.store.run(run_id)
            if place is not None and place.row.status != "running":
                return
            if place is not None and await self._drained_elsewhere():
                elsewhere = True
                await anyio.sleep(FOREIGN_SECONDS)
            elif elsewhere:  # whoever worked on it is gone
                elsewhere = False
                dispatcher.wake(self.thread_id)
            elif failure is not None:
                raise failure
            else:
                return

    async def _drained_elsewhere(self) -> bool:
        lease = await self._journal.store.lease(self.thread_id)
        return lease is not None and lease.owner != self._engine.dispatcher.drain.owner

    async def resume(self) -> None:
        """Go on with what an earlier process left unfinished."""
        await self._engine.dispatcher.resume(self.thread_id)

    async def open_run(self) -> str | None:
        """The id of the run that is going on, parked or waiting to begin."""
        state = await self._journal.fold(self.thread_id)
        if state.run is not None:
            return state.run.run_id
        waiting = [op.run_id for op in state.inputs.values() if isinstance(op, Send)]
        return waiting[0] if waiting else None

    async def run_events(self, run_id: str) -> list[DurableEvent]:
        """The durable events of a run so far."""
        place = await self._journal.store.run(run_id)
        if place is None:
            return []
        after = place.start_seq - 1
        events = await self._journal.store.events(place.row.thread_id, after=after)
        return [event for event in events if event.run_id == run_id]

    # --- for runs --------------------------------------------------------------------------

    async def feed(self) -> Feed:
        """A feed of everything that follows now."""
        head = await self._journal.store.head(self.thread_id)
        feed = Feed(
            store=self._journal.store,
            bus=self._journal.bus,
            thread_id=self.thread_id,
            after=head.seq,
        )
        feed.open()
        return feed

    async def admit_run(self, op: Send) -> None:
        """Admit a run, unless another process works on the thread."""
        await self._attachment.admit_alone(op)

    async def interrupt(self, run_id: str) -> None:
        """End one run."""
        await self._attachment.admit(Interrupt(run_id=run_id))

    async def _interrupt_open(self, *, clear: bool) -> str | None:
        run_id = await self.open_run()
        if run_id is not None:
            await self._attachment.admit(Interrupt(run_id=run_id, clear=clear))
        return run_id

    async def _ended(self, run_id: str) -> None:
        """Wait for the end of one run, not for those behind it."""
        over = anyio.Event()

        def hear(event: AnyEvent) -> None:
            if isinstance(event, RunEnded) and event.run_id == run_id:
                over.set()

        unsubscribe = self._journal.bus.subscribe(hear, thread_id=self.thread_id)
        try:
            while True:
                place = await self._journal.store.run(run_id)
                if place is not None and place.row.status == "ended":
                    return
                if not self.is_running and not await self._drained_elsewhere():
                    return
                with anyio.move_on_after(FOREIGN_SECONDS):
                    await over.wait()
        finally:
            unsubscribe()

    async def _answer(self, pending_id: str, kind: str, op: Op) -> str:
        rows = [row for row in await self._pending_rows() if row.id == pending_id]
        if not rows:
            raise AnswerError(
                f"Nothing waits for an answer to {pending_id!r}. It was answered, or its run ended."
            )
        row = rows[0]
        if row.kind != kind:
            raise AnswerError(f"{pending_id} is a {row.kind}, not a {kind}.")
        if not await self._journal.admit(row.thread_id, op, input_id=f"{pending_id}.answer"):
            raise AnswerError(f"{pending_id} was answered already.")
        return row.run_id

    def _check_answer(self, id: str, answer: str | list[str]) -> None:
        """A chosen answer must be one of the options; only a multiple choice takes several."""
        asked = next((p for p in self.pending if p.id == id), None)
        labels = [option["label"] for option in asked.args.get("options", ())] if asked else []
        if not labels:
            return
        chosen = [answer] if isinstance(answer, str) else answer
        assert asked is not None
        if len(chosen) != 1 and asked.args.get("selection_mode") != "multi_select":
            raise AnswerError(f"Choose one of: {', '.join(labels)}.")
        for label in chosen:
            if label not in labels:
                raise AnswerError(f"{label!r} is not an option; have {', '.join(labels)}.")

    async def _pending_rows(self) -> list[PendingRow]:
        store = self._journal.store
        tree = [self.thread_id, *await store.children(self.thread_id)]
        return await store.pending(threads=tree)
