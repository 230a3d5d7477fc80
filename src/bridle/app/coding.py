"""The coding agent of the command line: a spec, or the defaults, made into a harness."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.app.claims import claims_of
from bridle.app.config import Agent
from bridle.app.models import model_registry
from bridle.app.paths import config_directory
from bridle.app.project import project_of, resource_of
from bridle.app.records import open_records
from bridle.app.ruling import Ruling, RunOptions, read_ruling
from bridle.app.stores import store_url
from bridle.app.trust import Claim, require_trust
from bridle.app.workspace import Workspace, output_checks
from bridle.context.environment import environment_facts
from bridle.context.instructions import Loaded, load_instructions
from bridle.context.prompt import NO_TOOL, coding_prompt
from bridle.errors import UserError
from bridle.models.choose import choose
from bridle.models.endpoints import RESERVED
from bridle.models.packs import Tuning, load_packs, tune
from bridle.ports.clock import SystemClock
from bridle.spec.load import SPEC_NAME
from bridle.types.base import Fixed
from bridle.types.words import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.app.harness import Harness
    from bridle.checks.plan import CheckPlan
    from bridle.models.profiles import PromptLevel
    from bridle.spec.compile import Compiled
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool


EMBEDDED = "embedded/repair"


class Coding(Fixed, frozen=True, kw_only=True):
    """A harness for a directory, what a user should know of it, and what a failed check means."""

    harness: Harness
    root: Path
    said: tuple[str, ...]
    fail_on_error: bool
    finds_checks: bool
    remote: bool
    """Whether a model takes its time elsewhere, and it has tools to wait for."""
    model: str | None
    """The model that a flag asks for."""


def build_coding(options: RunOptions, make: Callable[..., Harness]) -> Coding:
    """Have the harness made that a command runs; raises `UserError` with what to do."""
    root, here = options.root, options.cwd.resolve()
    if not here.is_dir():
        raise UserError(f"There is no directory {str(options.cwd)!r}.")
    if printable(str(here)) != str(here):
        raise UserError(f"The name of the directory {printable(str(here))} is not UTF-8 text.")
    ruling = read_ruling(options)
    compiled = ruling.compiled
    store = _store(options, compiled)
    untrusted = require_trust(
        root, _claims(root, ruling, options), given=options.trust, confirm=options.confirm
    )
    registry = model_registry(
        options.environ,
        providers=compiled.providers,
        records=partial(open_records, store),
    )
    flag = options.model or (EMBEDDED if options.repair and not options.provider else None)
    written = compiled.model and _anchored(compiled.model, root)
    chosen = choose(registry, flag=flag, provider=options.provider, spec=written)
    confined = any(claim.kind == "sandbox" for claim in untrusted)
    sandbox = options.sandbox or ("auto" if confined and options.repair else compiled.sandbox)
    loaded, plan = _loaded(compiled, here), _checks(compiled, options, confined=confined)
    tuning = _tuning(compiled, chosen.id)
    harness = make(
        id=compiled.name,
        agent=Agent(
            instructions=_instructions(
                compiled, root, here, sandbox, loaded, level=tuning(chosen.id).prompt
            ),
            name=compiled.name,
            output=options.output_schema,
        ),
        model=chosen.id,
        fallbacks=[registry.full_id(_anchored(name, root)) for name in compiled.fallbacks],
        tuning=tuning,
        store=store,
        resource_id=resource_of(root),
        workspace=_workspace(root, ruling, sandbox) if compiled.tools else None,
        workspace_tools=_extra_tools(chosen.id, options),
        search_url=ruling.spec.tools.search_url,
        permissions=ruling.policy,
        limits=compiled.limits.within(options.limits),
        checks=plan if plan is None or compiled.tools else output_checks(plan, sandbox=sandbox),
        hooks=ruling.hooks,
        resolve_model=registry,
        redact=compiled.redact,
    )
    read = (f"instructions: {', '.join(loaded.files)}",) if loaded.files else ()
    told = (*map(_told, untrusted), *read, *loaded.notices, *ruling.notices)
    return Coding(
        harness=harness,
        root=root,
        said=(*told, *_where(root, here, ruling)),
        fail_on_error=compiled.checks.fail_on_error,
        model=chosen.id if options.model or options.provider else None,
        remote=compiled.tools and chosen.id.partition("/")[0] not in RESERVED,
        finds_checks=plan is not None and plan.find and compiled.tools,
    )


def _workspace(root: Path, ruling: Ruling, sandbox: str) -> Workspace:
    policy = ruling.policy
    return Workspace(
        root,
        sandbox=sandbox,
        network=ruling.compiled.network,
        allowed_hosts=policy.hosts or (),
        readable=policy.readable,
        writable=policy.writable,
    )


def _claims(root: Path, ruling: Ruling, options: RunOptions) -> list[Claim]:
    """What of the project needs trust in this run: a flag goes before what a file says."""
    asked = options.yolo or options.profile
    said = {"sandbox": options.sandbox, "unconfined": options.sandbox, "approvals": asked}
    claims = claims_of(root, ruling.layered, ruling.hooks, ruling.policy)
    return [claim for claim in claims if not said.get(claim.kind)]


def _anchored(name: str, root: Path) -> str:
    """A script that the spec names stands beside it, wherever the command was given."""
    provider, _, file = name.partition("/")
    if provider != "scripted" or Path.cwd() == root or Path(file).is_absolute():
        return name
    return f"scripted/{root / file}"


def _where(root: Path, here: Path, ruling: Ruling) -> tuple[str, ...]:
    """Where the work is done, if not here; and a spec of the project that does not hold here."""
    if root != here:
        return (f"working in {root}, which has the {SPEC_NAME}",)
    above = project_of(here)
    if ruling.path is not None or above == here:
        return ()
    return (f"{above / SPEC_NAME} does not hold here; work there, or name it with --spec",)


def unchecked(root: Path) -> str | None:
    """Why the tests of a project could not be run, where it has some."""
    from bridle.checks.discover import why_none

    return why_none(root)


def store_of(options: RunOptions) -> str | None:
    """Where a command's runs are kept: by flag, else by the configuration; None by default."""
    return _store(options, read_ruling(options).compiled)


