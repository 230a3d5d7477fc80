"""A session: one live attachment of a user to a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bridle.app.answers import Answers
from bridle.app.content import FileInput, content_parts, context_values
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
from bridle.app.run import Run
from bridle.app.waiting import Runs
from bridle.errors import AnswerError, UserError
from bridle.types.content import UserPart
from bridle.types.events import DurableEvent, FollowUpQueued
from bridle.types.ops import (
    Answer,
    AnswerPlan,
    Approve,
    Decline,
    Pin,
    ResumeTool,
    Send,
    Steer,
)
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.app.attachment import Attachment
    from bridle.app.display import DisplaySnapshot
    from bridle.app.results import Pending, RunResult
    from bridle.runs.summary import RunSummary

Content = str | Sequence[UserPart]
Files = Sequence[FileInput | str | Path]
Context = Mapping[str, Any] | None


class Session:
    """Sends input to a thread and answers what it asks; the run goes on by itself."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._engine = attachment.engine
        self._journal = attachment.journal
        display = attachment.shown.display
        self.threads = SessionThreads(attachment)
        self.events = SessionEvents(attachment, display, attachment.engine.tasks)
        self.modes = SessionModes(attachment)
        self.models = SessionModels(attachment)
        self.state = SessionState(attachment)
        self.permissions = SessionPermissions(attachment)
        self.tasks = SessionTasks(attachment, display)
        self.subagents = SessionSubagents(attachment)
        self.workspace = SessionWorkspace(attachment)
        self.checkpoints = SessionCheckpoints(attachment)
        self._runs = Runs(attachment)
        self._answers = Answers(attachment, self._runs)

    @property
    def thread_id(self) -> str:
        """The id of the session's thread."""
        return self._attachment.thread.id

    @property
    def is_attached(self) -> bool:
        """Whether the session has a thread."""
        return self._attachment.thread_id is not None

    def is_attached_to(self, thread_id: str) -> bool:
        """Whether this is the session's thread."""
        return self._attachment.thread_id == thread_id

    @property
    def is_running(self) -> bool:
        """Whether a run of the thread is being worked on here, or is about to be."""
        thread_id = self._attachment.thread_id
        if thread_id is None:
            return False
        state = self._attachment.state
        open = state.run is not None or bool(state.inputs)
        busy = open and self._engine.dispatcher.busy(thread_id)
        return busy or bool(self._attachment.inbox.starting)

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What waits for an answer in this thread and below it."""
        return self._attachment.shown.view.pending

    @property
    def usage(self) -> Usage:
        """What the thread has used; nothing where there is none."""
        return self._attachment.state.usage if self.is_attached else Usage()

    @property
    def display(self) -> DisplaySnapshot:
        """What a user interface shows now."""
        return self._attachment.shown.display.snapshot

    @property
    def observations(self) -> NoReturn:
        """Not available yet: observational memory is not part of this version."""
        raise AttributeError(
            "session.observations is not available yet: observational memory is not part of this "
            "version.",
            name="observations",
            obj=self,
        )

    # --- input -----------------------------------------------------------------------------

    def start(
        self,
        content: Content,
        *,
        files: Files = (),
        context: Context = None,
        model: str | None = None,
    ) -> Run:
        """Begin a run; await it, or use it as a context manager and watch its events.

        It goes on whether or not anybody looks. A refusal (the thread is in use elsewhere) is
        raised where the run is awaited.
        """
        run = self._run(content, files, context, model)
        self._runs.start(run)
        return run

    def _run(self, content: Content, files: Files, context: Context, model: str | None) -> Run:
        mode_model = self._attachment.session_models.get(self.modes.current.id)
        op = Send(
            run_id=self._engine.new_id("run"),
            parts=content_parts(content, files),
            context=context_values(context),
            model=model or mode_model,
        )
        return Run(self._runs.here(), op)

    async def send(
        self,
        content: Content,
        *,
        files: Files = (),
        context: Context = None,
        model: str | None = None,
    ) -> RunResult[Any]:
        """Run to the end, or until the run waits for an answer. A failed model does not raise.

        A session without a thread, after its resource changed or its thread was deleted, begins
        one.
        """
        if not self.is_attached:
            await self.threads.create()
        return await self._run(content, files, context, model)

    async def steer(
        self, content: Content, restart: bool = False, *, context: Context = None
    ) -> None:
        """Say something to the run in progress; `restart` ends it and its queue first."""
        if restart:
            await self._runs.interrupt_open(clear=True)
        op = Steer(parts=content_parts(content), context=context_values(context))
        await self._attachment.inbox.admit(op)

    async def follow_up(self, content: Content, *, context: Context = None) -> str:
        """Queue a run behind the present one; returns its id."""
        op = Send(
            run_id=self._engine.new_id("run"),
            parts=content_parts(content),
            context=context_values(context),
            model=self._attachment.session_models.get(self.modes.current.id),
            follow_up=True,
        )
        await self._attachment.inbox.admit(op)
        state = await self._journal.fold(self.thread_id)
        if state.queued:
            await self._journal.append(self.thread_id, FollowUpQueued(count=state.queued))
        return op.run_id

    async def pin(self, text: str) -> None:
        """Put a text into every request from now on, word for word; it starts no run."""
        if not text.strip():
            raise UserError("There is nothing to pin.")
        await self._attachment.inbox.admit(Pin(text=text))
        if await self._runs.open_run() is None:
            await self._engine.dispatcher.rested(self.thread_id)

    async def abort(self) -> None:
        """End the run in progress, also when it is parked; returns when it has ended."""
        run_id = await self._runs.interrupt_open(clear=False)
        if run_id is not None:
            await self._runs.ended(run_id)

    async def set_resource(self, id: str) -> None:
        """Work for another resource; the session has no thread until one is chosen."""
        await self._attachment.change_resource(id)

    # --- answers ---------------------------------------------------------------------------

    async def approve(
        self, id: str, args: dict[str, Any] | None = None, *, context: Context = None
    ) -> str:
        """Let a call run, with changed arguments if given; returns the run's id."""
        op = Approve(id=id, args=args, context=context_values(context))
        return await self._answers.give(id, "approval", op)

    async def decline(self, id: str, reason: str | None = None, *, context: Context = None) -> str:
        """Do not let a call run; the model is told why."""
        op = Decline(id=id, reason=reason, context=context_values(context))
        return await self._answers.give(id, "approval", op)

    async def always_allow(
        self, id: str, scope: str = "category", *, context: Context = None
    ) -> str:
        """Let a call run, and more of its kind for the rest of the session."""
        if scope not in ("category", "tool", "pattern"):
            raise AnswerError(f"Unknown scope {scope!r}; have category, tool, pattern.")
        op = Approve(id=id, always=scope, context=context_values(context))
        return await self._answers.give(id, "approval", op)

    async def answer(self, id: str, answer: str | Sequence[str], *, context: Context = None) -> str:
        """Answer a question: a text, or labels of its options."""
        said = answer if isinstance(answer, str) else list(answer)
        self._answers.check_choice(id, said)
        op = Answer(id=id, answer=said, context=context_values(context))
        return await self._answers.give(id, "question", op)

    async def answer_plan(
        self, id: str, approved: bool, feedback: str | None = None, *, context: Context = None
    ) -> str:
        """Approve a plan, which goes on in the mode that follows, or ask for another one."""
        blueprint = self._engine.blueprint
        target = blueprint.mode(self.modes.current.transitions_to)
        op = AnswerPlan(
            id=id,
            approved=approved,
            feedback=feedback,
            mode_id=target.id if approved else None,
            model_id=model_for(self._attachment, target) if approved else None,
            context=context_values(context),
        )
        return await self._answers.give(id, "plan", op)

    async def resume_tool(self, id: str, data: Any, *, context: Context = None) -> str:
        """Give a suspended tool what it waits for; it is run again with it."""
        op = ResumeTool(id=id, data=data, context=context_values(context))
        return await self._answers.give(id, "tool", op)

    # --- waiting ---------------------------------------------------------------------------

    async def resume(self) -> None:
        """Go on with what an earlier process left unfinished."""
        await self._engine.dispatcher.resume(self.thread_id)

    async def wait(self, run_id: str) -> RunResult[Any]:
        """Wait until a run has ended or rests, and return its result."""
        return await self._runs.wait(run_id)

    async def open_run(self) -> str | None:
        """The id of the run that is going on, parked or waiting to begin."""
        return await self._runs.open_run()

    async def summary(self, run_id: str) -> RunSummary:
        """What a run has come to so far."""
        return await self._runs.summary(run_id)

    async def run_events(self, run_id: str) -> list[DurableEvent]:
        """The durable events of a run so far."""
        return await self._runs.run_events(run_id)
