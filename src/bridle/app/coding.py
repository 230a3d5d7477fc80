"""The coding agent of the command line: a spec, or the defaults, made into a harness."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.app.config import Agent
from bridle.app.harness import Harness
from bridle.app.models import model_registry
from bridle.app.paths import state_directory
from bridle.app.trust import require_trust
from bridle.app.workspace import Workspace
from bridle.context.environment import environment_facts
from bridle.context.instructions import load_instructions
from bridle.context.prompt import NO_TOOL, coding_prompt
from bridle.errors import UserError, suggest
from bridle.models.choose import choose
from bridle.models.packs import Tuning, tune
from bridle.ports.clock import SystemClock
from bridle.spec.compile import Compiled, compile_spec
from bridle.spec.load import field_lines, find_spec, load_spec
from bridle.spec.model import HarnessSpec
from bridle.types.base import Fixed
from bridle.types.limits import Limits
from bridle.types.permissions import PROFILES, Policy, Profile, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bridle.ports.model import Model
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool


EMBEDDED = "embedded/repair"


class RunOptions(Fixed, frozen=True, kw_only=True):
    """What a command line asks for; None means as the spec or the defaults say."""

    cwd: Path = msgspec.field(default_factory=Path.cwd)
    spec: Path | None = None
    model: str | None = None
    provider: str | None = None
    store: str | None = None
    profile: str | None = None
    sandbox: str | None = None
    yolo: bool = False
    answerable: bool = True
    trust: bool = False
    limits: Limits = msgspec.field(default_factory=Limits)
    checks: bool = True
    repair: bool = False
    repair_seconds: float = 60.0
    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)


def coding_harness(options: RunOptions) -> Harness:
    """Build the harness that a command runs; raises `UserError` with what to do."""
    root = options.cwd.resolve()
    if not root.is_dir():
        raise UserError(f"There is no directory {str(options.cwd)!r}.")
    ruling = read_ruling(options)
    compiled, policy = ruling.compiled, ruling.policy
    if ruling.path is not None and compiled.providers:
        require_trust(ruling.path, "where models are reached", given=options.trust)
    registry = model_registry(
        options.environ, providers=compiled.providers, sources={"embedded": embedded_model}
    )
    flag = options.model or (EMBEDDED if options.repair and not options.provider else None)
    chosen = choose(registry, flag=flag, provider=options.provider, spec=compiled.model)
    sandbox = options.sandbox or compiled.sandbox
    workspace = Workspace(
        root,
        sandbox=sandbox,
        network=compiled.network,
        allowed_hosts=policy.hosts or (),
        readable=policy.readable,
        writable=policy.writable,
    )
    return Harness(
        id=compiled.name,
        agent=Agent(instructions=_instructions(compiled, root, sandbox), name=compiled.name),
        model=chosen.id,
        fallbacks=[registry.full_id(name) for name in compiled.fallbacks],
        tuning=_tuning(compiled, chosen.id),
        store=options.store,
        resource_id=resource_of(root),
        workspace=workspace if compiled.tools else None,
        workspace_tools=_extra_tools(chosen.id, options),
        permissions=policy,
        limits=compiled.limits.within(options.limits),
        checks=(compiled.checks or options.repair) and options.checks and compiled.tools,
        resolve_model=registry.resolve,
        redact=compiled.redact,
    )


def _instructions(compiled: Compiled, root: Path, sandbox: str) -> str:
    if not compiled.tools:
        return NO_TOOL
    loaded = load_instructions(Path(resource_of(root)), root)
    facts = environment_facts(root, now=SystemClock().now(), sandbox=sandbox)
    return coding_prompt(environment=facts, instructions=loaded.text)


def embedded_model(name: str) -> Model:
    """The models that come with the program."""
    from bridle.repair.model import MODEL_ID, RepairModel

    if f"embedded/{name}" != MODEL_ID:
        raise UserError(suggest(name, ["repair"], what="embedded model"))
    return RepairModel()


def _extra_tools(
    model_id: str, options: RunOptions
) -> Callable[[Workplace], Sequence[Tool]] | None:
    """The repair agent works through a tool of its own."""
    if model_id != EMBEDDED:
        return None
    from bridle.repair.harness_tool import try_edits_tool

    return lambda place: (try_edits_tool(place, seconds=options.repair_seconds),)


def _tuning(compiled: Compiled, model_id: str) -> Callable[[str], Tuning]:
    """How models are used; what the spec says wrongly is told before anything runs."""

    def tuning(name: str) -> Tuning:
        return tune(name, profile=compiled.profile, pack=compiled.pack, explicit=compiled.tuning)

    tuning(model_id)
    return tuning


class Ruling(Fixed, frozen=True, kw_only=True):
    """A spec as it was read, and what it means; `path` is None where the defaults hold."""

    path: Path | None
    spec: HarnessSpec
    compiled: Compiled
    policy: Policy


def read_ruling(options: RunOptions) -> Ruling:
    """Compile the spec that a command would run with, to the very policy that its gate asks."""
    root = options.cwd.resolve()
    path = options.spec or find_spec(root)
    spec = HarnessSpec(version=1, name="bridle") if path is None else load_spec(path)
    at = None if path is None else field_lines(path)
    compiled = compile_spec(spec, root=str(root), at=at)
    return Ruling(path=path, spec=spec, compiled=compiled, policy=_policy(compiled.policy, options))


def _policy(policy: Policy, options: RunOptions) -> Policy:
    profile: Profile = policy.profile
    if options.profile is not None:
        if options.profile not in PROFILES:
            raise UserError(suggest(options.profile, PROFILES, what="profile"))
        profile = next(known for known in PROFILES if known == options.profile)
    rules = policy.rules
    if options.repair:  # it works on copies, in the sandbox; its edit is shown and can be undone
        allowed = Rule(id="fix.try_edits", matches="try_edits", effect="allow", layer="command")
        rules = (allowed, *rules)
        profile = "auto-edit" if options.profile is None and profile == "balanced" else profile
    return msgspec.structs.replace(
        policy,
        rules=rules,
        profile=profile,
        yolo=policy.yolo or options.yolo,
        answerable=options.answerable,
        state_dir=str(state_directory()),
    )


def resource_of(directory: Path) -> str:
    """What groups the threads of a project: the real path of its git root, else of itself."""
    here = directory.resolve()
    for candidate in (here, *here.parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return str(here)
