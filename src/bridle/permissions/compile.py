"""From what people write to rules: each with an id, its layer, and the place where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ConfigError
from bridle.permissions.patterns import parse
from bridle.permissions.profiles import category_named, effect_named, profile_named
from bridle.types.permissions import Permission, Policy, Rule
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bridle.types.permissions import Rules, Verdict

NETWORK_TOOLS = ("web_fetch", "web_search", "navigate", "screenshot", "extract")

_SWITCHES = {
    "allow_read": "read",
    "allow_write": "edit",
    "allow_shell": "execute",
}
SETTINGS = "settings"
"""The layer of rules that a project keeps for another tool."""

_CLAUDE_PATH = lazy(r"((?:Read|Edit|Write|MultiEdit)\()/(?!/)(.*)")


def _nowhere(_: str) -> str | None:
    return None


def from_rules(
    rules: Rules, *, layer: str = "harness", at: Callable[[str], str | None] = _nowhere
) -> tuple[Rule, ...]:
    """The rules of `Rules(categories, tools, patterns)`; `at` tells where a key is written."""
    found = list(_categories(rules.categories, layer=layer, at=at))
    for tool, effect in rules.tools.items():
        found.append(_rule(tool, effect, key=f"tools.{tool}", layer=layer, at=at))
    for index, (pattern, effect) in enumerate(rules.patterns):
        found.append(_rule(pattern, effect, key=f"patterns[{index}]", layer=layer, at=at))
    profile_named(rules.profile)
    return tuple(found)


def _categories(
    categories: Mapping[str, str], *, layer: str, at: Callable[[str], str | None]
) -> Iterable[Rule]:
    for name, effect in categories.items():
        key = f"categories.{name}"
        yield Rule(
            id=f"{layer}:{key}",
            matches=category_named(name),
            effect=effect_named(effect),
            layer=layer,
            source=at(key),
            by_category=True,
        )


def _rule(
    pattern: str,
    effect: str,
    *,
    key: str,
    layer: str,
    at: Callable[[str], str | None],
    reason: str | None = None,
    max_depth: int | None = None,
) -> Rule:
    parse(pattern)
    return Rule(
        id=f"{layer}:{key}",
        matches=pattern,
        effect=effect_named(effect),
        layer=layer,
        source=at(key),
        reason=reason,
        max_depth=max_depth,
    )


def from_execution_policy(
    *,
    allow_read: bool | None = None,
    allow_write: bool | None = None,
    allow_shell: bool | None = None,
    allow_network: bool | None = None,
    allowed_commands: Iterable[str] = (),
    denied_commands: Iterable[str] = (),
    categories: Mapping[str, str] | None = None,
    permissions: Iterable[Permission] = (),
    layer: str = "spec",
    at: Callable[[str], str | None] = _nowhere,
) -> tuple[Rule, ...]:
    """The rules of a spec's `execution_policy`.

    A switch that is off denies its category; one that is on leaves the decision to the profile.
    Listed commands are prefixes. Give `allowed_commands` to `Policy.only_commands` too, so that
    the others are always asked for.
    """
    found: list[Rule] = []
    switches = {"allow_read": allow_read, "allow_write": allow_write, "allow_shell": allow_shell}
    for key, on in switches.items():
        if on is False:
            found.append(_off(_SWITCHES[key], key=key, layer=layer, at=at))
    if allow_network is False:
        key = "allow_network"
        for tool in NETWORK_TOOLS:
            rule = _rule(tool, "deny", key=key, layer=layer, at=at, reason=f"{key} is false")
            found.append(rule)
    lists: tuple[tuple[str, Iterable[str], Verdict], ...] = (
        ("allowed_commands", allowed_commands, "allow"),
        ("denied_commands", denied_commands, "deny"),
    )
    for name, commands, effect in lists:
        for index, command in enumerate(commands):
            key = f"{name}[{index}]"
            found.append(_rule(_prefix(command), effect, key=key, layer=layer, at=at))
    found += _categories(categories or {}, layer=layer, at=at)
    for index, entry in enumerate(permissions):
        found.append(_permission(entry, key=f"permissions[{index}]", layer=layer, at=at))
    return tuple(found)


def _off(category: str, *, key: str, layer: str, at: Callable[[str], str | None]) -> Rule:
    return Rule(
        id=f"{layer}:{key}",
        matches=category,
        effect="deny",
        layer=layer,
        source=at(key),
        reason=f"{key} is false",
        by_category=True,
    )


def _prefix(command: str) -> str:
    """A listed command is a prefix, unless it already says what it is."""
    text = command.strip()
    if not text:
        raise ConfigError("An empty command is listed; write a program such as 'git status'.")
    return f"bash({text})" if "*" in text else f"bash({text}:*)"


def _permission(
    entry: Permission, *, key: str, layer: str, at: Callable[[str], str | None]
) -> Rule:
    matches = entry.pattern or entry.tool
    if matches is None or (entry.pattern and entry.tool):
        raise ConfigError(f"{key} needs either a tool or a pattern.")
    return _rule(
        matches,
        entry.effect,
        key=key,
        layer=layer,
        at=at,
        reason=entry.reason,
        max_depth=entry.max_depth,
    )


def from_settings(
    permissions: Mapping[str, Iterable[str]],
    *,
    layer: str = SETTINGS,
    at: Callable[[str], str | None] = _nowhere,
) -> tuple[Rule, ...]:
    """The rules of Claude-style settings: lists named allow, ask and deny.

    There a path that begins with one slash is relative to the project, with two it is absolute.
    """
    found: list[Rule] = []
    for effect in ("deny", "ask", "allow"):
        for index, pattern in enumerate(permissions.get(effect, ())):
            relative = _CLAUDE_PATH.sub(r"\1\2", pattern)
            found.append(_rule(relative, effect, key=f"{effect}[{index}]", layer=layer, at=at))
    return tuple(found)


def policy_of(
    rules: Rules,
    *,
    layer: str = "harness",
    at: Callable[[str], str | None] = _nowhere,
    root: str | None = None,
    home: str | None = None,
    state_dir: str | None = None,
    answerable: bool = True,
) -> Policy:
    """The policy of `Rules` alone, for where there is no spec."""
    return Policy(
        profile=profile_named(rules.profile),
        rules=from_rules(rules, layer=layer, at=at),
        yolo=rules.yolo,
        root=root,
        home=home,
        state_dir=state_dir,
        answerable=answerable,
    )
