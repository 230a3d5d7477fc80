"""Paths as text: where they lead, which are secret, which are protected.

Nothing here looks at the file system: whoever makes a call's facts has resolved links before.
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from functools import lru_cache

from bridle.permissions.shell.facts import HOLE, Word, names
from bridle.types.places import OF_PROJECT, OF_SHELLS, OF_USER, SECRETS
from bridle.types.regex import lazy

_SECRET_PLACES = tuple(place.rstrip("/").casefold() for place in SECRETS)

_SECRET_ANYWHERE = lazy(
    r"(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|\.netrc|\.pgpass|\.git-credentials"
    r"|\.ssh/[^/]+|\.aws/credentials|\.docker/config\.json|\.kube/config)$"
)
_SECRET_SYSTEM = lazy(
    r"/etc/(?:g?shadow-?|sudoers(?:\.d/.*)?|ssh/ssh_host_.*_key|krb5\.keytab)$"
    r"|/proc/[^/]+/(?:environ|root|fd|cwd|mem|maps|task)(?:/.*)?$"
    r"|(?:/var)?/run/(?:secrets(?:/.*)?|docker\.sock)$"
)
_SECRET_OUTSIDE = lazy(r"\.(?:pem|key|p12|pfx|jks|kdbx|keystore|ppk)$")
"""Key files: inside of the workspace they belong to the project, elsewhere to its user."""

_HOME = lazy(r"(/root|/home/[^/]+|/users/[^/]+)(?:/|$)")

_NAMED = (*OF_PROJECT, *OF_SHELLS, *OF_USER)
_PROTECTED = lazy(
    r"(?:^|/)(?:\.git/(?:hooks(?:/.*)?|config(?:\.worktree)?|info/attributes|modules/.*/config"
    r"|modules/.*/hooks(?:/.*)?)|\.git|\.git/modules|"
    + "|".join(
        re.escape(name.rstrip("/").casefold()) + ("(?:/.*)?" if name.endswith("/") else "")
        for name in _NAMED
    )
    + ")$"
)
_TAILS = lazy(
    r"(?:^|/)(?:hooks/[^/]+|config|settings[^/]*\.json|info/attributes|pre-commit|post-commit"
    r"|pre-push|post-checkout|post-merge|commit-msg|prepare-commit-msg|pre-rebase|pre-receive"
    r"|config\.fish)$"
)
"""Ends of protected paths, for where the directory is not known."""

_PROTECTED_PLACES = (
    ".git/hooks",
    ".git/config",
    ".git/info/attributes",
    ".git/modules",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    *(name.rstrip("/").casefold() for name in _NAMED),
)
"""The same by name, for where a name has holes."""
_MAGIC = lazy(r"[*?\[]")

DEVICES = names("/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/zero /dev/full")
TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp")


def resolve(path: str, *, root: str | None, home: str | None = None, cwd: str = "") -> str:
    """The absolute path that this text means, without looking at links."""
    if path == "~" or path.startswith("~/"):
        path = (home or "/root") + path[1:]
    base = posixpath.join(root or "/", cwd)
    joined = posixpath.normpath(posixpath.join(base, path))
    return "/" + joined.lstrip("/")


def inside(path: str, directory: str) -> bool:
    """Is the path this directory or in it? Both are absolute and normal."""
    directory = posixpath.normpath(directory)
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def is_secret(
    path: str,
    *,
    root: str | None = None,
    home: str | None = None,
    state_dir: str | None = None,
    globs: tuple[str, ...] = (),
) -> bool:
    """Would reading the path show, or writing it change, a secret of the user or of ourselves?"""
    folded = path.casefold()
    if state_dir and inside(folded, state_dir.casefold()):
        return True
    if _SECRET_ANYWHERE.search(folded) or _SECRET_SYSTEM.match(folded):
        return True
    if any(glob_matches(glob, path, root=root, home=home) for glob in globs):
        return True
    if root is not None and inside(path, root):
        return False
    if _SECRET_OUTSIDE.search(folded):
        return True
    found = _HOME.match(folded)
    homes = ([home.casefold().rstrip("/")] if home else []) + ([found[1]] if found else [])
    return any(_is_secret_place(folded.removeprefix(base + "/")) for base in homes)


def _is_secret_place(name: str) -> bool:
    """Is it one of the places, or in one? An absolute path is none: it is not under the home."""
    return any(name == place or name.startswith(place + "/") for place in _SECRET_PLACES)


def ends_in_secret(text: str) -> bool:
    """Is it a secret wherever it is? For a path whose beginning is not known."""
    return _SECRET_ANYWHERE.search(text.casefold()) is not None


def is_protected(path: str) -> bool:
    """Would a change of the path change what runs later without being asked?"""
    return _PROTECTED.search(path.casefold()) is not None


def may_be_protected(path: str) -> bool:
    """The same where the directory of a relative path is not known."""
    folded = posixpath.normpath(path).casefold()
    return is_protected(folded) or _TAILS.search(folded) is not None


def may_become_protected(pattern: str) -> bool:
    """May the shell make a protected path of this text with holes? Its beginning is known."""
    parts = [part for part in pattern.casefold().split("/") if part not in ("", ".")]
    for at, first in enumerate(parts):
        if first.startswith(HOLE):
            continue
        for place in (text.split("/") for text in _PROTECTED_PLACES):
            here = parts[at : at + len(place)]
            if len(here) == len(place) and all(map(_fits, here, place)):
                return True
    return False


def _fits(part: str, name: str) -> bool:
    return fnmatchcase(name, _MAGIC.sub(r"[\g<0>]", part).replace(HOLE, "*"))


def word_path(word: Word, home: str | None, root: str | None) -> str | None:
    """The path that a word means; None where only the running shell knows."""
    text = word.text
    for name in word.holes:
        known = {"HOME": home or "/root", "PWD": root or "/"}.get(name)
        if known is None:
            return None
        text = text.replace(HOLE, known, 1)
    return text


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    known = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    return re.compile("".join(known.get(token, re.escape(token)) for token in tokens), re.DOTALL)


def glob_matches(pattern: str, path: str, *, root: str | None, home: str | None = None) -> bool:
    """Does an absolute path match? Relative patterns are relative to the workspace.

    `*` and `?` stay within a name, `**` goes over directories, a directory means all in it.
    """
    pattern = pattern[1:] if pattern.startswith("//") else pattern
    if pattern.startswith("~/"):
        pattern = (home or "/root") + pattern[1:]
    elif not pattern.startswith("/"):
        pattern = posixpath.join(root or "/", pattern.removeprefix("./"))
    if pattern.endswith("/"):
        pattern += "**"
    if _glob(pattern).fullmatch(path):
        return True
    return pattern.endswith("/**") and _glob(pattern[:-3]).fullmatch(path) is not None
