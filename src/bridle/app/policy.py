"""Ask a policy without running anything: explain, test, validate."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.layers import read_layers
from bridle.app.models import model_registry
from bridle.app.records import open_records
from bridle.app.ruling import Ruling, RunOptions, read_ruling
from bridle.checks.run import check_names
from bridle.errors import SpecError, UserError
from bridle.models.choose import choose
from bridle.models.packs import tune
from bridle.permissions.calls import parse_call
from bridle.permissions.compile import from_execution_policy
from bridle.permissions.evaluate import evaluate
from bridle.permissions.explain import Line, describe, flip
from bridle.permissions.explain import text as explained
from bridle.permissions.learn import Case, Coverage, coverage
from bridle.runs.why import Verdicts
from bridle.spec.load import SPEC_NAME, find_spec
from bridle.spec.model import HarnessSpec
from bridle.types.base import Fact, Fixed
from bridle.types.limits import Limits
from bridle.types.permissions import TraceStep, Verdict

if TYPE_CHECKING:
    from bridle.hooks.define import Bound
    from bridle.types.tools import CallFacts

ANY_MODEL = "openai/any"


class Tested(Fact, frozen=True, kw_only=True):
    """One policy test; `source` is where it is written."""

    call: str
    expect: Verdict
    effect: Verdict
    rule: str
    passed: bool
    because: str | None
    source: str | None


class Tests(Fact, frozen=True, kw_only=True):
    """All policy tests of a spec, and which of its rules they exercise."""

    file: str
    tests: tuple[Tested, ...]
    touched: tuple[str, ...]
    untouched: tuple[str, ...]


class Explained(Fact, frozen=True, kw_only=True):
    """What a project's spec means, from the object that the gate itself uses."""

    name: str
    spec: str | None
    model: str | None
    model_from: str
    fallbacks: tuple[str, ...]
    sandbox: str
    network: str
    checks: bool
    check_steps: tuple[str, ...]
    fail_on_error: bool
    max_rounds: int
    instruction_files: tuple[str, ...] | None
    store: str | None
    tools: bool
    limits: Limits
    profile: str
    policy: tuple[Line, ...]
    policy_text: str
    hooks: tuple[str, ...] = ()


class Validated(Fixed, frozen=True, kw_only=True):
    """A spec without mistakes, and its policy tests."""

    ruling: Ruling
    tests: Tests


def explain_call(options: RunOptions, call: str) -> Verdicts:
    """What the project's policy says of a call, and what would turn that around."""
    ruling = read_ruling(options)
    policy = ruling.policy
    tool, facts = parse_call(call)
    decision = evaluate(tool, facts, policy)
    change = flip(decision, tool, facts, policy)
    return Verdicts(
        call_id=call,
        tool=tool,
        effect=decision.effect,
        rule=decision.rule,
        layer=decision.layer,
        source=decision.source,
        reason=decision.reason,
        trace=(*decision.trace, *_asked_first(ruling, tool, facts)),
        flip=change.change if change is not None else None,
        flip_gives=change.gives if change is not None else None,
    )


def _asked_first(ruling: Ruling, tool: str, facts: CallFacts) -> list[TraceStep]:
    """The hooks that would be asked about a call; what they would say is not known."""
    if not ruling.hooks:
        return []
    from bridle.hooks.matching import matches

    root, home = ruling.policy.root, ruling.policy.home
    return [
        TraceStep("hook", "asks", f"hook:{bound.id}", bound.source, bound.runs, bound.layer)
        for bound in ruling.hooks
        if bound.event == "tool:before_call"
        and bound.type != "observe"
        and matches(bound.hook.matcher, tool, facts, root=root, home=home)
    ]


def run_policy_tests(options: RunOptions) -> Tests:
    """Run the spec's `policy_tests`."""
    return _tests(_written(options))


def _written(options: RunOptions) -> Ruling:
    ruling = read_ruling(options)
    if ruling.path is None:
        raise UserError(f"There is no {SPEC_NAME} in {options.root}.")
    return ruling


