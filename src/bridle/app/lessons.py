"""What runs of the past say about a policy: rules to learn, and what another one would change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.app.looking import families
from bridle.app.records import find_run
from bridle.app.ruling import RunOptions, read_ruling
from bridle.permissions.evaluate import evaluate
from bridle.permissions.learn import compare, learn
from bridle.runs.transcripts import Past, past_calls, read_transcript
from bridle.types.base import Fact
from bridle.types.permissions import Rule, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.store import Store
    from bridle.types.permissions import Policy


class Lesson(Fact, frozen=True, kw_only=True):
    """The fewest rules that would have allowed some calls, and those that none can allow."""

    calls: int
    rules: tuple[Rule, ...]
    uncovered: tuple[tuple[str, str], ...]


class Shift(Fact, frozen=True, kw_only=True):
    """A call that another policy would decide differently."""

    origin: str
    call: str
    before: Verdict
    after: Verdict
    rule: str


class Backtested(Fact, frozen=True, kw_only=True):
    """How a policy would have decided calls of the past."""

    policy: str
    total: int
    same: int
    newly_blocked: tuple[Shift, ...]
    newly_asked: tuple[Shift, ...]
    newly_allowed: tuple[Shift, ...]
    prompts_saved: int


async def learn_rules(store: Store, options: RunOptions, names: Sequence[str]) -> Lesson:
    """The fewest rules that, beside the project's own, allow what runs did.

    What was refused then, by a person or by a rule, is not learned.
    """
    past = [c for c in await _past(store, names) if not c.refused and c.effect != "deny"]
    learned = learn([(call.tool, call.facts) for call in past], read_ruling(options).policy)
    return Lesson(
        calls=len(past),
        rules=learned.rules,
        uncovered=tuple((past[index].words, why) for index, why in learned.uncovered),
    )


async def backtest_policy(store: Store, options: RunOptions, names: Sequence[str]) -> Backtested:
    """Decide the calls of the past with the policy of a spec, and compare."""
    ruling = read_ruling(options)
    past = await _past(store, names)
    after = [evaluate(c.tool, c.facts, _there(ruling.policy, c)) for c in past]
    found = compare([call.effect for call in past], [decision.effect for decision in after])

    def shifts(indexes: Sequence[int]) -> tuple[Shift, ...]:
        return tuple(
            Shift(
                origin=past[index].origin,
                call=past[index].words,
                before=past[index].effect,
                after=after[index].effect,
                rule=after[index].rule,
            )
            for index in indexes
        )

    return Backtested(
        policy=str(ruling.path),
        total=found.total,
        same=found.same,
        newly_blocked=shifts(found.newly_blocked),
        newly_asked=shifts(found.newly_asked),
        newly_allowed=shifts(found.newly_allowed),
        prompts_saved=found.prompts_saved,
    )


async def _past(store: Store, names: Sequence[str]) -> list[Past]:
    found: list[Past] = []
    for name in names:
        written = _transcript(name)
        if written is not None:
            found += written
            continue
        row = await find_run(store, name, near=Path.cwd())
        thread = await store.thread(row.thread_id)
        root = thread.workspace if thread is not None else None
        for whole in await families(store, [row]):
            found += past_calls(whole, root=root)
    return found


def _transcript(name: str) -> list[Past] | None:
    return read_transcript(Path(name)) if Path(name).is_file() else None


def _there(policy: Policy, call: Past) -> Policy:
    """The policy as it would hold where the call was made."""
    return policy if call.root is None else msgspec.structs.replace(policy, root=call.root)


def allowing(rules: Sequence[Rule]) -> str:
    """Rules as they are written in a spec."""
    lines = ["execution_policy:", "  permissions:"]
    for rule in rules:
        pattern = msgspec.json.encode(rule.matches).decode()
        lines.append(f"    - {{pattern: {pattern}, effect: {rule.effect}}}")
    return "\n".join(lines)
