"""Decisions about calls, and the rules that they come from."""

from typing import Literal

import msgspec

Verdict = Literal["allow", "notify", "ask", "deny"]
Profile = Literal["strict", "balanced", "auto-edit", "yolo", "deny"]

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


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One written rule: what it matches, what it decides, and where it stands.

    `matches` is a tool name (globs allowed), a pattern with arguments such as
    `bash(git status:*)` or `write_file:/tmp/**`, or a category when `by_category` is set.
    """

    id: str
    matches: str
    effect: Verdict
    layer: str = "harness"
    source: str | None = None
    reason: str | None = None
    by_category: bool = False


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides calls, compiled; the same value is explained, enforced and recorded.

    `removed` are tools that are not in scope, each with the reason. `root` is the workspace.
    """

    profile: Profile = "balanced"
    rules: tuple[Rule, ...] = ()
    removed: dict[str, str] = {}
    root: str | None = None
    yolo: bool = False
    answerable: bool = True


class TraceStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question that was put to a call on the way to its decision, and the answer."""

    stage: str
    verdict: str
    rule: str | None = None
    source: str | None = None
    why: str | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What may happen with a call, which rule said so, and everything that was asked before."""

    effect: Verdict
    rule: str
    layer: str
    source: str | None = None
    reason: str | None = None
    trace: tuple[TraceStep, ...] = ()


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """What the user allowed for the rest of the session."""

    categories: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
