"""The decision about a call: ten steps, first that decides, all of them recorded.

1 scope · 2 safety · 3 denials · 4 hooks · 5 yolo · 6 patterns and tools · 7 grants · 8 categories ·
9 classifier · 10 ask, or deny where nobody can answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.permissions.call import Finding, prepare
from bridle.permissions.denials import denied
from bridle.permissions.permits import permitted
from bridle.permissions.safety import out_of_scope, unsafe
from bridle.types.permissions import Decision, Grants, TraceStep

if TYPE_CHECKING:
    from bridle.permissions.call import Call
    from bridle.types.permissions import Classified, HookVerdict, Policy
    from bridle.types.tools import CallFacts

CONFIDENT = 0.9
_STRICTNESS = {"deny": 0, "ask": 1, "notify": 2, "allow": 3}
_CLASSIFIABLE = frozenset({"category", "default"})


def evaluate(
    tool: str,
    facts: CallFacts,
    policy: Policy,
    grants: Grants | None = None,
    hook: HookVerdict | None = None,
) -> Decision:
    """Decide a call. The same arguments always give the same decision, with the way to it."""
    granted = grants or Grants()
    own = _decide(prepare(tool, facts, policy, granted), hook, facts.classified)
    if policy.within is None:
        return own
    above = evaluate(tool, facts, policy.within, granted, hook)
    return _stricter(own, above)


def _stricter(own: Decision, above: Decision) -> Decision:
    """What both the policy and its parent's allow."""
    trace = (
        *own.trace,
        TraceStep("within", above.effect, above.rule, above.source, above.reason, "parent"),
    )
    first = own if _STRICTNESS[own.effect] <= _STRICTNESS[above.effect] else above
    return Decision(
        effect=first.effect,
        rule=first.rule,
        layer=first.layer if first is own else f"parent:{first.layer}",
        source=first.source,
        reason=first.reason,
        trace=trace,
        classifiable=_passable(own) and _passable(above),
    )


def _passable(decision: Decision) -> bool:
    return decision.classifiable or decision.effect in ("allow", "notify")


class _Steps:
    """The way to a decision."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.trace: list[TraceStep] = []
        self.must_ask: Finding | None = None

    def note(self, finding: Finding) -> None:
        self.trace.append(
            TraceStep(
                finding.stage,
                finding.effect,
                finding.rule,
                finding.source,
                finding.why,
                finding.layer,
                finding.part,
            )
        )

    def passed(self, stage: str, why: str | None = None) -> None:
        self.trace.append(TraceStep(stage, "pass", why=why))

    def strict(self, stage: str, findings: list[Finding]) -> Finding | None:
        """Note what a stage found; a denial decides, an ask holds whatever follows."""
        for finding in findings:
            self.note(finding)
            if finding.effect == "deny":
                return finding
            self.must_ask = self.must_ask or finding
        if not findings:
            self.passed(stage)
        return None

    def end(self, finding: Finding, *, classifiable: bool = False) -> Decision:
        if finding.effect != "deny" and self.must_ask and finding is not self.must_ask:
            finding = self.must_ask
        reason = _reason(finding)
        if finding.effect == "ask" and not self.call.policy.answerable:
            self.trace.append(TraceStep("ask", "deny", why="nobody can answer"))
            finding = Finding("deny", "ask", finding.rule, finding.layer, finding.source)
            reason = f"{reason or 'it must be asked'}; nobody can answer"
        return Decision(
            effect=finding.effect,
            rule=finding.rule,
            layer=finding.layer,
            source=finding.source,
            reason=reason,
            trace=tuple(self.trace),
            classifiable=classifiable and self.must_ask is None,
        )


def _reason(finding: Finding) -> str | None:
    if finding.effect in ("allow", "notify") or not finding.part:
        return finding.why
    return f"{finding.why}: {finding.part}" if finding.why else finding.part


def _decide(call: Call, hook: HookVerdict | None, classified: Classified | None) -> Decision:
    steps = _Steps(call)
    scope = out_of_scope(call)
    for stage, findings in (
        ("scope", [scope] if scope else []),
        ("safety", [] if scope else list(unsafe(call))),
        ("deny", [] if scope else list(denied(call))),
    ):
        decided = steps.strict(stage, findings)
        if decided:
            return steps.end(decided)
    said = _hook(hook)
    if said:
        steps.note(said)
        return steps.end(said)
    steps.passed("hook")
    if call.policy.yolo or call.policy.profile == "yolo":
        yolo = Finding("allow", "yolo", "yolo", "policy", why="what would be asked is allowed")
        steps.note(yolo)
        return steps.end(yolo)
    steps.passed("yolo")
    return _permit(call, steps, classified)


def _hook(hook: HookVerdict | None) -> Finding | None:
    if hook is None:
        return None
    rule = f"hook:{hook.hook}"
    if hook.failed and hook.on_failure == "block":
        why = hook.reason or "the hook failed"
        return Finding("deny", "hook", rule, hook.layer, hook.source, why)
    if hook.effect is None or hook.failed:
        return None
    return Finding(hook.effect, "hook", rule, hook.layer, hook.source, hook.reason)


def _permit(call: Call, steps: _Steps, classified: Classified | None) -> Decision:
    findings = permitted(call)
    for finding in findings:
        steps.note(finding)
    strictest = min(findings, key=lambda finding: _STRICTNESS[finding.effect])
    if strictest.effect != "ask":
        return steps.end(strictest)
    asked = [finding for finding in findings if finding.effect == "ask"]
    classifiable = all(finding.stage in _CLASSIFIABLE for finding in asked)
    if classified is not None and classifiable and steps.must_ask is None:
        sure = classified.problem is None and classified.confidence > CONFIDENT
        low = sure and classified.risk == "low"
        effect = "allow" if low else "ask"
        said = f"{classified.risk} risk, confidence {classified.confidence:.2f}"
        reason = f": {classified.reason}" if classified.reason else ""
        why = classified.problem or f"{said}{reason}"
        steps.trace.append(TraceStep("classifier", effect, "classifier", why=why))
        if low:
            return steps.end(Finding("allow", "classifier", "classifier", "classifier", why=why))
    if steps.call.policy.answerable:
        steps.trace.append(TraceStep("ask", "ask"))
    return steps.end(strictest, classifiable=classifiable)
