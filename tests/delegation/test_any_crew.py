"""Whatever agents do to one another: they end, nothing is heard twice, every log replays."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import anyio
import pytest

from bridle import Subagent
from bridle.testing import calls, says
from bridle.types.ops import Deliver
from delegation.conftest import Cast, log_of
from delegation.test_mailboxes import all_heard

NAMES = ("ann", "bob", "cat")
TALKATIVE = (0, 1, 2, 3)
TOOLS = ["send_message", "wait_for_agent", "fork_agent"]


def action(chance: random.Random, me: str, step: int) -> Any:
    """Something that an agent may do; wrong addresses included."""
    to = chance.choice([*NAMES, "main", "parent", "siblings", "all", "role:worker", "nobody"])
    do = chance.randrange(6)
    if do < 3:
        return calls("send_message", to=to, text=f"{me} {step}")
    if do == 3:
        return calls("fork_agent", task="die", agent_type="worker", name=f"{me}-{step}")
    agents = chance.choice([None, ["main"], ["all"], ["ann"]])
    given = {} if agents is None else {"agents": agents}
    return calls("wait_for_agent", until="message", timeout=chance.choice([0.01, 0.1]), **given)


@pytest.mark.parametrize("seed", range(12))
async def test_any_crew_comes_to_an_end(opened: Any, seed: int) -> None:
    def worker(request: Any) -> Any:
        me = request.messages[0].text.split()[-1]
        chance = random.Random(f"{seed} {me} {request.step}")
        if me == "die" or request.step > chance.randrange(3, 9):
            return says("done")
        count = chance.choice([1, 1, 1, 2, 3])
        return [action(chance, me, request.step * 10 + n) for n in range(count)]

    def main(request: Any) -> Any:
        chance = random.Random(f"{seed} main {request.step}")
        if request.step == 1:
            return [
                calls("fork_agent", task=f"You are {name}", agent_type="worker", name=name)
                for name in NAMES
            ]
        if request.step < 5:
            return action(chance, "main", request.step)
        until = chance.choice(["all", "any"])
        over = '"running"' not in str(request.messages[-1].parts) and request.step > 5
        return says("end") if over else calls("wait_for_agent", until=until, timeout=20)

    model = Cast(main=main, worker=worker)
    kind = Subagent("worker", instructions="worker", allowed_tools=TOOLS)
    async with opened(model, subagents=[kind]) as harness:
        session = await harness.session()
        with anyio.fail_after(60):
            result = await session.send("go")
            await harness._open().dispatcher.rested(session.thread_id)
        assert result.reason in ("end_turn", "loop_detected")
        heard = 0
        for name in await harness.store.children(session.thread_id):
            runs = await harness.store.runs(thread_id=name)
            assert [run.status for run in runs] in (["ended"], [])
            state = await harness._open().journal.fold(name)
            heard += _check_heard(state, await log_of(harness, name))
    if seed in TALKATIVE:
        assert heard > 0, "the control: here something is heard"


def _check_heard(state: Any, log: list[Any]) -> int:
    """What was heard is the beginning of what each sender sent, and nothing twice; how much."""
    sent: dict[str, list[str]] = defaultdict(list)
    for event in log:
        if event.type == "input_admitted" and isinstance(event.op, Deliver):
            mail = event.op.mail
            sent[mail.name].append(mail.text)
    heard: dict[str, list[str]] = defaultdict(list)
    for text in all_heard(state):
        heard[text.split()[0]].append(text)
    for sender, texts in heard.items():
        assert texts == sent[sender][: len(texts)]
    return sum(map(len, heard.values()))
