"""Step 3: explicit denials, and what could be one without anybody knowing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.permissions import paths
from bridle.permissions.call import Finding, concerns
from bridle.permissions.commands import Match, allows, denies
from bridle.permissions.hosts import host_allowed
from bridle.permissions.patterns import (
    READ_TOOLS,
    SHELL_TOOLS,
    WRITE_TOOLS,
    Pattern,
    domain,
    parse,
    value_matches,
)
from bridle.permissions.profiles import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.permissions.call import Call
    from bridle.permissions.parts import Part, Shell
    from bridle.types.permissions import Rule


def denied(call: Call) -> Iterator[Finding]:
    """All denials that match, and an ask where one may match; nothing later takes them back."""
    for rule in call.policy.rules:
        if rule.by_category and rule.effect == "deny" and rule.matches in _categories(call):
            yield _deny(rule)
    yield from _by_profile(call)
    for rule, pattern in call.rules:
        if rule.effect != "deny":
            continue
        if concerns(pattern, call, denying=True):
            if call.shell is not None:
                yield from _command(call.shell, rule, pattern)
            elif pattern.kind in ("tool", "whole") or argument_matches(call, pattern, every=False):
                yield _deny(rule)
        if call.shell is not None:
            yield from _files(call, call.shell, rule, pattern)
    if call.shell is not None:
        yield from _unlisted(call, call.shell)


def _deny(rule: Rule, part: str | None = None) -> Finding:
    return Finding("deny", "deny", rule.id, rule.layer, rule.source, rule.reason, part)


def _ask(rule: Rule, why: str, part: str | None) -> Finding:
    return Finding("ask", "deny", rule.id, rule.layer, rule.source, why, part)


def _categories(call: Call) -> set[str]:
    """The categories of the call: a command that writes files is an edit too."""
    found: set[str] = {call.category}
    if call.shell is not None:
        kinds = {part.kind for part in call.shell.parts}
        found |= {"edit"} if "write" in kinds else set()
    return found


def _by_profile(call: Call) -> Iterator[Finding]:
    if call.policy.profile != "deny" or call.facts.asks_user:
        return
    reads = call.facts.read_only and call.category == "other"
    if EFFECTS["deny"][call.category] == "deny" and not reads:
        source, why = call.policy.profile_source, "nothing but reads"
        yield Finding("deny", "deny", "profile:deny", "profile", source, why)


def argument_matches(call: Call, pattern: Pattern, *, every: bool) -> bool:
    """Does the pattern's argument match what the call touches? Allowing needs every path."""
    facts, policy = call.facts, call.policy
    if facts.paths:
        found = [
            paths.glob_matches(
                pattern.argument, call.path(path), root=policy.root, home=policy.home
            )
            for path in facts.paths
        ]
        return all(found) if every else any(found)
    if facts.hosts:
        allowed = (domain(pattern),)
        found = [host_allowed(host, allowed, any_port=True) for host in facts.hosts]
        return all(found) if every else any(found)
    if call.tool in SHELL_TOOLS and every:
        return False
    values = tuple(value for value in (facts.args or {}).values() if isinstance(value, str))
    return value_matches(pattern, values, every=every)


def _command(shell: Shell, rule: Rule, pattern: Pattern) -> Iterator[Finding]:
    analysis = shell.analysis
    for command in (*analysis.commands, *analysis.guesses):
        match denies(pattern, command):
            case Match.YES:
                yield _deny(rule, command.raw)
                return
            case Match.MAYBE:
                yield _ask(rule, "a denied command may hide in a computed word", command.raw)
            case Match.NO:
                pass
    if pattern.kind in ("tool", "whole"):
        yield _deny(rule)
        return
    for part in shell.parts:
        hidden = part.kind in ("unnamed", "sets") or any(
            effect.kind == "run" for effect in part.effects
        )
        if hidden:
            yield _ask(rule, "a denied command may hide in what has no name", part.text)
            return


def _files(call: Call, shell: Shell, rule: Rule, pattern: Pattern) -> Iterator[Finding]:
    """Denials of file tools hold for the files of a command line, as far as they are known."""
    if pattern.kind in ("tool", "whole"):
        return
    writes, reads = WRITE_TOOLS & set(pattern.tools), READ_TOOLS & set(pattern.tools)
    for part in shell.parts:
        wanted = writes if part.kind == "write" else (reads if part.kind == "read" else None)
        if wanted and part.place and _hits(call, pattern, part):
            yield _deny(rule, part.text)
            return
    for command, word in shell.words() if reads else ():
        place = shell.place(word, command.cwds, command.via)
        for path in (place.paths or ()) if place else ():
            if _glob(call, pattern, path):
                yield _deny(rule, word.raw)
                return


def _hits(call: Call, pattern: Pattern, part: Part) -> bool:
    return part.place is not None and any(
        _glob(call, pattern, path) for path in part.place.paths or ()
    )


def _glob(call: Call, pattern: Pattern, path: str) -> bool:
    policy = call.policy
    return paths.glob_matches(pattern.argument, path, root=policy.root, home=policy.home)


def _unlisted(call: Call, shell: Shell) -> Iterator[Finding]:
    """Where a policy lists the commands that may run, the others are asked for, always."""
    listed = [parse(f"bash({entry}:*)") for entry in call.policy.only_commands]
    if not listed:
        return
    listed += [
        pattern
        for rule, pattern in call.rules
        if rule.effect != "deny" and "bash" in pattern.tools and pattern.kind != "tool"
    ]
    for part in shell.parts:
        command = part.command
        named = command is not None and (
            command.role != "command" or any(allows(pattern, command) for pattern in listed)
        )
        if part.kind == "unnamed" or (part.kind == "command" and not named):
            why = "not among the allowed commands"
            yield Finding("ask", "deny", "policy:only-commands", "policy", why=why, part=part.text)
            return