def _store(options: RunOptions, compiled: Compiled) -> str | None:
    return store_url(options.store) if options.store is not None else compiled.store


def _loaded(compiled: Compiled, here: Path) -> Loaded:
    """The instruction files; a flavor without tools has none unless they are named."""
    names = compiled.instruction_files
    if not compiled.tools and names is None:
        return Loaded()
    loaded = load_instructions(Path(resource_of(here)), here, names=names)
    missing = [name for name in names or () if not _reached(name, loaded)]
    if missing:
        raise UserError(f"context.instruction_files: there is no {missing[0]!r} in the project.")
    return loaded


def _reached(name: str, loaded: Loaded) -> bool:
    return any(file == name or file.endswith(f"/{name}") for file in loaded.files)


def _instructions(
    compiled: Compiled,
    root: Path,
    here: Path,
    sandbox: str,
    loaded: Loaded,
    *,
    level: PromptLevel,
) -> str:
    if not compiled.tools:
        return f"{NO_TOOL}\n\n{loaded.text}".strip()
    facts = environment_facts(root, here, now=SystemClock().now(), sandbox=sandbox)
    return coding_prompt(environment=facts, instructions=loaded.text, level=level)


def _told(claim: Claim) -> str:
    confined = "; its checks are confined" if claim.kind == "sandbox" else ""
    return f"{claim.name} {claim.text}{confined} (not trusted)"


def _checks(compiled: Compiled, options: RunOptions, *, confined: bool) -> CheckPlan | None:
    """What decides the verdict; `fix` always has it decided."""
    plan = msgspec.structs.replace(compiled.checks, confined=confined)
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

    own = load_packs(config_directory() / "packs")

    def tuning(name: str) -> Tuning:
        return tune(
            name,
            profile=compiled.profile,
            pack=compiled.pack,
            explicit=compiled.tuning,
            own=own,
        )

    tuning(model_id)
    return tuning
