"""Decisions about calls, and the rules that they come from."""

from typing import Literal

import msgspec

Verdict = Literal["allow", "notify", "ask", "deny"]
Profile = Literal["strict", "balanced", "auto-edit", "yolo", "deny"]
Risk = Literal["low", "medium", "high"]

PROFILES: tuple[Profile, ...] = ("strict", "balanced", "auto-edit", "yolo", "deny")

VERDICT_ALIASES: dict[str, Verdict] = {
    "allow": "allow",
    "notify": "notify",
    "ask": "ask",
    "deny": "deny",
    "auto": "allow",
    "confirm": "ask",
    "interactive": "ask",
    "reject": "deny",
}


class Rules(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a user writes: a profile, and what differs from it.

    `patterns` are pairs of a pattern and an effect; effects may use the five mode names too.
    """

    profile: Profile = "balanced"
    categories: dict[str, str] = {}
    tools: dict[str, str] = {}
    patterns: tuple[tuple[str, str], ...] = ()
    yolo: bool = False


class Permission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a spec's list of permissions: a tool or a pattern, and what it gets."""

    effect: str
    tool: str | None = None
    pattern: str | None = None
    reason: str | None = None
    max_depth: int | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One written rule: what it matches, what it decides, and where it stands.

    `matches` is a tool name (globs allowed), a pattern with arguments such as
    `bash(git status:*)` or `write_file:/tmp/**`, or a category when `by_category` is set. A rule
    with a `max_depth` grants nothing to agents that are delegated to more deeply than that; what
    denies or asks holds at every depth.
    """

    id: str
    matches: str
    effect: Verdict
    layer: str = "harness"
    source: str | None = None
    reason: str | None = None
    by_category: bool = False
    max_depth: int | None = None


class Scope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one layer (platform, org, agent, session) leaves of the tools.

    `tools` are globs of what is in scope, None for everything; `removed` maps globs of what is
    taken away to the reason.
    """

    layer: str
    tools: tuple[str, ...] | None = None
    removed: dict[str, str] = {}


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides calls, compiled; the same value is explained, enforced and recorded.

    `profile_source` is where the profile was chosen, None for the default. `removed` are tools
    that are not in scope, each with the reason; `scope` says the same by
    layer. `root` is the workspace, `readable` and `writable` are directories beside it, `home` and
    `state_dir` are where secrets are looked for, `secrets` are further globs of them. `hosts` are
    the only ones that may be reached, None for all. `only_commands`, where given, are the shell
    commands that may run without being asked for, whatever else allows them. `within` is the
    policy of the parent, which decides every call as well.
    """

    profile: Profile = "balanced"
    profile_source: str | None = None
    rules: tuple[Rule, ...] = ()
    removed: dict[str, str] = {}
    root: str | None = None
    yolo: bool = False
    answerable: bool = True
    scope: tuple[Scope, ...] = ()
    home: str | None = None
    state_dir: str | None = None
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    hosts: tuple[str, ...] | None = None
    only_commands: tuple[str, ...] = ()
    depth: int = 0
    within: "Policy | None" = None


class TraceStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question that was put to a call on the way to its decision, and the answer.

    `part` is the command or file that the question was about, where it was not the whole call.
    """

    stage: str
    verdict: str
    rule: str | None = None
    source: str | None = None
    why: str | None = None
    layer: str | None = None
    part: str | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What may happen with a call, which rule said so, and everything that was asked before.

    `classifiable` is set where a classifier may still allow what would be asked.
    """

    effect: Verdict
    rule: str
    layer: str
    source: str | None = None
    reason: str | None = None
    trace: tuple[TraceStep, ...] = ()
    classifiable: bool = False


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """What the user allowed for the rest of the session."""

    categories: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()


class HookVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a hook said of a call. A hook that failed denies unless it was told to let go.

    Changed arguments are not here: they make new facts, which are decided from the start.
    """

    effect: Verdict | None = None
    hook: str = "hook"
    layer: str = "hook"
    reason: str | None = None
    source: str | None = None
    failed: bool = False
    on_failure: Literal["block", "allow"] = "block"


class Classified(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a classifier thinks of a call; `problem` is why it has no opinion."""

    risk: Risk
    confidence: float
    reason: str | None = None
    problem: str | None = None
