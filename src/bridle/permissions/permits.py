"""Steps 6 to 8: who allows a call, or each part of a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bridle.permissions.call import Finding, concerns, holds
from bridle.permissions.commands import allows, spells
from bridle.permissions.denials import argument_matches
from bridle.permissions.hosts import host_allowed
from bridle.permissions.paths import glob_matches, inside
from bridle.permissions.patterns import WRITE_TOOLS, Pattern, canonical, parse
from bridle.permissions.profiles import EFFECTS
from bridle.types.permissions import Rule, Verdict
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.permissions.call import Call
    from bridle.permissions.parts import Part, Shell
    from bridle.permissions.shell.effects import Effect
    from bridle.types.tools import Category

_BELOW = lazy(r"[\w.@%+=-][\w./,{}*?@%+=-]*")
_STRICTNESS = {"deny": 0, "ask": 1, "notify": 2, "allow": 3}


def permitted(call: Call) -> list[Finding]:
    """What decides each part of the call; there is one for a call that is no command."""
    if call.shell is None:
        return [_whole(call)]
    found = [_part(call, call.shell, part) for part in call.shell.parts]
    needed = [finding for finding in found if finding is not None]
    if all(finding.stage == "shell" for finding in needed):
        return _by_name(call, call.shell) or [_whole_tool(call) or _default(call)]
    return needed


def _by_name(call: Call, shell: Shell) -> list[Finding]:
    """Rules that name every command of a line that has no effect, such as `pwd`; else none."""
    found: list[Finding] = []
    for part in shell.parts:
        rules = (rule for rule, pattern in _patterns(call) if _reaches(shell, part, pattern))
        rule = next(rules, None)
        if rule is None:
            return []
        found.append(_finding(_stage(rule), rule, part.text))
    return found


def _finding(stage: str, rule: Rule, part: str | None = None, why: str | None = None) -> Finding:
    return Finding(rule.effect, stage, rule.id, rule.layer, rule.source, why or rule.reason, part)


def _ordered(call: Call, *, with_argument: bool) -> list[tuple[Rule, Pattern]]:
    """The rules about this tool that do not deny, most specific first, the stricter before."""
    return _sorted(
        [
            (rule, pattern)
            for rule, pattern in call.rules
            if (pattern.kind not in ("tool", "whole")) == with_argument
            and concerns(pattern, call, denying=False)
        ]
    )


def _sorted(pairs: list[tuple[Rule, Pattern]]) -> list[tuple[Rule, Pattern]]:
    return sorted(
        [pair for pair in pairs if pair[0].effect != "deny"],
        key=lambda pair: (
            *(-number for number in pair[1].specificity),
            _STRICTNESS[pair[0].effect],
        ),
    )


def _whole(call: Call) -> Finding:
    for rule, pattern in _ordered(call, with_argument=True):
        if argument_matches(call, pattern, every=rule.effect != "ask"):
            return _finding("pattern", rule)
    for text in sorted(call.grants.patterns):
        pattern = parse(text)
        if concerns(pattern, call, denying=False) and argument_matches(call, pattern, every=True):
            return Finding("allow", "grant", f"grant:{text}", "session")
    return _whole_tool(call) or _default(call)


def _whole_tool(call: Call) -> Finding | None:
    """Rules and grants for the tool or its category; what they allow, they allow entirely."""
    rules = _ordered(call, with_argument=False)
    if rules:
        return _finding("tool", rules[0][0])
    if call.tool in {canonical(tool) for tool in call.grants.tools}:
        return Finding("allow", "grant", f"grant:{call.tool}", "session")
    if call.category in call.grants.categories:
        return Finding("allow", "grant", f"grant:category:{call.category}", "session")
    return _by_category(call, call.category)


def _by_category(call: Call, category: Category) -> Finding | None:
    written = [
        rule
        for rule in call.policy.rules
        if rule.by_category
        and rule.effect != "deny"
        and rule.matches == category
        and holds(rule, call.policy)
    ]
    if written:
        strictest = min(written, key=lambda rule: _STRICTNESS[rule.effect])
        return _finding("category", strictest)
    return _by_profile(call, category)


def _by_profile(call: Call, category: Category) -> Finding | None:
    facts, policy = call.facts, call.policy
    if facts.delegates:
        why = "what it starts is decided call by call, within these rules"
        return Finding("allow", "category", "built-in:delegates", why=why)
    if facts.asks_user:
        why = "it only speaks to people or agents"
        return Finding("allow", "category", "built-in:asks-user", why=why)
    effect = EFFECTS[policy.profile][category]
    if category == "other" and facts.read_only and not facts.hosts:
        effect = EFFECTS[policy.profile]["read"]
    listed = policy.hosts is not None and all(
        host_allowed(host, policy.hosts) for host in facts.hosts
    )
    if effect == "allow" and facts.hosts and category != "mcp" and not listed:
        return None
    if effect == "allow":
        return _profile(call, "allow", "category", category)
    return None


def _default(call: Call) -> Finding:
    why = f"{call.policy.profile} asks for {call.category}"
    return _profile(call, "ask", "default", why)


def _profile(call: Call, effect: Verdict, stage: str, why: str) -> Finding:
    policy = call.policy
    rule = f"profile:{policy.profile}"
    return Finding(effect, stage, rule, "profile", policy.profile_source, why)


def _part(call: Call, shell: Shell, part: Part) -> Finding | None:
    match part.kind:
        case "unnamed":
            why = "what cannot be named is asked"
            return Finding("ask", "unnamed", "shell:unnamed", why=why, part=part.text)
        case "read":
            return None if _stays_inside(shell, part) else _by_tool(call, part)
        case "write":
            return _write(call, shell, part)
        case "sets":
            return _by_tool(call, part)
        case "command":
            return _command(call, shell, part)


def _stays_inside(shell: Shell, part: Part) -> bool:
    known = part.place.paths if part.place else None
    return known is not None and all(shell.inside(path, writing=False) for path in known)


def _by_tool(call: Call, part: Part, why: str | None = None) -> Finding:
    found = _whole_tool(call) or _default(call)
    return replace(found, why=why or found.why, part=part.text)


def _write(call: Call, shell: Shell, part: Part) -> Finding | None:
    """A file that is written is allowed by the command's rule if that spells it out, as an edit of
    the file, or with the shell as a whole."""
    if part.effects:
        if part.effects[0].trigger == 0:
            return (
                None if _is_named(part) else _by_tool(call, part, "it is not known what it writes")
            )
        for rule, pattern in _patterns(call):
            spelled = rule.effect != "ask" and _spelled(part, part.effects[0], pattern)
            if spelled and _reaches(shell, part, pattern):
                return _finding("pattern", rule, part.text)
    known = part.place.paths if part.place else None
    if known:
        for rule, pattern in _file_rules(call):
            whole = pattern.kind in ("tool", "whole") and _in_workspace(call, known)
            if whole or all(_glob(call, pattern.argument, path) for path in known):
                return _finding(_stage(rule), rule, part.text)
    found = _whole_tool(call)
    if found is None and known and _in_workspace(call, known):
        found = _by_category(call, "edit")
    if found is None:
        return _by_tool(call, part, "a file is written")
    return replace(found, part=part.text)


def _is_named(part: Part) -> bool:
    """Is it known where a program writes, at least that it stays below a directory?"""
    place = part.place
    if place is None or place.paths is not None:
        return True
    return _BELOW.fullmatch(place.text) is not None and ".." not in place.text


def _file_rules(call: Call) -> list[tuple[Rule, Pattern]]:
    """The rules and then the grants about changing files, most specific first."""
    granted = [(_granted(text), parse(text)) for text in sorted(call.grants.patterns)]
    return [
        pair for pair in (*_sorted(list(call.rules)), *granted) if WRITE_TOOLS & set(pair[1].tools)
    ]


def _stage(rule: Rule) -> str:
    return "grant" if rule.layer == "session-grant" else "pattern"


def _in_workspace(call: Call, known: tuple[str, ...]) -> bool:
    policy = call.policy
    places = [policy.root or "/", *policy.writable]
    return all(any(inside(path, place) for place in places) for path in known)


def _glob(call: Call, argument: str, path: str) -> bool:
    return bool(argument) and glob_matches(
        argument, path, root=call.policy.root, home=call.policy.home
    )


def _command(call: Call, shell: Shell, part: Part) -> Finding | None:
    command = part.command
    if command is None or command.role == "wrapper":
        return None
    if command.role == "neutral" and _is_neutral(shell, part):
        return Finding("allow", "shell", "shell:neutral", why="no effect", part=part.text)
    short: str | None = None
    for rule, pattern in _patterns(call):
        if not _reaches(shell, part, pattern):
            continue
        missing = _uncovered(part, pattern) if rule.effect != "ask" else None
        if missing is None:
            return _finding(_stage(rule), rule, part.text)
        short = short or f"{rule.id} does not cover it: {missing}"
    return _by_tool(call, part, None if _whole_tool(call) else short)


def _patterns(call: Call) -> Iterator[tuple[Rule, Pattern]]:
    yield from _ordered(call, with_argument=True)
    tool_decides = bool(_ordered(call, with_argument=False))
    for text in () if tool_decides else sorted(call.grants.patterns):
        pattern = parse(text)
        if concerns(pattern, call, denying=False):
            yield _granted(text), pattern


def _granted(text: str) -> Rule:
    return Rule(id=f"grant:{text}", matches=text, effect="allow", layer="session-grant")


def _reaches(shell: Shell, part: Part, pattern: Pattern) -> bool:
    """Does the pattern allow this command, or an outer one together with this one's word?"""
    command = part.command
    seen = 0
    while command is not None and seen < 16:
        if allows(pattern, command) and (
            command is part.command or spells(pattern, part.command.name if part.command else "")
        ):
            return True
        if command.outer is None or command.offset is None:
            return False
        command = shell.analysis.commands[command.outer]
        seen += 1
    return False


def _uncovered(part: Part, pattern: Pattern) -> str | None:
    """The first effect that this pattern does not spell out; files are parts of their own."""
    for effect in part.effects:
        if effect.kind == "write" and effect.path is not None:
            continue
        if not _spelled(part, effect, pattern):
            return effect.what
    return None


def _spelled(part: Part, effect: Effect, pattern: Pattern) -> bool:
    if part.command is None:
        return False
    return spells(pattern, effect.spelled or part.command.words[effect.trigger].text)


def _is_neutral(shell: Shell, part: Part) -> bool:
    command = part.command
    if command is None or part.effects:
        return False
    if command.name != "cd":
        return True
    target = command.words[-1]
    place = shell.place(target, command.cwds, command.via)
    known = place.paths if place else None
    return known is not None and all(shell.inside(path, writing=False) for path in known)
