"""The order in which a call is decided: the first step that decides wins, all steps are traced."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bridle.types.permissions import Decision, Grants, Policy, Profile, Rule, TraceStep, Verdict

if TYPE_CHECKING:
    from bridle.types.tools import CallFacts

PROFILE_CATEGORIES: dict[Profile, dict[str, Verdict]] = {
    "strict": {},
    "balanced": {"read": "allow"},
    "auto-edit": {"read": "allow", "edit": "allow"},
    "yolo": {"read": "allow"},
    "deny": {"read": "allow"},
}


def evaluate(tool: str, facts: CallFacts, policy: Policy, grants: Grants) -> Decision:
    """Decide one call."""
    trace: list[TraceStep] = []
    decided = (
        _scope(tool, policy, trace)
        or _denied(tool, facts, policy, trace)
        or _built_in(facts, trace)
        or _yolo(policy, trace)
        or _tool_rule(tool, policy, trace)
        or _granted(tool, facts, grants, trace)
        or _category(facts, policy, trace)
        or _default(policy, trace)
    )
    return Decision(
        effect=decided.effect,
        rule=decided.rule,
        layer=decided.layer,
        source=decided.source,
        reason=decided.reason,
        trace=tuple(trace),
    )


def _decide(
    trace: list[TraceStep], stage: str, effect: Verdict, rule: Rule | None, *, why: str
) -> Decision:
    name = rule.id if rule else stage
    source = rule.source if rule else None
    trace.append(TraceStep(stage, effect, name, source, why))
    layer = rule.layer if rule else "built-in"
    reason = rule.reason if rule and rule.reason else why
    return Decision(effect=effect, rule=name, layer=layer, source=source, reason=reason)


def _pass(trace: list[TraceStep], stage: str, why: str) -> None:
    trace.append(TraceStep(stage, "pass", why=why))


def _scope(tool: str, policy: Policy, trace: list[TraceStep]) -> Decision | None:
    if tool in policy.removed:
        return _decide(trace, "scope", "deny", None, why=policy.removed[tool])
    _pass(trace, "scope", "the tool is in scope")
    return None


def _matching(tool: str, policy: Policy) -> list[Rule]:
    rules = [r for r in policy.rules if not r.by_category and fnmatchcase(tool, r.matches)]
    return sorted(rules, key=lambda rule: ("*" in rule.matches, -len(rule.matches)))


def _of_category(facts: CallFacts, policy: Policy) -> list[Rule]:
    return [r for r in policy.rules if r.by_category and r.matches == facts.category]


def _denied(tool: str, facts: CallFacts, policy: Policy, trace: list[TraceStep]) -> Decision | None:
    for rule in (*_matching(tool, policy), *_of_category(facts, policy)):
        if rule.effect == "deny":
            return _decide(trace, "deny", "deny", rule, why=f"{rule.matches} is denied")
    if policy.profile == "deny" and not facts.read_only and not facts.asks_user:
        return _decide(trace, "deny", "deny", None, why="the profile denies all but reads")
    _pass(trace, "deny", "no rule denies it")
    return None


def _built_in(facts: CallFacts, trace: list[TraceStep]) -> Decision | None:
    if facts.asks_user:
        return _decide(trace, "question", "allow", None, why="asking the user needs no approval")
    return None


def _yolo(policy: Policy, trace: list[TraceStep]) -> Decision | None:
    if policy.yolo or policy.profile == "yolo":
        return _decide(trace, "yolo", "allow", None, why="nothing is asked")
    _pass(trace, "yolo", "off")
    return None


def _tool_rule(tool: str, policy: Policy, trace: list[TraceStep]) -> Decision | None:
    for rule in _matching(tool, policy):
        return _decide(trace, "tool", rule.effect, rule, why=f"{rule.matches}: {rule.effect}")
    _pass(trace, "tool", "no rule names it")
    return None


def _granted(
    tool: str, facts: CallFacts, grants: Grants, trace: list[TraceStep]
) -> Decision | None:
    if tool in grants.tools:
        return _decide(trace, "grant", "allow", None, why=f"{tool} was granted in this session")
    if facts.category in grants.categories:
        why = f"category {facts.category} was granted in this session"
        return _decide(trace, "grant", "allow", None, why=why)
    _pass(trace, "grant", "not granted")
    return None


def _category(facts: CallFacts, policy: Policy, trace: list[TraceStep]) -> Decision | None:
    for rule in _of_category(facts, policy):
        why = f"category {rule.matches}: {rule.effect}"
        return _decide(trace, "category", rule.effect, rule, why=why)
    effect = PROFILE_CATEGORIES[policy.profile].get(facts.category)
    if effect is not None and (facts.category != "read" or facts.read_only):
        why = f"profile {policy.profile} lets {facts.category} calls run"
        return _decide(trace, "profile", effect, None, why=why)
    _pass(trace, "category", f"no rule for category {facts.category}")
    return None


def _default(policy: Policy, trace: list[TraceStep]) -> Decision:
    if policy.answerable:
        return _decide(trace, "default", "ask", None, why="nothing allows it")
    return _decide(trace, "default", "deny", None, why="nothing allows it and nobody can be asked")
