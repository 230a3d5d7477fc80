"""Reasoning over many calls: the least rules that allow them, coverage, and back-testing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.permissions.call import prepare
from bridle.permissions.evaluate import evaluate
from bridle.permissions.suggest import patterns_for
from bridle.types.permissions import Grants, Policy, Rule, Verdict
from bridle.types.tools import CallFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Recorded = tuple[str, CallFacts]
"""A tool and what was known of one call of it."""

_OPEN = frozenset({"allow", "notify"})


class Learned(msgspec.Struct, frozen=True):
    """Rules that would have allowed the calls, and the calls that no rule of ours can allow."""

    rules: tuple[Rule, ...]
    uncovered: tuple[tuple[int, str], ...]


class Case(msgspec.Struct, frozen=True, omit_defaults=True):
    """One policy test: a call and what it must get."""

    tool: str
    facts: CallFacts
    expect: Verdict
    because: str | None = None


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a policy test got."""

    index: int
    passed: bool
    effect: Verdict
    rule: str
    because: str | None = None


class Coverage(msgspec.Struct, frozen=True):
    """The outcomes of policy tests, and which rules they did and did not touch."""

    outcomes: tuple[Outcome, ...]
    touched: tuple[str, ...]
    untouched: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Did every test pass?"""
        return all(outcome.passed for outcome in self.outcomes)


class Backtest(msgspec.Struct, frozen=True):
    """How another policy would have decided the same calls; the numbers are theirs.

    `prompts_saved` counts questions that would not have been put, less those that would be new.
    """

    total: int
    same: int
    newly_allowed: tuple[int, ...] = ()
    newly_blocked: tuple[int, ...] = ()
    newly_asked: tuple[int, ...] = ()
    prompts_saved: int = 0


def learn(calls: Sequence[Recorded], policy: Policy, *, layer: str = "learned") -> Learned:
    """The smallest set of rules, of those that calls suggest, that allows what would be asked.

    A call gets exact rules; where one wider rule does the work of two or more, it takes their
    place. Every rule that is not needed is dropped, and the result is tried out. What a policy
    denies is never learned.
    """
    answerable = msgspec.structs.replace(policy, answerable=True)
    effects = [evaluate(tool, facts, answerable).effect for tool, facts in calls]
    denied = [index for index, effect in enumerate(effects) if effect == "deny"]
    needed = [index for index, effect in enumerate(effects) if effect == "ask"]
    exact: dict[str, set[int]] = {}
    wide: dict[str, set[int]] = {}
    for index in needed:
        tool, facts = calls[index]
        call = prepare(tool, facts, policy, Grants())
        for found, is_exact in ((exact, True), (wide, False)):
            for pattern in patterns_for(call, exact=is_exact):
                found.setdefault(pattern, set()).add(index)
    chosen = _choose(exact, wide, calls, policy)
    able = [index for index in needed if _allowed(calls[index], _with(policy, chosen, layer))]
    chosen = _prune(chosen, [calls[index] for index in able], policy, layer)
    result = _with(policy, chosen, layer)
    uncovered = tuple(
        (index, evaluate(*calls[index], result).reason or "not allowed by any rule")
        for index in sorted(needed + denied)
        if index not in able
    )
    return Learned(_rules(chosen, layer), uncovered)


def _allowed(call: Recorded, policy: Policy) -> bool:
    return evaluate(call[0], call[1], policy).effect in _OPEN


def _rules(patterns: Iterable[str], layer: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(id=f"{layer}[{index}]", matches=pattern, effect="allow", layer=layer)
        for index, pattern in enumerate(patterns)
    )


def _with(policy: Policy, patterns: Iterable[str], layer: str) -> Policy:
    return msgspec.structs.replace(policy, rules=(*policy.rules, *_rules(patterns, layer)))


def _choose(
    exact: dict[str, set[int]],
    wide: dict[str, set[int]],
    calls: Sequence[Recorded],
    policy: Policy,
) -> list[str]:
    """Take a wide pattern where it stands for several exact ones, else the exact ones."""
    chosen: list[str] = []
    replaced: set[str] = set()
    for pattern, indexes in sorted(wide.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        instead = {
            narrow
            for narrow, used in exact.items()
            if used <= indexes and narrow not in replaced and _stands_for(pattern, narrow)
        }
        if len(instead) > 1:
            chosen.append(pattern)
            replaced |= instead
    chosen += [pattern for pattern in exact if pattern not in replaced]
    for index in sorted({index for used in wide.values() for index in used}):
        if not _allowed(calls[index], _with(policy, chosen, "")):
            chosen += [
                pattern for pattern, used in wide.items() if index in used and pattern not in chosen
            ]
    return list(dict.fromkeys(chosen))


def _stands_for(wide: str, narrow: str) -> bool:
    """Does the wide pattern begin like the narrow one?"""
    return narrow.rstrip(")").startswith(wide.removesuffix(")").removesuffix(":*").rstrip("*"))


def _prune(patterns: list[str], calls: Sequence[Recorded], policy: Policy, layer: str) -> list[str]:
    kept = list(patterns)
    for pattern in reversed(patterns):
        less = [entry for entry in kept if entry != pattern]
        if all(_allowed(call, _with(policy, less, layer)) for call in calls):
            kept = less
    return kept


def coverage(policy: Policy, cases: Sequence[Case]) -> Coverage:
    """Run policy tests, and tell which rules they exercise."""
    outcomes: list[Outcome] = []
    touched: set[str] = set()
    for index, case in enumerate(cases):
        decision = evaluate(case.tool, case.facts, policy)
        touched |= {step.rule for step in decision.trace if step.rule}
        outcomes.append(
            Outcome(
                index, decision.effect == case.expect, decision.effect, decision.rule, case.because
            )
        )
    known = list(dict.fromkeys(rule.id for rule in policy.rules))
    return Coverage(
        tuple(outcomes),
        tuple(name for name in known if name in touched),
        tuple(name for name in known if name not in touched),
    )


def compare(before: Sequence[Verdict], after: Sequence[Verdict]) -> Backtest:
    """Tell what is different between two decisions about each of some calls."""
    kinds = [
        ("allow" if a in _OPEN else a, "allow" if b in _OPEN else b)
        for a, b in zip(before, after, strict=True)
    ]
    changed = [(index, a, b) for index, (a, b) in enumerate(kinds) if a != b]
    return Backtest(
        total=len(kinds),
        same=len(kinds) - len(changed),
        newly_allowed=tuple(index for index, _, now in changed if now == "allow"),
        newly_blocked=tuple(index for index, _, now in changed if now == "deny"),
        newly_asked=tuple(index for index, _, now in changed if now == "ask"),
        prompts_saved=sum(a == "ask" for a, _ in kinds) - sum(b == "ask" for _, b in kinds),
    )
