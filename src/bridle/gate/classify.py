"""Step 9 of the evaluation: a classifier is asked about calls that would only be asked for.

What it says becomes part of the facts of the call, so that the decision stays a function of the
log: a replay reads it there, and asks nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.ports.classifier import Classifier, Opinion, Proposal
from bridle.types.base import Fixed, Moving
from bridle.types.permissions import Classified

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from bridle.gate.decide import Decider, Terms
    from bridle.ports.clock import Clock
    from bridle.ports.tools import CallScope, Outcome, Toolbox
    from bridle.types.content import ToolCall
    from bridle.types.tools import CallFacts, ToolSpec

LIMIT = 2.0
"""How long a classifier may think, in seconds; after that a person is asked."""

Opinions = dict[str, Opinion]


class Classification(Moving, kw_only=True):
    """Asks about the calls of one answer, each as soon as it is known, all beside one another.

    `begin` may be called while the answer still comes: what is said then counts only if the call
    is the same in the end. So nothing waits for a classifier that has answered already.
    """

    classifier: Classifier
    decider: Decider
    terms: Callable[[], Terms]
    clock: Clock
    tasks: TaskGroup
    _asked: dict[str, tuple[ToolCall, anyio.Event]] = msgspec.field(default_factory=dict)
    _found: Opinions = msgspec.field(default_factory=dict)

    def begin(self, call: ToolCall) -> None:
        """Ask about a call, if it is one that may still be allowed."""
        done = anyio.Event()
        self._asked[call.id] = (call, done)
        self._found.pop(call.id, None)
        proposal = _proposal(self.decider, call, self.terms())
        if proposal is None:
            done.set()
        else:
            self.tasks.start_soon(self._ask, call.id, proposal, done)

    async def opinions(self, calls: Sequence[ToolCall]) -> Opinions:
        """What was said of these calls; those that nobody was asked about are begun now."""
        for call in calls:
            if call.id not in self._asked or self._asked[call.id][0] != call:
                self.begin(call)
        for call in calls:
            await self._asked[call.id][1].wait()
        return {call.id: self._found[call.id] for call in calls if call.id in self._found}

    async def _ask(self, call_id: str, proposal: Proposal, done: anyio.Event) -> None:
        opinion = await _one(self.classifier, proposal, self.clock)
        if self._asked[call_id][1] is done:  # else the call was not complete yet
            self._found[call_id] = opinion
        done.set()


def _proposal(decider: Decider, call: ToolCall, terms: Terms) -> Proposal | None:
    facts, decision = decider.again(call, terms)
    if decision is None or not decision.classifiable:
        return None
    return Proposal(
        tool=call.tool,
        args=facts.args or call.args,
        category=facts.category,
        command=facts.command,
        paths=facts.paths,
        hosts=facts.hosts,
        reason=decision.reason,
    )


async def _one(classifier: Classifier, proposal: Proposal, clock: Clock) -> Opinion:
    try:
        with clock.deadline(LIMIT):
            return await classifier.opinion(proposal)
    except Exception as error:  # noqa: BLE001 - no opinion means that a person is asked
        return _none(f"it failed: {type(error).__name__}")
    return _none(f"no answer within {LIMIT:g} s")


def _none(why: str) -> Opinion:
    return Opinion(classified=Classified(risk="high", confidence=0.0, problem=why))


class KnownTools(Fixed, frozen=True):
    """A toolbox that describes calls together with what was said of them."""

    tools: Toolbox
    known: Mapping[str, Opinion]

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told."""
        return self.tools.specs

    def describe(self, call: ToolCall) -> CallFacts:
        """The facts of a call, with the opinion."""
        facts = self.tools.describe(call)
        opinion = self.known.get(call.id)
        if opinion is None or facts.problem is not None:
            return facts
        return msgspec.structs.replace(facts, classified=opinion.classified)

    async def execute(self, call: ToolCall, scope: CallScope) -> Outcome:
        """Run a call that the gate has let through."""
        return await self.tools.execute(call, scope)
