"""What holds for a run: what the command line asks for, what is written, and the policy of both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.claims import PROFILE_FLAG
from bridle.app.layers import read_layers
from bridle.app.paths import state_directory
from bridle.app.project import project_of
from bridle.errors import UserError, suggest
from bridle.spec.compile import WRITING_TOOLS, Compiled, compile_spec
from bridle.spec.load import find_spec
from bridle.types.base import Fixed
from bridle.types.limits import Limits
from bridle.types.permissions import PROFILES, Policy, Profile, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.app.trust import Confirm
    from bridle.hooks.define import Bound
    from bridle.spec.layers import Layered
    from bridle.spec.model import HarnessSpec

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

    @property
    def root(self) -> Path:
        """Where the work is done: the project's own directory, from anywhere inside it.

        A spec means what it says in its own directory. One that is named, and the tests of a path
        that is to be fixed, mean the directory that was given.
        """
        here = self.cwd.resolve()
        return here if self.spec is not None or self.repair else project_of(here)


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
    root = options.root
    path = options.spec or find_spec(root)
    layered = read_layers(root, path, options.environ)
    compiled = compile_spec(layered.spec, root=str(root), at=layered.at)
    policy = _policy(compiled.policy, options)
    hooks, notices = _hooks(layered, root)
    if (root / ".claude").is_dir():
        from bridle.app.claude import claude_rules

        rules, told = claude_rules(root)
        policy = msgspec.structs.replace(policy, rules=(*policy.rules, *rules))
        notices += told
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
    if theirs and layered.spec.flavor != "coding":
        return own, (f"{root / '.claude'}: hooks are not run: this harness has no workspace",)
    return (*own, *theirs), notices


def _policy(policy: Policy, options: RunOptions) -> Policy:
    profile: Profile = policy.profile
    source = policy.profile_source
    if options.profile is not None:
        if options.profile not in PROFILES:
            raise UserError(suggest(options.profile, PROFILES, what="profile"))
        profile = next(known for known in PROFILES if known == options.profile)
        source = PROFILE_FLAG
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
