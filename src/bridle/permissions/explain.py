"""What a policy says, in words; and the smallest change that would flip a decision."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import msgspec

from bridle.permissions.call import prepare
from bridle.permissions.evaluate import evaluate
from bridle.permissions.profiles import EFFECTS, SUMMARIES
from bridle.permissions.suggest import patterns_for
from bridle.types.permissions import Decision, Grants, Policy, Rule
from bridle.types.tools import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.types.permissions import HookVerdict
    from bridle.types.tools import CallFacts


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One statement about a policy."""

    step: str
    effect: str
    what: str
    rule: str | None = None
    layer: str | None = None
    source: str | None = None
    reason: str | None = None


class Flip(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a policy and what the call would get then."""

    change: str = ""
    gives: str = ""
    remove: tuple[str, ...] = ()
    add: tuple[Rule, ...] = ()
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()


def describe(policy: Policy) -> tuple[Line, ...]:
    """Everything that the policy says, in the order in which it is asked."""
    return tuple(_lines(policy))


def _lines(policy: Policy) -> Iterator[Line]:
    yield from _scope(policy)
    yield from _safety(policy)
    yield from (_line("deny", rule) for rule in policy.rules if rule.effect == "deny")
    if policy.only_commands:
        listed = ", ".join(policy.only_commands)
        yield Line("deny", "ask", f"commands other than {listed}", "policy:only-commands")
    if policy.yolo or policy.profile == "yolo":
        yield Line("yolo", "allow", "what would be asked, denials and protected files excepted")
    for rule in policy.rules:
        if rule.effect != "deny":
            yield _line("category" if rule.by_category else "pattern", rule)
    for category in CATEGORIES:
        effect = EFFECTS[policy.profile][category]
        what, name = f"category {category}", f"profile:{policy.profile}"
        yield Line("profile", effect, what, name, None, policy.profile_source)
    yield Line("ask", "ask" if policy.answerable else "deny", "everything else")
    if policy.within is not None:
        for line in _lines(policy.within):
            yield msgspec.structs.replace(line, step=f"parent {line.step}")


def _scope(policy: Policy) -> Iterator[Line]:
    for tool, reason in policy.removed.items():
        yield Line("scope", "deny", tool, "scope:removed", "scope", None, reason)
    for scope in policy.scope:
        for tool, reason in scope.removed.items():
            yield Line("scope", "deny", tool, "scope:removed", scope.layer, None, reason)
        if scope.tools is not None:
            yield Line("scope", "allow", f"only {', '.join(scope.tools)}", None, scope.layer)


def _safety(policy: Policy) -> Iterator[Line]:
    extra = f", {', '.join(policy.secrets)}" if policy.secrets else ""
    secrets = f"secrets: keys, credentials, our own state{extra}"
    yield Line("safety", "deny", secrets, "safety:secret")
    where = policy.root or "(no workspace: not checked)"
    beside = [*policy.writable, *(f"{path} (read)" for path in policy.readable)]
    yield Line("safety", "deny", f"outside of {', '.join([where, *beside])}", "safety:escape")
    yield Line("safety", "ask", "changes of hooks, start-up files, settings", "safety:protected")
    if policy.hosts is not None:
        hosts = ", ".join(policy.hosts) or "none"
        yield Line("safety", "deny", f"hosts other than {hosts}", "safety:host")


def _line(step: str, rule: Rule) -> Line:
    what = f"category {rule.matches}" if rule.by_category else rule.matches
    if rule.max_depth is not None:
        what += f" (to depth {rule.max_depth})"
    return Line(step, rule.effect, what, rule.id, rule.layer, rule.source, rule.reason)


def text(policy: Policy) -> str:
    """The same, to be read by a person."""
    lines = [f"profile {policy.profile}: {SUMMARIES[policy.profile]}"]
    for line in describe(policy):
        origin = " · ".join(part for part in (line.layer, line.source) if part)
        because = f" — {line.reason}" if line.reason else ""
        place = f"  [{origin}]" if origin else ""
        lines.append(f"{line.step:<9} {line.effect:<7} {line.what}{because}{place}")
    return "\n".join(lines)


def why(decision: Decision) -> str:
    """How a decision was found, step by step."""
    lines = [f"{decision.effect}: {decision.rule} ({decision.layer})"]
    if decision.source:
        lines[0] += f" at {decision.source}"
    if decision.reason:
        lines.append(decision.reason)
    for step in decision.trace:
        words = [step.stage, step.verdict, step.rule, step.part, step.why, step.source]
        lines.append("  " + " · ".join(word for word in words if word))
    return "\n".join(lines)


def flip(
    decision: Decision,
    tool: str,
    facts: CallFacts,
    policy: Policy,
    grants: Grants | None = None,
    hook: HookVerdict | None = None,
) -> Flip | None:
    """The smallest change of the rules that turns the decision around, tried out; None if none.

    An allowed call is turned into a denied one, any other into an allowed one.
    """
    if decision.effect in ("allow", "notify"):
        wanted, changes = {"deny"}, _denying(tool, facts, policy)
    else:
        wanted, changes = {"allow", "notify"}, _allowing(tool, facts, policy, grants, hook)
    for change in _opening(decision, tool, facts, policy, list(changes)):
        found = evaluate(tool, facts, _apply(policy, change), grants, hook)
        if found.effect not in wanted:
            continue
        for rule in change.add if len(change.add) > 1 else ():
            kept = tuple(other for other in change.add if other is not rule)
            fewer = msgspec.structs.replace(change, add=kept)
            less = evaluate(tool, facts, _apply(policy, fewer), grants, hook)
            if less.effect in wanted:
                change, found = fewer, less
        return msgspec.structs.replace(change, change=_said(change), gives=found.effect)
    return None


def _said(change: Flip) -> str:
    """A change in words."""
    parts = [
        f"add to {name}: {', '.join(places)}"
        for name, places in (("writable", change.writable), ("readable", change.readable))
        if places
    ]
    if change.remove:
        parts.append(f"remove {', '.join(change.remove)}")
    if change.add:
        added = ", ".join(f"{rule.matches} → {rule.effect}" for rule in change.add)
        parts.append(f"add: {added}")
    return "; ".join(parts)


def _apply(policy: Policy, change: Flip) -> Policy:
    kept = tuple(rule for rule in policy.rules if rule.id not in change.remove)
    return msgspec.structs.replace(
        policy,
        rules=(*kept, *change.add),
        writable=(*policy.writable, *change.writable),
        readable=(*policy.readable, *change.readable),
    )


def _opening(
    decision: Decision, tool: str, facts: CallFacts, policy: Policy, changes: list[Flip]
) -> Iterator[Flip]:
    """What is outside of the workspace is opened as a place, never by a rule about calls."""
    yield from changes
    if decision.rule != "safety:escape" or not facts.paths:
        return
    call = prepare(tool, facts, policy, Grants())
    places = tuple(dict.fromkeys(posixpath.dirname(call.path(path)) for path in facts.paths))
    field = "writable" if call.writes() else "readable"
    for change in (Flip(), *changes):
        yield msgspec.structs.replace(change, **{field: places})


def _denying(tool: str, facts: CallFacts, policy: Policy) -> Iterator[Flip]:
    call = prepare(tool, facts, policy, Grants())
    for pattern in (*patterns_for(call, exact=True)[:1], call.tool):
        rule = Rule(id="added[0]", matches=pattern, effect="deny")
        yield Flip(add=(rule,))


def _allowing(
    tool: str,
    facts: CallFacts,
    policy: Policy,
    grants: Grants | None,
    hook: HookVerdict | None,
) -> Iterator[Flip]:
    """Changes to try, smallest first: rules less, rules more, both."""
    obstacles = _obstacles(tool, facts, policy, grants, hook)
    if obstacles:
        yield Flip(remove=obstacles)
    call = prepare(tool, facts, policy, Grants())
    for exact in (True, False):
        patterns = patterns_for(call, exact=exact)
        added = tuple(
            Rule(id=f"added[{index}]", matches=pattern, effect="allow")
            for index, pattern in enumerate(patterns)
        )
        if not added:
            continue
        yield Flip(add=added)
        if obstacles:
            yield Flip(remove=obstacles, add=added)


def _obstacles(
    tool: str,
    facts: CallFacts,
    policy: Policy,
    grants: Grants | None,
    hook: HookVerdict | None,
) -> tuple[str, ...]:
    """The written rules that stand in the way, found by taking them away one by one."""
    found: list[str] = []
    left = policy
    while len(found) < len(policy.rules):
        decision = evaluate(tool, facts, left, grants, hook)
        known = {rule.id for rule in left.rules if rule.effect in ("deny", "ask")}
        if decision.effect in ("allow", "notify") or decision.rule not in known:
            break
        found.append(decision.rule)
        left = _apply(left, Flip(remove=(decision.rule,)))
    return tuple(found)
