"""Step 1 and 2: what is out of scope, secret, outside or protected, whatever the rules say."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bridle.permissions import paths
from bridle.permissions.call import Finding, concerns
from bridle.permissions.hosts import host_allowed
from bridle.permissions.patterns import canonical
from bridle.permissions.shell.facts import HOLE
from bridle.permissions.shell.programs import program
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.permissions.call import Call
    from bridle.permissions.parts import Part, Shell
    from bridle.types.permissions import Policy

_PIECES = lazy(r"[=,:@]")
_ATTACHED = lazy(r"-[A-Za-z0-9]+?(\.{0,2}/.+)")
"""A path in one word with its option."""
_SCRIPT_PIECES = lazy(r"[\s'\"()=;|>{}]+")


def out_of_scope(call: Call) -> Finding | None:
    """Step 1: the tool must be in every layer's scope."""
    return _outside(call.tool, call.policy)


def _outside(tool: str, policy: Policy) -> Finding | None:
    reason = _removed(tool, policy.removed)
    if reason is not None:
        return Finding("deny", "scope", "scope:removed", "scope", why=reason)
    for scope in policy.scope:
        reason = _removed(tool, scope.removed)
        if reason is not None:
            return Finding("deny", "scope", "scope:removed", scope.layer, why=reason)
        if scope.tools is not None and not any(_is(tool, glob) for glob in scope.tools):
            why = f"not among the tools of the {scope.layer}"
            return Finding("deny", "scope", "scope:not-offered", scope.layer, why=why)
    return None


def in_scope(tool: str, policy: Policy) -> bool:
    """Whether a tool may be offered at all."""
    return _outside(canonical(tool), policy) is None


def _is(tool: str, glob: str) -> bool:
    return fnmatchcase(tool, canonical(glob))


def _removed(tool: str, removed: dict[str, str]) -> str | None:
    return next((reason for glob, reason in removed.items() if _is(tool, glob)), None)


def unsafe(call: Call) -> Iterator[Finding]:
    """Step 2: denials, and asks that nothing later takes back."""
    texts = [call.command or "", call.cwd or "", *call.facts.paths, *call.facts.hosts]
    if any("\x00" in text for text in texts):
        yield _deny("nul", "a NUL character")
        return
    if call.tool == "request_permission":
        why = "only the user grants permissions"
        yield Finding("ask", "safety", "safety:grants", why=why)
    if call.cwd is not None and call.policy.root is not None:
        asked = call.path(call.cwd)
        if not _within(call, asked, writing=True):
            yield _deny("escape", "the working directory is outside of the workspace", asked)
    for text in call.facts.paths:
        yield from _path(call, call.path(text))
    for host in call.facts.hosts:
        if not host_allowed(host, call.policy.hosts):
            yield _deny("host", "the host is not allowed", host)
    if call.shell is not None:
        yield from _shell(call, call.shell)


def _deny(name: str, why: str, part: str | None = None) -> Finding:
    return Finding("deny", "safety", f"safety:{name}", why=why, part=part)


def _ask(path: str) -> Finding:
    why = "what runs later without being asked depends on this file"
    return Finding("ask", "safety", "safety:protected", why=why, part=path)


def _secret(call: Call, path: str) -> bool:
    policy = call.policy
    return paths.is_secret(
        path,
        root=policy.root,
        home=policy.home,
        state_dir=policy.state_dir,
        globs=policy.secrets,
    )


def _within(call: Call, path: str, *, writing: bool) -> bool:
    policy = call.policy
    places = [policy.root or "/", *policy.writable]
    places += [] if writing else policy.readable
    return any(paths.inside(path, place) for place in places)


def _path(call: Call, path: str) -> Iterator[Finding]:
    if _secret(call, path):
        yield _deny("secret", "a secret of the user or of the harness", path)
    elif not _within(call, path, writing=call.writes()) and not _named(call, path):
        yield _deny("escape", "the path is outside of the workspace", path)
    elif call.writes() and paths.is_protected(path):
        yield _ask(path)


