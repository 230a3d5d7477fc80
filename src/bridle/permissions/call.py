"""A call as the evaluation sees it: canonical name, category, and its command taken apart."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.permissions import paths
from bridle.permissions.parts import Shell
from bridle.permissions.patterns import SHELL_TOOLS, Pattern, canonical, names_tool, parse
from bridle.types.permissions import Grants, Policy, Rule
from bridle.types.tools import CallFacts, Category


class Finding(msgspec.Struct, frozen=True):
    """What one stage says of a call or of a part of it."""

    effect: Literal["allow", "notify", "ask", "deny"]
    stage: str
    rule: str
    layer: str = "built-in"
    source: str | None = None
    why: str | None = None
    part: str | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the stages look at."""

    tool: str
    facts: CallFacts
    policy: Policy
    grants: Grants
    category: Category
    command: str | None
    shell: Shell | None
    rules: tuple[tuple[Rule, Pattern], ...]
    """The rules that hold at this depth, categories excepted, with their patterns."""

    @property
    def cwd(self) -> str | None:
        """The working directory that the model asked for."""
        asked = self.facts.cwd or ((self.facts.args or {}).get("cwd") if self.command else None)
        return asked if isinstance(asked, str) and asked else None

    def writes(self) -> bool:
        """May the call change the paths that it names?"""
        return not (self.facts.read_only or self.category == "read")

    def path(self, text: str) -> str:
        """The absolute path of one that the call names."""
        return paths.resolve(text, root=self.policy.root, home=self.policy.home)


def prepare(tool: str, facts: CallFacts, policy: Policy, grants: Grants) -> Call:
    """Read the call: its command, its category, and the rules that could matter."""
    name = canonical(tool)
    command = facts.command
    if command is None and name in SHELL_TOOLS:
        given = (facts.args or {}).get("command")
        command = given if isinstance(given, str) else None
    is_shell = command is not None or name in SHELL_TOOLS
    looks = name == "bash_session" and command is None and facts.read_only  # nothing is run
    shell: Shell | None = None
    if command is not None:
        asked = facts.cwd or (facts.args or {}).get("cwd")
        from bridle.permissions.shell.analyse import analyse  # only commands need it

        shell = Shell(analyse(command), policy, asked if isinstance(asked, str) else None)
    return Call(
        tool=name,
        facts=facts,
        policy=policy,
        grants=grants,
        category="execute" if is_shell and not looks else facts.category,
        command=command,
        shell=shell,
        rules=tuple(
            (rule, parse(rule.matches))
            for rule in policy.rules
            if not rule.by_category and holds(rule, policy)
        ),
    )


def holds(rule: Rule, policy: Policy) -> bool:
    """Does the rule hold at this depth of delegation? What denies or asks always does."""
    limited = rule.max_depth is not None and rule.effect in ("allow", "notify")
    return not limited or policy.depth <= (rule.max_depth or 0)


def concerns(pattern: Pattern, call: Call, *, denying: bool) -> bool:
    """Is the pattern about the tool of this call?

    What is denied to the shell is denied to everything that runs commands: a denied command to
    every tool that runs one, the shell itself to every form of it.
    """
    if names_tool(pattern, call.tool):
        return denying or not pattern.widened
    if not denying or "bash" not in pattern.tools:
        return False
    return call.tool in SHELL_TOOLS or (call.command is not None and pattern.kind != "tool")
