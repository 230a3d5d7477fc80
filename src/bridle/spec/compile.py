"""From a spec to what the gate and the loop enforce."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.models.endpoints import ProviderConfig, check_provider
from bridle.permissions.compile import from_execution_policy
from bridle.permissions.patterns import canonical
from bridle.spec.checks import compile_checks
from bridle.spec.observability import store_of
from bridle.tools.builtin.names import check_globs, enabled_tools
from bridle.types.base import Fixed
from bridle.types.limits import Limits
from bridle.types.permissions import Policy, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.checks.plan import CheckPlan
    from bridle.ports.sandbox import Network
    from bridle.spec.model import HarnessSpec

TUNING = (
    "temperature",
    "reasoning",
    "context_window",
    "max_output_tokens",
    "tool_call_format",
    "history",
    "max_steps",
)
WRITING_TOOLS = ("write_file", "edit_file", "multi_edit", "git_commit")
SHELL_TOOLS = ("bash", "bash_session")


class Compiled(Fixed, frozen=True, kw_only=True):
    """What a spec means."""

    name: str
    model: str | None
    fallbacks: tuple[str, ...]
    profile: str | None
    pack: str | None
    tuning: dict[str, Any]
    providers: dict[str, ProviderConfig]
    policy: Policy
    limits: Limits
    sandbox: str
    network: Network
    checks: CheckPlan
    tools: bool
    instruction_files: tuple[str, ...] | None
    store: str | None
    redact: tuple[str, ...] = ()


def compile_spec(
    spec: HarnessSpec, *, root: str | None = None, at: Callable[[str], str | None] | None = None
) -> Compiled:
    """Compile a spec; a flavor without tools has none, rather than having them masked.

    `at` tells the file and line of a field, so that every decision can name where it was written.
    """
    section = spec.limits
    given = {
        name: getattr(section, name)
        for name in section.__struct_fields__
        if getattr(section, name) is not None
    }
    return Compiled(
        name=spec.name,
        model=spec.model_policy.primary,
        fallbacks=tuple(spec.model_policy.fallbacks),
        profile=spec.model_policy.profile,
        pack=spec.model_policy.pack,
        tuning={name: getattr(spec.model_policy, name) for name in TUNING},
        providers=_providers(spec),
        policy=_policy(spec, root, at or (lambda _field: None)),
        limits=Limits(**given),
        sandbox=spec.execution_policy.sandbox,
        network=_network(spec),
        checks=compile_checks(spec.checks),
        tools=spec.flavor == "coding",
        instruction_files=_names(spec.context.instruction_files),
        store=store_of(spec.observability, Path(root or ".")),
        redact=tuple(spec.observability.redact),
    )


def _policy(spec: HarnessSpec, root: str | None, at: Callable[[str], str | None]) -> Policy:
    execution = spec.execution_policy
    rules = from_execution_policy(
        allow_read=execution.allow_read,
        allow_write=execution.allow_write,
        allow_shell=execution.allow_shell,
        allow_network=execution.allow_network or bool(execution.allowed_hosts),
        allowed_commands=execution.allowed_commands,
        denied_commands=execution.denied_commands,
        categories=execution.categories,
        permissions=execution.permissions,
        at=lambda key: at(f"execution_policy.{key}"),
    )
    return Policy(
        profile=execution.approval_profile,
        profile_source=_profile_source(execution.approval_profile, at),
        rules=rules,
        removed=_removed(spec),
        root=root,
        home=str(Path.home()),
        readable=tuple(execution.readable),
        writable=tuple(execution.writable),
        hosts=tuple(execution.allowed_hosts) or None,
        only_commands=tuple(execution.allowed_commands),
        scope=_scope(spec),
    )


def _scope(spec: HarnessSpec) -> tuple[Scope, ...]:
    """What the flavor and the section `tools` leave of the tools."""
    if spec.flavor == "no_tool":
        return (Scope(layer="flavor", tools=()),)
    section = spec.tools
    if not section.enabled and not section.disabled:
        return ()
    check_globs([*section.enabled, *section.disabled])
    removed = {canonical(glob): "tools.disabled lists it" for glob in section.disabled}
    return (Scope(layer="spec", tools=enabled_tools(section.enabled), removed=removed),)


def _profile_source(profile: str, at: Callable[[str], str | None]) -> str | None:
    """Where the profile is written; None where nobody wrote one."""
    written, section = at("execution_policy.approval_profile"), at("execution_policy")
    return written if profile != "balanced" or written != section else None


def _removed(spec: HarnessSpec) -> dict[str, str]:
    """Tools that are not offered at all, and why."""
    execution = spec.execution_policy
    removed: dict[str, str] = {}
    for allowed, tools, field in (
        (execution.allow_write, WRITING_TOOLS, "allow_write"),
        (execution.allow_shell, SHELL_TOOLS, "allow_shell"),
    ):
        if not allowed:
            removed |= dict.fromkeys(tools, f"execution_policy.{field} is false")
    return removed


def _providers(spec: HarnessSpec) -> dict[str, ProviderConfig]:
    """Where providers are reached; `base_url` is that of the primary model's provider."""
    policy = spec.model_policy
    providers = dict(policy.providers)
    if policy.base_url is not None:
        name = (policy.primary or "openai/").partition("/")[0]
        own = providers.get(name, ProviderConfig())
        providers[name] = msgspec.structs.replace(own, base_url=policy.base_url)
    for name in policy.providers:
        check_provider(name, providers[name])
    return providers


def _names(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)


def _network(spec: HarnessSpec) -> Network:
    if spec.execution_policy.allowed_hosts:
        return "hosts"
    return "on" if spec.execution_policy.allow_network else "off"
