"""The five profiles, as data: what each category gets where no rule says more."""

from __future__ import annotations

from bridle.errors import ConfigError, suggest
from bridle.types.permissions import PROFILES, VERDICT_ALIASES, Profile, Verdict
from bridle.types.tools import CATEGORIES, Category

EFFECTS: dict[Profile, dict[Category, Verdict]] = {
    "strict": {
        "read": "ask", "edit": "ask", "execute": "ask", "mcp": "ask", "other": "ask",
    },
    "balanced": {
        "read": "allow", "edit": "ask", "execute": "ask", "mcp": "ask", "other": "ask",
    },
    "auto-edit": {
        "read": "allow", "edit": "allow", "execute": "ask", "mcp": "ask", "other": "ask",
    },
    "yolo": {
        "read": "allow", "edit": "allow", "execute": "allow", "mcp": "allow", "other": "allow",
    },
    "deny": {
        "read": "allow", "edit": "deny", "execute": "deny", "mcp": "deny", "other": "deny",
    },
}  # fmt: skip

SUMMARIES: dict[Profile, str] = {
    "strict": "everything is asked, reads too",
    "balanced": "reads in the workspace are allowed, edits and commands are asked",
    "auto-edit": "reads and edits in the workspace are allowed, commands are asked",
    "yolo": "what would be asked is allowed; denials, secrets and protected files still hold",
    "deny": "nothing but reads",
}


def profile_named(name: str) -> Profile:
    """The profile of this name; raises ConfigError for any other."""
    for profile in PROFILES:
        if profile == name.replace("_", "-").lower():
            return profile
    raise ConfigError(suggest(name, PROFILES, what="profile"))


def effect_named(name: str) -> Verdict:
    """The effect of this name, or of one of the five mode names."""
    found = VERDICT_ALIASES.get(name.lower())
    if found is None:
        raise ConfigError(suggest(name, VERDICT_ALIASES, what="effect"))
    return found


def category_named(name: str) -> Category:
    """The category of this name; raises ConfigError for any other."""
    for category in CATEGORIES:
        if category == name.lower():
            return category
    raise ConfigError(suggest(name, CATEGORIES, what="category"))