def _named(call: Call, path: str) -> bool:
    """Did a rule name this temporary place? No rule opens any other; `writable` does."""
    if not any(paths.inside(path, place) for place in paths.TEMPORARY):
        return False
    for rule, pattern in call.rules:
        if rule.effect == "deny" or not concerns(pattern, call, denying=False):
            continue
        if pattern.argument.startswith(("/", "~/")) and paths.glob_matches(
            pattern.argument, path, root=call.policy.root, home=call.policy.home
        ):
            return True
    return False


def _shell(call: Call, shell: Shell) -> Iterator[Finding]:
    yield from _secret_words(call, shell)
    for part in shell.parts:
        if part.kind == "write":
            yield from _written(call, shell, part)
        elif part.kind == "read" and part.place:
            for path in part.place.paths or ():
                if _secret(call, path) or path.startswith(("/dev/tcp/", "/dev/udp/")):
                    yield _deny("secret", "a secret of the user or of the harness", path)
    if any(part.kind == "write" and not _known(part) for part in shell.parts):
        yield from _given(shell)
    for part in shell.parts:
        yield from _mentioned(shell, part)
    for command, word in shell.words(bare=True):
        if shell.changes(command) or program(command.words) == "ln":
            place = shell.place(word, command.cwds, command.via)
            for path in (place.paths or ()) if place else ():
                if paths.is_protected(path):
                    yield _ask(path)


def _mentioned(shell: Shell, part: Part) -> Iterator[Finding]:
    """Protected paths in the words of a command that writes what its script or archive says."""
    if part.kind != "command" or part.command is None:
        return
    if not any(effect.kind != "read" and effect.path is None for effect in part.effects):
        return
    for word in part.command.words[1:]:
        for piece in _SCRIPT_PIECES.split(word.text):
            if piece and paths.is_protected(shell.resolve(piece, "")):
                yield _ask(piece)


def _known(part: Part) -> bool:
    return part.place is None or part.place.paths is not None


def _given(shell: Shell) -> Iterator[Finding]:
    """Protected paths in variables, where something is written that a variable may name."""
    for entry in shell.analysis.assignments:
        place = shell.place(entry.value, ("",))
        for path in (place.paths or ()) if place else ():
            if paths.is_protected(path):
                yield _ask(path)


def _secret_words(call: Call, shell: Shell) -> Iterator[Finding]:
    found = [(word, command.cwds) for command, word in shell.words()]
    given = [command.assignments for command in shell.analysis.commands]
    for entries in (shell.analysis.assignments, *given):
        found += [(entry.value, ("",)) for entry in entries]
    for word, cwds in found:
        place = shell.place(word, cwds)
        if place is None:
            continue
        if HOLE in word.text and paths.ends_in_secret(word.text):
            yield _deny("secret", "a secret of the user or of the harness", place.text)
            return
        candidates = list(place.paths or ())
        candidates += [place.head] if place.head and place.head.startswith("/") else []
        if attached := _ATTACHED.match(place.text):
            candidates += [shell.resolve(attached[1], cwd) for cwd in cwds or ("",)]
        for piece in _PIECES.split(place.text):
            if piece != place.text and ("/" in piece or piece.startswith("~")):
                candidates.append(shell.resolve(piece, ""))
        for path in candidates:
            if _secret(call, path):
                yield _deny("secret", "a secret of the user or of the harness", path)
                return


def _written(call: Call, shell: Shell, part: Part) -> Iterator[Finding]:
    place = part.place
    if place is None:
        return
    if paths.may_become_protected(place.pattern):
        yield _ask(place.text)
    if place.paths is None:
        if place.head and paths.may_be_protected(place.head):
            yield _ask(place.text)
        return
    if any(_secret(call, path) for path in place.paths):
        yield _deny("secret", "a secret of the user or of the harness", place.text)
    elif call.policy.root is not None and not any(
        shell.inside(path, writing=True) for path in place.paths
    ):
        yield _deny("escape", "it would write outside of the workspace", place.text)
    elif any(paths.is_protected(path) for path in place.paths):
        yield _ask(place.text)
