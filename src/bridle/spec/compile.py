"""From a spec to what the gate and the loop enforce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.types.base import Fixed
from bridle.types.limits import Limits
from bridle.types.permissions import Policy

if TYPE_CHECKING:
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
WRITING_TOOLS = ("write_file", "edit_file", "multi_edit")
SHELL_TOOLS = ("bash",)


class Compiled(Fixed, frozen=True, kw_only=True):
    """What a spec means."""

    name: str
    model: str | None
    fallbacks: tuple[str, ...]
    profile: str | None
    pack: str | None
    tuning: dict[str, Any]
    policy: Policy
    limits: Limits
    sandbox: str
    checks: bool
    tools: bool


def compile_spec(spec: HarnessSpec, *, root: str | None = None) -> Compiled:
    """Compile a spec; a flavor without tools has none, rather than having them masked."""
    execution = spec.execution_policy
    removed: dict[str, str] = {}
    if not execution.allow_write:
        removed |= dict.fromkeys(WRITING_TOOLS, "execution_policy.allow_write is false")
    if not execution.allow_shell:
        removed |= dict.fromkeys(SHELL_TOOLS, "execution_policy.allow_shell is false")
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
        policy=Policy(profile=execution.approval_profile, removed=removed, root=root),
        limits=Limits(**given),
        sandbox=execution.sandbox,
        checks=spec.checks.enabled,
        tools=spec.flavor == "coding",
    )
