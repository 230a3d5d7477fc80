"""The fields of `harness.yaml`. A field stands here when something enforces it, not before."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from bridle.models.endpoints import ProviderConfig
from bridle.spec.base import Amount, Positive, Section
from bridle.spec.checks import ChecksSection
from bridle.spec.context import ContextSection
from bridle.spec.hooks import HookSection
from bridle.spec.observability import ObservabilitySection
from bridle.types.permissions import Permission


class ModelPolicy(Section, frozen=True, kw_only=True):
    """Which model answers, and how it is used."""

    primary: str | None = None
    fallbacks: list[str] = []
    profile: str | None = None
    pack: str | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    reasoning: Literal["off", "low", "medium", "high"] | None = None
    context_window: Positive | None = None
    max_output_tokens: Positive | None = None
    tool_call_format: Literal["native", "strict-json", "prompt"] | None = None
    history: Positive | None = None
    max_steps: Positive | None = None
    base_url: str | None = None
    providers: dict[str, ProviderConfig] = {}


class ExecutionPolicy(Section, frozen=True, kw_only=True):
    """What the agent may do to the world."""

    sandbox: Literal[
        "auto", "bubblewrap", "landlock", "seatbelt", "none", "read-only", "no-shell", "local"
    ] = "auto"
    approval_profile: Literal["strict", "balanced", "auto-edit", "yolo", "deny"] = "balanced"
    allow_read: bool = True
    allow_write: bool = True
    allow_shell: bool = True
    allow_network: bool = False
    writable: list[str] = []
    readable: list[str] = []
    allowed_commands: list[str] = []
    denied_commands: list[str] = []
    allowed_hosts: list[str] = []
    categories: dict[str, str] = {}
    permissions: list[Permission] = []


class ToolsSection(Section, frozen=True, kw_only=True):
    """Which tools are offered: globs of names; `default` in `enabled` is what usually is."""

    enabled: list[str] = []
    disabled: list[str] = []
    search_url: str | None = None


class LimitsSection(Section, frozen=True, kw_only=True):
    """What a run may use."""

    max_usd: Amount | None = None
    max_tokens: Positive | None = None
    max_steps: Positive | None = None
    timeout: Amount | None = None
    max_tool_calls: Positive | None = None


class PolicyTest(Section, frozen=True, kw_only=True):
    """A call, and what the policy must decide about it."""

    call: str
    expect: Literal["allow", "notify", "ask", "deny"]
    because: str | None = None


class HarnessSpec(Section, frozen=True, kw_only=True):
    """A whole spec."""

    version: Literal[1]
    name: str
    description: str = ""
    flavor: Literal["coding", "no_tool"] = "coding"
    model_policy: ModelPolicy = ModelPolicy()
    execution_policy: ExecutionPolicy = ExecutionPolicy()
    tools: ToolsSection = ToolsSection()
    limits: LimitsSection = LimitsSection()
    context: ContextSection = ContextSection()
    checks: ChecksSection = ChecksSection()
    observability: ObservabilitySection = ObservabilitySection()
    hooks: list[HookSection] = []
    policy_tests: list[PolicyTest] = []
