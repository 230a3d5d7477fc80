"""The coding agent of the command line: a spec, or the defaults, made into a harness."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.claims import claims_of
from bridle.app.config import Agent
from bridle.app.harness import Harness
from bridle.app.layers import read_layers
from bridle.app.models import model_registry
from bridle.app.paths import state_directory
from bridle.app.records import open_records
from bridle.app.stores import store_url
from bridle.app.trust import Confirm, require_trust
from bridle.app.workspace import Workspace, output_checks
from bridle.context.environment import environment_facts
from bridle.context.instructions import Loaded, load_instructions
from bridle.context.prompt import NO_TOOL, coding_prompt
from bridle.errors import UserError, suggest
from bridle.models.choose import choose
from bridle.models.endpoints import RESERVED
from bridle.models.packs import Tuning, tune
from bridle.ports.clock import SystemClock
from bridle.spec.compile import WRITING_TOOLS, Compiled, compile_spec
from bridle.spec.load import find_spec
from bridle.types.base import Fixed
from bridle.types.limits import Limits
from bridle.types.permissions import PROFILES, Policy, Profile, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bridle.checks.plan import CheckPlan
    from bridle.hooks.define import Bound
    from bridle.spec.layers import Layered
    from bridle.spec.model import HarnessSpec
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool


EMBEDDED = "embedded/repair"
TEST_PLACES = ("tests/**", "test/**", "**/tests/**", "test_*.py", "**/test_*.py", "*_test.py",
               "**/*_test.py", "conftest.py", "**/conftest.py")  # fmt: skip


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
    confirm: Confirm | None = None
    limits: Limits = msgspec.field(default_factory=Limits)
    checks: bool = True
    output_schema: dict[str, Any] | None = None
    repair: bool = False
    repair_seconds: float = 60.0
    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)


class Coding(Fixed, frozen=True, kw_only=True):
    """A harness for a directory, what a user should know of it, and what a failed check means."""

    harness: Harness
    root: Path
    said: tuple[str, ...]
    fail_on_error: bool
    finds_checks: bool
    remote: bool
    """Whether a model takes its time elsewhere, and it has tools to wait for."""


def build_coding(options: RunOptions) -> Coding:
    """Build the harness that a command runs; raises `UserError` with what to do."""
    root = options.cwd.resolve()
    if not root.is_dir():
        raise UserError(f"There is no directory {str(options.cwd)!r}.")
    ruling = read_ruling(options)
    compiled, policy = ruling.compiled, ruling.policy
    store = _store(options, compiled)
    claims = claims_of(root, ruling.layered, ruling.hooks)
    require_trust(root, claims, given=options.trust, confirm=options.confirm)
    registry = model_registry(
        options.environ,
        providers=compiled.providers,
        records=partial(open_records, store),
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
    loaded, plan = _loaded(compiled, root), _checks(compiled, options)
    harness = Harness(
        id=compiled.name,
        agent=Agent(
            instructions=_instructions(compiled, root, sandbox, loaded),
            name=compiled.name,
            output=options.output_schema,
        ),
        model=chosen.id,
        fallbacks=[registry.full_id(name) for name in compiled.fallbacks],
        tuning=_tuning(compiled, chosen.id),
        store=store,
        resource_id=resource_of(root),
        workspace=workspace if compiled.tools else None,
        workspace_tools=_extra_tools(chosen.id, options),
        search_url=ruling.spec.tools.search_url,
        permissions=policy,
        limits=compiled.limits.within(options.limits),
        checks=plan if plan is None or compiled.tools else output_checks(plan, sandbox=sandbox),
        hooks=ruling.hooks,
        resolve_model=registry.resolve,
        redact=compiled.redact,
    )
    told = (f"instructions: {', '.join(loaded.files)}",) if loaded.files else ()
    return Coding(
        harness=harness,
        root=root,
        said=(*told, *loaded.notices, *ruling.notices),
        fail_on_error=compiled.checks.fail_on_error,
        remote=compiled.tools and chosen.id.partition("/")[0] not in RESERVED,
        finds_checks=plan is not None and plan.find and compiled.tools,
    )


def unchecked(root: Path) -> str | None:
    """Why the tests of a project could not be run, where it has some."""
    from bridle.checks.discover import why_none

    return why_none(root)


def store_of(options: RunOptions) -> str | None:
    """Where a command's runs are kept: by flag, else by the configuration; None by default."""
    return _store(options, read_ruling(options).compiled)


