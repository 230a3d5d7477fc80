"""What follows from hooks that were run: pure functions, the same live and in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types.content import Text
from bridle.types.permissions import HookVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.types.content import Part
    from bridle.types.events import HookRan
    from bridle.types.tools import CallFacts

_STRICTNESS = {"deny": 0, "ask": 1, "notify": 2, "allow": 3}
ANSWERING = "permission:request"


def concluded(rans: Sequence[HookRan], facts: CallFacts) -> tuple[CallFacts, HookVerdict | None]:
    """What hooks said of a call in the end: what it means now, and the strictest verdict.

    Changed arguments void what was said of the old ones. A hook that answers for the user takes
    the place of a hook that asks.
    """
    said: HookRan | None = None
    for ran in rans:
        if ran.facts is not None:
            facts, said = ran.facts, None
        if ran.effect is None:
            continue
        answers = ran.event == ANSWERING and said is not None and said.effect == "ask"
        if said is None or answers or _stricter(ran, said):
            said = ran
    if said is None:
        return facts, None
    verdict = HookVerdict(
        effect=said.effect,
        hook=said.hook,
        layer=said.layer,
        reason=said.reason,
        source=said.source,
    )
    return facts, verdict


def _stricter(one: HookRan, other: HookRan) -> bool:
    return _STRICTNESS[one.effect or "allow"] < _STRICTNESS[other.effect or "allow"]


def heard(parts: tuple[Part, ...], rans: Sequence[HookRan]) -> tuple[Part, ...]:
    """What a user's message is after its hooks: perhaps other words, perhaps more to read."""
    for ran in rans:
        if ran.text is not None:
            others = tuple(part for part in parts if not isinstance(part, Text))
            parts = (Text(ran.text), *others)
    more = tuple(Text(noted(ran.hook, ran.context)) for ran in rans if ran.context)
    return (*parts, *more)


def noted(hook: str, context: str) -> str:
    """Words of a hook, as the model reads them."""
    return f"[hook {hook}] {context}"


def halted(rans: Sequence[HookRan]) -> HookRan | None:
    """The hook that ended the run, if one did."""
    return next((ran for ran in rans if ran.halt), None)