def _tests(ruling: Ruling) -> Tests:
    path, at = ruling.path or Path(SPEC_NAME), ruling.layered.at
    cases: list[Case] = []
    for index, test in enumerate(ruling.spec.policy_tests):
        try:
            tool, facts = parse_call(test.call)
        except UserError as error:
            raise _placed(at(f"policy_tests[{index}].call"), str(error)) from error
        cases.append(Case(tool, facts, test.expect, test.because))
    found: Coverage = coverage(ruling.policy, cases)
    return Tests(
        file=str(path),
        tests=tuple(
            Tested(
                call=test.call,
                expect=test.expect,
                effect=outcome.effect,
                rule=outcome.rule,
                passed=outcome.passed,
                because=test.because,
                source=at(f"policy_tests[{index}]"),
            )
            for index, (test, outcome) in enumerate(
                zip(ruling.spec.policy_tests, found.outcomes, strict=True)
            )
        ),
        touched=found.touched,
        untouched=found.untouched,
    )


def _placed(place: str | None, message: str) -> SpecError:
    file, _, line = (place or "").rpartition(":")
    if not line.isdecimal():
        return SpecError(message, file=place)
    return SpecError(message, file=file, line=int(line))


def validate(options: RunOptions) -> Validated:
    """Check a spec to the last field; raises `SpecError` with the line of the first mistake."""
    try:
        ruling = _written(options)
    except SpecError:
        raise
    except UserError as error:
        raise _located(options, error) from error
    compiled = ruling.compiled
    tune(
        compiled.model or ANY_MODEL,
        profile=compiled.profile,
        pack=compiled.pack,
        explicit=compiled.tuning,
    )
    return Validated(ruling=ruling, tests=_tests(ruling))


def _located(options: RunOptions, error: UserError) -> UserError:
    """Find the entry that does not compile, by compiling them one by one."""
    root = options.root
    layered = read_layers(root, options.spec or find_spec(root), options.environ)
    policy = layered.spec.execution_policy
    entries: list[tuple[str, dict[str, Any]]] = [
        *((f"denied_commands[{i}]", {"denied_commands": [c]}) for i, c in
          enumerate(policy.denied_commands)),
        *((f"allowed_commands[{i}]", {"allowed_commands": [c]}) for i, c in
          enumerate(policy.allowed_commands)),
        *((f"categories.{k}", {"categories": {k: v}}) for k, v in policy.categories.items()),
        *((f"permissions[{i}]", {"permissions": [p]}) for i, p in enumerate(policy.permissions)),
    ]  # fmt: skip
    for key, entry in entries:
        try:
            from_execution_policy(**entry)
        except UserError as found:
            return _placed(layered.at(f"execution_policy.{key}"), f"{key}: {found}")
    return error


def spec_schema() -> dict[str, Any]:
    """The JSON Schema of `harness.yaml`."""
    return msgspec.json.schema(HarnessSpec)


def explain(options: RunOptions) -> Explained:
    """Tell what would hold for a run here."""
    ruling = read_ruling(options)
    compiled = ruling.compiled
    try:
        registry = model_registry(
            options.environ,
            providers=compiled.providers,
            records=partial(open_records, options.store),
        )
        model = choose(
            registry, flag=options.model, provider=options.provider, spec=compiled.model
        ).id
        origin = "flag" if options.model else "spec" if compiled.model else "found here"
    except UserError as error:
        model, origin = None, str(error)
    return Explained(
        name=compiled.name,
        spec=str(ruling.path) if ruling.path is not None else None,
        model=model,
        model_from=origin,
        fallbacks=compiled.fallbacks,
        sandbox=options.sandbox or compiled.sandbox,
        network=compiled.network,
        checks=compiled.checks.enabled,
        check_steps=check_names(compiled.checks, options.root),
        fail_on_error=compiled.checks.fail_on_error,
        max_rounds=compiled.checks.max_rounds,
        instruction_files=compiled.instruction_files,
        store=compiled.store,
        tools=compiled.tools,
        limits=compiled.limits.within(options.limits),
        profile=ruling.policy.profile,
        policy=describe(ruling.policy),
        policy_text=explained(ruling.policy),
        hooks=tuple(_hook_line(bound) for bound in ruling.hooks),
    )


def _hook_line(bound: Bound) -> str:
    """A hook in words: when it runs, what it runs, and what its failure means."""
    on = f"{bound.hook.event} ({bound.type})"
    about = f" for {bound.hook.matcher}" if bound.hook.matcher else ""
    fails = "blocks when it fails" if bound.on_failure == "block" else "may fail"
    where = f"  [{bound.layer}, {bound.source}]" if bound.source else ""
    return f"{on}{about}: {bound.runs}; {fails}{where}"