def _store(options: RunOptions, compiled: Compiled) -> str | None:
    return store_url(options.store) if options.store is not None else compiled.store


def _loaded(compiled: Compiled, root: Path) -> Loaded:
    """The instruction files; a flavor without tools has none unless they are named."""
    names = compiled.instruction_files
    if not compiled.tools and names is None:
        return Loaded()
    loaded = load_instructions(Path(resource_of(root)), root, names=names)
    missing = [name for name in names or () if not _reached(name, loaded)]
    if missing:
        raise UserError(f"context.instruction_files: there is no {missing[0]!r} in the project.")
    return loaded


def _reached(name: str, loaded: Loaded) -> bool:
    return any(file == name or file.endswith(f"/{name}") for file in loaded.files)


def _instructions(compiled: Compiled, root: Path, sandbox: str, loaded: Loaded) -> str:
    if not compiled.tools:
        return f"{NO_TOOL}\n\n{loaded.text}".strip()
    facts = environment_facts(root, now=SystemClock().now(), sandbox=sandbox)
    return coding_prompt(environment=facts, instructions=loaded.text)


def _checks(compiled: Compiled, options: RunOptions) -> CheckPlan | None:
    """What decides the verdict; `fix` always has it decided."""
    plan = compiled.checks
    if not options.checks or not (plan.enabled or options.repair):
        return None
    if not compiled.tools and not plan.steps:  # there is no project to find them in
        return None
    return plan


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
    """What is written, in all its layers, and what it means; `path` is that of the spec."""

    path: Path | None
    layered: Layered
    compiled: Compiled
    policy: Policy
    hooks: tuple[Bound, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def spec(self) -> HarnessSpec:
        """The spec that the layers come to."""
        return self.layered.spec


def read_ruling(options: RunOptions) -> Ruling:
    """Compile the spec that a command would run with, to the very policy that its gate asks."""
    root = options.cwd.resolve()
    path = options.spec or find_spec(root)
    layered = read_layers(root, path, options.environ)
    compiled = compile_spec(layered.spec, root=str(root), at=layered.at)
    policy = _policy(compiled.policy, options)
    hooks, notices = _hooks(layered, root)
    return Ruling(
        path=path,
        layered=layered,
        compiled=compiled,
        policy=policy,
        hooks=hooks,
        notices=notices,
    )


def _hooks(layered: Layered, root: Path) -> tuple[tuple[Bound, ...], tuple[str, ...]]:
    """The hooks of every layer, and those that the project keeps for another tool."""
    from bridle.spec.hooks import bind_hooks

    own = bind_hooks(layered, root)
    if not (root / ".claude").is_dir():
        return own, ()
    from bridle.hooks.claude import read_claude

    theirs, notices = read_claude(root)
    return (*own, *theirs), notices


def _policy(policy: Policy, options: RunOptions) -> Policy:
    profile: Profile = policy.profile
    source = policy.profile_source
    if options.profile is not None:
        if options.profile not in PROFILES:
            raise UserError(suggest(options.profile, PROFILES, what="profile"))
        profile = next(known for known in PROFILES if known == options.profile)
        source = "--profile"
    rules = policy.rules
    if options.repair:  # it works on copies, in the sandbox; its edit is shown and can be undone
        rules = (*repair_rules(), *rules)
        profile = "auto-edit" if options.profile is None and profile == "balanced" else profile
    return msgspec.structs.replace(
        policy,
        rules=rules,
        profile=profile,
        profile_source=source,
        yolo=policy.yolo or options.yolo,
        answerable=options.answerable,
        state_dir=str(state_directory()),
    )


def repair_rules() -> tuple[Rule, ...]:
    """What `fix` may do: try edits on copies, and never change the tests that it is measured by."""
    allowed = Rule(id="fix.try_edits", matches="try_edits", effect="allow", layer="command")
    denied = (
        Rule(
            id=f"fix.tests.{tool}.{place}",
            matches=f"{tool}:{place}",
            effect="deny",
            layer="command",
            reason="bridle fix does not change tests",
        )
        for tool in WRITING_TOOLS
        for place in TEST_PLACES
    )
    return (allowed, *denied)


def resource_of(directory: Path) -> str:
    """What groups the threads of a project: the real path of its git root, else of itself."""
    here = directory.resolve()
    for candidate in (here, *here.parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return str(here)
