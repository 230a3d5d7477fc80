"""Step 9 of the evaluation: a classifier is asked about calls that would only be asked for.

What it says becomes part of the facts of the call, so that the decision stays a function of the
log: a replay reads it there, and asks nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.ports.classifier import Classifier, Opinion, Proposal
from bridle.types.base import Fixed
from bridle.types.permissions import Classified

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridle.gate.decide import Decider, Terms
    from bridle.ports.clock import Clock
    from bridle.ports.tools import CallScope, Outcome, Toolbox
    from bridle.types.content import ToolCall
    from bridle.types.tools import CallFacts, ToolSpec

LIMIT = 2.0
"""How long a classifier may think, in seconds; after that a person is asked."""

Opinions = dict[str, Opinion]


async def opinions(
    classifier: Classifier,
    decider: Decider,
    calls: Sequence[ToolCall],
    terms: Terms,
    *,
    clock: Clock,
) -> Opinions:
    """Ask about all calls that it may still allow, at once; none takes longer than the limit."""
    found: Opinions = {}

    async def ask(call: ToolCall, proposal: Proposal) -> None:
        found[call.id] = await _one(classifier, proposal, clock)

    proposals = [(call, _proposal(decider, call, terms)) for call in calls]
    async with anyio.create_task_group() as tasks:
        for call, proposal in proposals:
            if proposal is not None:
                tasks.start_soon(ask, call, proposal)
    return found


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
