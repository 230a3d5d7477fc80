"""Which calls a hook is about: tool names and patterns, in the forms in which rules are written.

A hook watches what a deny with the same pattern would stop, so `bash(rm:*)` also sees the `rm` in a
pipe or a substitution. Alternatives stand beside one another as `write_file|edit_file`.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from bridle.errors import ConfigError
from bridle.permissions.call import prepare
from bridle.permissions.denials import denied
from bridle.permissions.patterns import ALIASES, canonical, parse
from bridle.types.permissions import Grants, Policy, Rule

if TYPE_CHECKING:
    from bridle.types.tools import CallFacts


def check_matcher(matcher: str) -> None:
    """Raise `ConfigError` for a matcher that cannot be read."""
    for alternative in alternatives(matcher):
        if _is_pattern(alternative):
            parse(alternative)
        elif _is_regex(alternative):
            try:
                re.compile(alternative)
            except re.error as error:
                raise ConfigError(f"The matcher {alternative!r} cannot be read: {error}.") from None


@lru_cache(maxsize=256)
def alternatives(matcher: str) -> tuple[str, ...]:
    """Split a matcher at the bars that are outside parentheses."""
    found, depth, start = [], 0, 0
    for place, char in enumerate(matcher):
        depth += (char == "(") - (char == ")")
        if char == "|" and depth <= 0:
            found.append(matcher[start:place])
            start = place + 1
    found.append(matcher[start:])
    return tuple(part.strip() for part in found if part.strip())


def matches(
    matcher: str | None, tool: str, facts: CallFacts, *, root: str | None, home: str | None
) -> bool:
    """Whether a call is one that the matcher names; without a matcher, every call is."""
    if matcher is None or not alternatives(matcher):
        return True
    return any(_one(part, tool, facts, root, home) for part in alternatives(matcher))


def _one(part: str, tool: str, facts: CallFacts, root: str | None, home: str | None) -> bool:
    if not _is_pattern(part):
        if _is_regex(part):
            return any(re.fullmatch(part, name) for name in _names(tool))
        return any(fnmatchcase(name, part) for name in _names(tool))
    rule = Rule(id="hook", matches=part, effect="deny")
    call = prepare(tool, facts, Policy(rules=(rule,), root=root, home=home), Grants())
    return any(finding.rule == rule.id for finding in denied(call))


def _names(tool: str) -> set[str]:
    """What a tool is called, here and elsewhere."""
    own = canonical(tool)
    return {tool, own, *(other for other, name in ALIASES.items() if name == own)}


def _is_pattern(part: str) -> bool:
    return bool(re.match(r"[A-Za-z_*][\w.*-]*[(:]", part)) and not part.endswith(".*)")


def _is_regex(part: str) -> bool:
    return bool(re.search(r"\.\*|\.\+|[\\^$+()\[]", part))
