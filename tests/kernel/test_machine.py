"""Any order of admissions, wakes, crashes, steers, aborts and answers: each input runs once."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

import anyio
import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from bridle import Agent, Harness, Rules, tool
from bridle.app.config import Ports
from bridle.errors import AnswerError, BridleError
from bridle.runs.replay.driver import replay_thread
from bridle.testing import calls, says
from bridle.types.content import Text
from bridle.types.ops import Interrupt, Send
from support.kernel import ByStep, Impatient, check_history, check_log
from support.mortal import Mortal, stranger
from support.outline import outline
from support.stores import check_projections

KINDS = ("talk", "look", "act", "ask", "both")


def script(request: Any) -> Any:
    """What the first message of the run asks for, then the last word."""
    kind = request.messages[-1].text.partition(" ")[0]
    if request.step > 1 or kind not in KINDS or kind == "talk":
        return says(f"done with step {request.step}")
    batch = {
        "look": [calls("look")],
        "act": [calls("act")],
        "ask": [calls("ask")],
        "both": [calls("look"), calls("ask"), calls("look", name="b"), calls("act")],
    }[kind]
    return [says("I will"), *batch]


class Threads(RuleBasedStateMachine):
    """One thread, one process after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.directory = Path(tempfile.mkdtemp())
        self.path = self.directory / "store.db"
        self.effects: list[str] = []
        self.sent: list[tuple[str, Send]] = []
        self.thread_id: str | None = None
        self.harness: Harness | None = None
        self.interrupts = 0

    # --- the process -----------------------------------------------------------------------

    def tools(self) -> list[Any]:
        @tool(category="read", read_only=True, concurrency_safe=True)
        async def look(name: str = "") -> str:
            """Look, and take a while."""
            await anyio.sleep(0)
            return "seen"

        @tool(category="execute")
        async def act(ctx: Any = None) -> str:
            """Act once."""
            await anyio.sleep(0)
            return "acted"

        @tool(category="execute")
        async def ask() -> str:
            """Act once, when somebody says so."""
            await anyio.sleep(0)
            return "allowed"

        def counted(made: Any) -> Any:
            inner = made.execute

            async def execute(args: Any, scope: Any) -> Any:
                self.effects.append(scope.call_id)
                return await inner(args, scope)

            return msgspec.structs.replace(made, execute=execute)

        return [look, counted(act), counted(ask)]

    async def open(self) -> None:
        self.store = Mortal(self.path)
        self.harness = Harness(
            id="t",
            store=self.store,  # type: ignore[arg-type]
            agent=Agent("be good", tools=self.tools()),
            permissions=Rules(tools={"look": "allow", "act": "allow", "ask": "ask"}),
            model="scripted/queue",
            resolve_model=lambda _id: ByStep(script),
            ports=Ports(clock=Impatient()),
        )
        await self.harness.init()
        self.harness._engine.dispatcher.drain.owner = stranger()  # type: ignore[union-attr]
        self.session = await self.harness.session(thread_id=self.thread_id)
        self.thread_id = self.session.thread_id

    async def close(self) -> None:
        assert self.harness is not None
        with anyio.fail_after(20):
            await self.harness.destroy()
            await self.store.inner.close()
        self.harness = None

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    @initialize()
    def begin(self) -> None:
        self.run(self.open())

    # --- what may happen -------------------------------------------------------------------

    @rule(kind=st.sampled_from(KINDS), follow_up=st.booleans())
    def send(self, kind: str, follow_up: bool) -> None:
        number = len(self.sent)
        op = Send(run_id=f"run_{number}", parts=(Text(f"{kind} {number}"),), follow_up=follow_up)
        self.sent.append((f"in_{number}", op))
        admitted = self.run(self.admit(f"in_{number}", op))
        assert admitted

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def send_again(self, data: Any) -> None:
        assert not self.run(self.admit(*data.draw(st.sampled_from(self.sent))))

    async def admit(self, input_id: str, op: Any) -> bool:
        journal = self.harness._engine.journal  # type: ignore[union-attr]
        return await journal.admit(self.thread_id, op, input_id=input_id)

    @rule(kind=st.sampled_from(KINDS))
    def steer(self, kind: str) -> None:
        self.run(self.session.steer(f"{kind} please"))

    @rule(clear=st.booleans())
    def abort(self, clear: bool) -> None:
        async def interrupt() -> None:
            run_id = await self.session.open_run()
            if run_id is not None:
                op = Interrupt(run_id=run_id, clear=clear)
                self.interrupts += 1
                await self.admit(f"in_interrupt{self.interrupts}", op)

        self.run(interrupt())

    @rule(approve=st.booleans(), edit=st.booleans())
    def answer(self, approve: bool, edit: bool) -> None:
        async def reply() -> None:
            for pending in await self.store.pending():
                try:
                    if approve:
                        await self.session.approve(pending.id, args={} if edit else None)
                    else:
                        await self.session.decline(pending.id, "no")
                except AnswerError:
                    continue  # it was answered meanwhile
                return

        self.run(reply())

    @rule()
    def wake(self) -> None:
        self.run(self.session.resume())

    @rule(ticks=st.sampled_from([1, 2, 3, 5, 8, 13, 40]))
    def go_on(self, ticks: int) -> None:
        async def pump() -> None:
            for _ in range(ticks):
                await asyncio.sleep(0.0005)

        self.run(pump())

    @rule()
    def crash(self) -> None:
        self.store.die()
        self.run(self.close())
        self.run(self.open())

    @rule()
    def pause(self) -> None:
        async def rest() -> None:
            assert self.harness is not None
            self.harness.pause()

        self.run(rest())
        self.go_on(5)
        self.run(self.close())
        self.run(self.open())

    @rule()
    def restart(self) -> None:
        self.run(self.close())
        self.run(self.open())

    # --- what must hold --------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            if self.harness is not None:
                self.run(self.finish())
                check_projections(self.path)
        finally:
            if self.harness is not None:
                self.run(self.close())
            self.runner.close()
            shutil.rmtree(self.directory, ignore_errors=True)

    async def finish(self) -> None:
        """Answer everything, let everything end, and look at the log."""
        with anyio.fail_after(30):
            await self.session.resume()
            while True:
                await self.harness._engine.dispatcher.rested(self.thread_id)  # type: ignore[union-attr]
                waiting = await self.store.pending()
                if not waiting and not self.session.is_running:
                    break
                for pending in waiting:
                    try:
                        await self.session.decline(pending.id)
                    except BridleError:
                        await anyio.sleep(0)
        events = await self.store.events(self.thread_id)
        try:
            check_log(events)
            check_history(await self.session.threads.messages())
            started = [e.run_id for e in events if e.type == "agent_start"]
            dropped = {i for e in events if e.type == "agent_end" for i in e.consumes}
            for input_id, op in self.sent:
                assert started.count(op.run_id) == (0 if input_id in dropped else 1), op
            assert len(self.effects) == len(set(self.effects)), "an effect was repeated"
            replayed = await replay_thread(self.store, self.thread_id)  # type: ignore[arg-type]
            assert replayed.equal, replayed.divergence
        except AssertionError as error:
            lines = "\n".join(outline(events, everything=True))
            raise AssertionError(f"{error}\n{lines}") from error


TestThreads = Threads.TestCase
TestThreads.settings = settings(
    max_examples=12,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
