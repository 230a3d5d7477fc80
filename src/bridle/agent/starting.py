"""The beginning of a run, and its setup: made when it starts, made again where it is resumed."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

import msgspec

from bridle.agent import steering
from bridle.agent.ending import stopped_calls
from bridle.agent.hooked import scope_of
from bridle.agent.setup import Prepare, RequestHead, RunSetup, Wanted, names
from bridle.agent.termination import Stop
from bridle.errors import BridleError, UserError
from bridle.gate.batch import runnable
from bridle.journal.recorder import Extra, ThreadLog
from bridle.types import events as ev
from bridle.types.base import Moving
from bridle.types.content import plain_text
from bridle.types.ids import run_of_steer
from bridle.types.ledger import Account
from bridle.types.ops import Send, Steer
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.agent.ending import Ending
    from bridle.journal.run_state import RunState

TASK_LENGTH = 200
log = logging.getLogger("bridle.turn")
_head = msgspec.json.Decoder(RequestHead)


class Starting(Moving, kw_only=True):
    """Starts runs and holds the setup of the open one.

    `suspects` are calls that were free to run when this drain took the run over: an earlier drain
    may have started them.
    """

    log: ThreadLog
    prepare: Prepare
    ending: Ending
    setup: RunSetup | None = None
    suspects: set[str] = msgspec.field(default_factory=set)
    _heard: dict[str, tuple[ev.HookRan, ...]] = msgspec.field(default_factory=dict)

    async def begin(self) -> bool:
        """Start the run that waits longest; deal with ops that have no run to act on."""
        self.setup = None  # that of the run before
        for input_id, op in list(self.log.state.inputs.items()):
            if isinstance(op, Send):
                await self._start(op, input_id)
                return True
            if isinstance(op, Steer):
                run_id = run_of_steer(input_id)
                await self._start(Send(run_id=run_id, parts=op.parts, context=op.context), input_id)
                return True
            owner = self.log.lease.owner.key
            events = steering.idle_events(self.log.state, op, input_id, owner)
            if events:
                await self.log.decide(*events)
                return True
            text = f"There is no run for this {op.__struct_config__.tag}."
            await self.log.decide(steering.noted(None, input_id, "no_run", text))
            return True
        return False

    async def _start(self, op: Send, input_id: str) -> None:
        thread = self.log.state.thread
        parent_run = thread.parent_run if thread is not None else None
        try:
            setup = await self.prepare(self.log.state, Wanted(send=op))
        except UserError as error:
            await self._refuse(op, input_id, str(error))
            return
        except BridleError:
            raise
        except Exception as error:  # noqa: BLE001 - the run still gets its end, with the reason
            trace = "".join(traceback.format_exception(error))
            hidden = self.log.journal.redactor.text(trace)
            log.warning("Run %s cannot be set up\n%s", op.run_id, hidden)
            await self._refuse(op, input_id, f"{type(error).__name__}: {error}")
            return
        await self._tell(setup)
        rans = await self.heard(op.run_id, op, input_id, setup)
        head, policy = names(setup)
        limits = setup.limits if op.limits is None else setup.limits.within(op.limits)
        started = ev.RunStarted(
            run_id=op.run_id,
            consumes=(input_id,),
            model_id=setup.model_id,
            fallbacks=setup.fallbacks,
            mode_id=setup.mode_id,
            task=task_of(op, rans),
            head=head,
            policy=policy,
            limits=limits,
            parallel=(setup.concurrency.max, setup.concurrency.per_category),
            price=setup.model.price,
            account=op.run_id,
            depth=thread.depth if thread is not None else 0,
            parent_run_id=parent_run,
            context=op.context,
            check_rounds=setup.checks.max_rounds if setup.checks is not None else 0,
        )
        account = Account(
            id=op.run_id,
            parent_id=parent_run,
            max_usd=limits.max_usd,
            max_tokens=limits.max_tokens,
        )
        await self.log.decide(
            started,
            *await self._broken_prefix(op.run_id, setup),
            *steering.opening(op, rans),
            *self._kept_mail(op.run_id),
            extra=Extra(blobs=(setup.head_blob, setup.policy_blob), accounts=(account,)),
        )
        self.setup = setup

    def _kept_mail(self, run_id: str) -> list[ev.Event]:
        """What other agents said while no run was there to hear it."""
        state = self.log.state
        kept = [name for name in state.mail if name not in state.inputs]
        return [e for name in kept for e in steering.mailed(run_id, state.mail[name], name)]

    async def heard(
        self, run_id: str, op: Send | Steer, input_id: str, setup: RunSetup
    ) -> tuple[ev.HookRan, ...]:
        """Show hooks what the user said, once, before the model sees it."""
        if setup.hooks is None:
            return ()
        if input_id not in self._heard:
            starts = None
            if isinstance(op, Send):
                starts = "startup" if self.log.state.last_run is None else "resume"
            mode, model = setup.mode_id, setup.model_id
            scope = scope_of(self.log.state, run_id, mode=mode, model=model)
            said = await setup.hooks.opening(scope, input_id, op.parts, starts=starts)
            self._heard[input_id] = said  # kept while the log moves: a hook is not asked twice
        return self._heard[input_id]

    def notice(self, event: ev.AnyEvent) -> None:
        """Let the hooks of the open run know what was recorded; they are told when it is time."""
        if self.setup is not None and self.setup.hooks is not None:
            self.setup.hooks.noticed(event)

    async def _refuse(self, op: Send, input_id: str, why: str) -> None:
        """A run that cannot be set up still has a beginning, a reason and an end."""
        message = self.log.journal.redactor.text(why)
        failure = Failure(type="configuration", message=message)
        started = ev.RunStarted(
            run_id=op.run_id,
            consumes=(input_id,),
            model_id=op.model,
            task=plain_text(op.parts)[:TASK_LENGTH],
            account=op.run_id,
        )
        await self.log.decide(
            started,
            *steering.opening(op),
            ev.ErrorRaised(run_id=op.run_id, error=failure),
        )

    async def set_up(self, run: RunState) -> RunSetup | None:
        """The setup of the open run, rebuilt when this drain did not start it.

        Calls that are free to run at this moment may have been started by an earlier drain.
        """
        present = self.setup
        if present is not None and present.is_of(run.model_id, run.mode_id):
            return present
        again = present is not None
        if run.error is not None and not run.start.head:
            await self.ending.end(run, Stop("error", run.error.error))
            return None
        try:
            setup = await self.prepare(self.log.state, self._wanted(run, present))
        except UserError as error:
            message = self.log.journal.redactor.text(str(error))
            failure = Failure(type="configuration", message=message)
            await self.ending.end(
                run,
                Stop("error", failure),
                before=stopped_calls(run, "the run cannot be set up again", kind="error"),
            )
            return None
        most, of_category = run.start.parallel
        bounds = msgspec.structs.replace(setup.concurrency, max=most, per_category=of_category)
        ready_setup = msgspec.structs.replace(setup, concurrency=bounds)
        await self._tell(setup)
        await self._tell_new_head(run, ready_setup)  # told again when the log moved meanwhile
        self.setup = ready_setup
        if not again:
            ready = runnable(run.calls, self.setup.concurrency)
            self.suspects = {call.call.id for call in ready}
        return self.setup

    async def _tell(self, setup: RunSetup) -> None:
        if setup.news:
            await self.log.result(*setup.news)

    def _wanted(self, run: RunState, present: RunSetup | None) -> Wanted:
        """The run as it has come to be; a new mode begins its requests anew."""
        same_mode = present is None or present.mode_id == run.mode_id
        return Wanted(
            started=run.start,
            values=dict(run.values),
            mode=run.mode_id,
            model=run.model_id,
            head=run.head if same_mode else None,
        )

    async def _tell_new_head(self, run: RunState, setup: RunSetup) -> None:
        head, policy = names(setup)
        if head != run.head:
            await self.log.decide(
                ev.PrefixBroken(
                    run_id=run.run_id, cause=f"mode {run.mode_id}", head=head, policy=policy
                ),
                extra=Extra(blobs=(setup.head_blob, setup.policy_blob)),
            )

    async def _broken_prefix(self, run_id: str, setup: RunSetup) -> tuple[ev.PrefixBroken, ...]:
        """Tell when this run's requests begin differently from those of the run before."""
        last = self.log.state.last_run
        head, policy = names(setup)
        if last is None or not last.head or last.head == head:
            return ()
        blob = await self.log.journal.store.blob(last.head)
        cause = "unknown" if blob is None else what_changed(_head.decode(blob), setup.head)
        return (ev.PrefixBroken(run_id=run_id, cause=cause, head=head, policy=policy),)


def task_of(op: Send, rans: Sequence[ev.HookRan]) -> str:
    """What a run is about, in the words that hooks left of it."""
    left = [ran.text for ran in rans if ran.text is not None]
    return (left[-1] if left else plain_text(op.parts))[:TASK_LENGTH]


def what_changed(before: RequestHead, after: RequestHead) -> str:
    """Name the parts of the beginning of requests that are not what they were."""
    changed = [
        name
        for name in ("system", "tools", "settings", "history")
        if getattr(before, name) != getattr(after, name)
    ]
    if "tools" in changed:
        old = {tool.name: tool for tool in before.tools}
        new = {tool.name: tool for tool in after.tools}
        names_changed = [n for n in (*old, *new) if old.get(n) != new.get(n)]
        changed[changed.index("tools")] = f"tools ({', '.join(dict.fromkeys(names_changed))})"
    return ", ".join(changed) or "order of the tools"
