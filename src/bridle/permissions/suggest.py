"""Patterns that would match a call: what "always" means, and what a rule could say."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from bridle.permissions import paths
from bridle.permissions.shell.facts import names

if TYPE_CHECKING:
    from bridle.permissions.call import Call
    from bridle.permissions.parts import Part, Shell
    from bridle.permissions.shell.facts import SimpleCommand, Word

_SUBCOMMANDS = names(
    "git npm pnpm yarn bun npx docker podman kubectl cargo go pip pip3 uv poetry pdm hatch make "
    "just systemctl gh glab helm terraform aws gcloud az apt apt-get brew dnf rustup dotnet mvn "
    "gradle mix bundle rails conda pipx deno flutter ruff mypy python python3 node tox nox"
)
_TOO_WIDE = names(
    "bash sh dash zsh ksh fish eval source . sudo doas su ssh env xargs find perl ruby php lua "
    "exec parallel timeout nohup awk sed osascript"
)
_THIRD = names("run exec remote stash worktree compose -m test:unit")


def patterns_for(call: Call, *, exact: bool = False) -> tuple[str, ...]:
    """The patterns that together match this call; empty where none can.

    Exact ones match nothing else; the others match the same program and subcommand, or the
    same directory.
    """
    if call.shell is not None:
        return _command_patterns(call, call.shell, exact=exact)
    if call.facts.paths:
        return tuple(
            f"{call.tool}:{_path_pattern(call, path, exact=exact)}" for path in call.facts.paths
        )
    if call.facts.hosts:
        return tuple(f"{call.tool}(domain:{host})" for host in call.facts.hosts)
    return (call.tool,)


def always_patterns(call: Call) -> tuple[str, ...]:
    """What "always" grants by pattern: more of the same, else exactly this."""
    return patterns_for(call) or patterns_for(call, exact=True)


def _path_pattern(call: Call, text: str, *, exact: bool) -> str:
    path = call.path(text)
    root = call.policy.root
    shown = path[len(root) :].lstrip("/") if root and paths.inside(path, root) else path
    if exact or "/" not in shown.strip("/"):
        return shown
    return shown.rsplit("/", 1)[0] + "/**"


def _command_patterns(call: Call, shell: Shell, *, exact: bool) -> tuple[str, ...]:
    found: list[str] = []
    for part in shell.parts:
        if part.kind in ("unnamed", "sets"):
            return ()
        if part.kind == "command" and part.command and part.command.role == "command":
            pattern = _command_pattern(call, part, part.command, exact=exact)
            if pattern is None:
                return ()
            found.append(pattern)
        if part.kind == "write" and not part.effects:
            if part.place is None or part.place.paths is None:
                return ()
            written = _path_pattern(call, part.place.paths[-1], exact=True)
            found.append(f"write_file:{written}")
    return tuple(dict.fromkeys(found))


def _command_pattern(call: Call, part: Part, command: SimpleCommand, *, exact: bool) -> str | None:
    tool = call.tool if call.tool != "bash_session" else "bash"
    assigned = [f"{entry.name}={entry.value.text}" for entry in command.assignments]
    uncovered = [effect for effect in part.effects if effect.trigger > 0 or effect.spelled]
    words = [*assigned] if any(effect.spelled for effect in uncovered) else []
    if exact or uncovered:
        if all(word.literal for word in command.words):
            words += [word.text for word in command.words]
            return f"{tool}({_written(words)})"
        if uncovered:
            return None
    prefix = prefix_words(command)
    if prefix is None:
        return None
    return f"{tool}({_written(words + [word.text for word in prefix])}:*)"


def prefix_words(command: SimpleCommand) -> tuple[Word, ...] | None:
    """The words that name what is done: the program, and its subcommand where it has some.

    None where the program alone would say too much: a shell, or git without a subcommand.
    """
    words = command.words
    name = words[0].text
    if name in _TOO_WIDE:
        return None
    if name not in _SUBCOMMANDS or len(words) == 1:
        return words[:1]
    if not _names(words[1]):
        return None
    third = words[1].text in _THIRD and len(words) > 2 and _names(words[2])
    return words[: 3 if third else 2]


def _names(word: Word) -> bool:
    return (
        word.literal
        and re.fullmatch(r"-m|[\w.:@/-]+", word.text) is not None
        and (not word.text.startswith("-") or word.text == "-m")
    )


def _written(words: list[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)
