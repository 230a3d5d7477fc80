"""Wrappers with a form of their own: shells, env, xargs, find, watch, ssh, package runners."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.permissions.shell.facts import HOLE, Assignment, Word, names
from bridle.permissions.shell.options import Options, skip
from bridle.permissions.shell.reading import Inner, Reading, unread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.permissions.shell.tree import Dialect

SHELLS = names("bash sh dash ash rbash")

_ENV = Options(
    flags="i0v",
    values="u",
    long=names("ignore-environment null unset= debug"),
    refused=names("S split-string C chdir"),
)
_XARGS = Options(
    flags="0oprtx",
    values="adEILnPs",
    attached="eil",
    long=names(
        "null no-run-if-empty verbose interactive exit open-tty arg-file= delimiter= eof replace "
        "max-lines max-args= max-procs= max-chars= process-slot-var="
    ),
)
_WATCH = Options(
    flags="bcCdeghptvxrw",
    values="nq",
    long=names(
        "beep color no-color differences errexit chgexit precise no-title no-wrap exec interval= "
        "equexit="
    ),
)
_SSH = Options(flags="46AaCfGgKkMNnqsTtVvXxYy", values="BbcDEeFIiJLlmOoPpQRSWw")
_EXEC = names("-exec -execdir -ok -okdir")
_RUN = {
    "uv": names("run"), "poetry": names("run"), "pdm": names("run"), "hatch": names("run"),
    "rye": names("run"), "pipenv": names("run"), "pipx": names("run"), "conda": names("run"),
    "bundle": names("exec"), "npm": names("exec x"), "pnpm": names("exec dlx"),
    "yarn": names("exec dlx"), "bun": names("x"), "direnv": names("exec"), "asdf": names("exec"),
    "mise": names("exec x"), "nix": names("run shell"), "op": names("run"), "doppler": names("run"),
    "docker": names("run exec"), "podman": names("run exec"), "kubectl": names("exec run"),
}  # fmt: skip
"""Programs whose subcommand runs the program that is named next."""


def read_shell(name: str, words: Sequence[Word], stdin: str | None) -> Reading:
    """Read a shell: with -c its text, without a file its input."""
    dialect: Dialect = "bash" if name in ("bash", "rbash") else "sh"
    at, plain, runs_text = 1, True, False
    while at < len(words) and words[at].literal:
        text = words[at].text
        if text in ("-", "", "--") or text[0] not in "-+":
            at += text == "--"
            break
        option = _shell_option(text, words[at + 1].text if at + 1 < len(words) else "")
        if option is None:
            return unread(words, "a shell that reads its input")
        plain, runs_text = plain and option[0], runs_text or option[1]
        at += option[2]
    if at < len(words):
        word = words[at]
        if not word.literal and (runs_text or word.may_be_option):
            return unread(words, "a shell with a computed text")
        if runs_text:
            return Reading(kind="wrapper" if plain else "command", scripts=((word.text, dialect),))
        return unread(words, "a shell that reads its input") if "/dev/" in word.text else Reading()
    if stdin is None or runs_text:
        return unread(words, "a shell that reads its input")
    return Reading(kind="wrapper" if plain else "command", scripts=((stdin, dialect),))


def _shell_option(text: str, after: str) -> tuple[bool, bool, int] | None:
    """Is it an option that changes nothing, does it bring a text, and how many words is it?"""
    if text.startswith("--"):
        valued = text in ("--rcfile", "--init-file")
        return text in ("--login", "--norc", "--noprofile"), False, 2 if valued else 1
    cluster = text[1:]
    if "s" in cluster or "i" in cluster:
        return None
    values = cluster.count("o") + cluster.count("O")
    plain = text[0] == "-" and set(cluster) <= set("celuxo")
    if values:
        plain = plain and after in ("pipefail", "errexit", "nounset", "xtrace")
    return plain, "c" in cluster, 1 + values


def is_assignment(word: Word) -> bool:
    """Is it `NAME=value`, as env and sudo take it?"""
    return "=" in word.text and HOLE not in word.text.partition("=")[0]


def assignment(word: Word) -> Assignment:
    """The variable that such a word sets."""
    name, _, text = word.text.partition("=")
    return Assignment(name, Word(text, word.raw, word.holes, splits=word.splits), exported=True)


def _command(words: Sequence[Word]) -> Reading:
    at = 1
    while at < len(words) and words[at].text in ("-p", "--"):
        at += 1
    asks = at < len(words) and words[at].literal and re.fullmatch(r"-p?[vV]+", words[at].text)
    if asks or at >= len(words):
        return Reading(kind="neutral")
    if words[at].may_be_option:
        return unread(words, "a computed option")
    return Reading(kind="wrapper", inner=(Inner(tuple(words[at:]), at),))


def _env(words: Sequence[Word]) -> Reading:
    skipped = skip(words, _ENV)
    if skipped.problem:
        return unread(words, f"env with {skipped.problem}")
    at = skipped.at
    if at < len(words) and words[at].text == "-":
        at += 1
    assigned: list[Assignment] = []
    while at < len(words) and is_assignment(words[at]):
        assigned.append(assignment(words[at]))
        at += 1
    if at >= len(words):
        return Reading(environment=tuple(assigned))
    if not words[at].literal:
        return unread(words, "a computed command")
    inner = (Inner(tuple(words[at:]), at),)
    return Reading(kind="wrapper", inner=inner, environment=tuple(assigned))


def _xargs(words: Sequence[Word]) -> Reading:
    skipped = skip(words, _XARGS)
    if skipped.problem:
        return unread(words, f"xargs with {skipped.problem}")
    given = skipped.given
    replaced = given.get("I", given.get("replace", given.get("i")))
    inner = tuple(words[skipped.at :])
    if not inner:
        return Reading()
    if replaced is None:
        more = Word(HOLE, "…", ("",), splits=True)
        return Reading(kind="wrapper", inner=(Inner((*inner, more), skipped.at),))
    if isinstance(replaced, Word) and not replaced.literal:
        return unread(words, "a computed placeholder")
    mark = (replaced.text if isinstance(replaced, Word) else replaced) or "{}"
    filled = tuple(fill(word, mark) for word in inner)
    return Reading(kind="wrapper", inner=(Inner(filled, skipped.at),))


def fill(word: Word, mark: str) -> Word:
    """The word with a hole wherever the placeholder stands."""
    if mark not in word.text:
        return word
    holes = word.holes + ("",) * word.text.count(mark)
    return Word(word.text.replace(mark, HOLE), word.raw, holes, splits=word.splits)


def _find(words: Sequence[Word]) -> Reading | None:
    inner: list[Inner] = []
    at = 1
    while at < len(words):
        if not (words[at].literal and words[at].text in _EXEC):
            at += 1
            continue
        end = at + 1
        while end < len(words) and not _ends_exec(words, end):
            end += 1
        found = tuple(fill(word, "{}") for word in words[at + 1 : end])
        if not found or end >= len(words):
            return unread(words, "find -exec without an end")
        inner.append(Inner(found, at + 1))
        at = end + 1
    return Reading(inner=tuple(inner)) if inner else None


def _ends_exec(words: Sequence[Word], at: int) -> bool:
    text = words[at].text
    return words[at].literal and (text == ";" or (text == "+" and words[at - 1].text == "{}"))


def _watch(words: Sequence[Word]) -> Reading:
    skipped = skip(words, _WATCH)
    rest = tuple(words[skipped.at :])
    if skipped.problem or not rest or not all(word.literal for word in rest):
        return unread(words, "watch of a computed command")
    if "x" in skipped.given or "exec" in skipped.given:
        return Reading(inner=(Inner(rest, skipped.at),))
    return Reading(scripts=((" ".join(word.text for word in rest), "sh"),))


def _ssh(words: Sequence[Word]) -> Reading | None:
    skipped = skip(words, _SSH)
    if skipped.problem or not all(word.literal for word in words[skipped.at :]):
        return unread(words, "ssh with a computed command")
    rest = words[skipped.at + 1 :]
    return Reading(scripts=((" ".join(word.text for word in rest), "sh"),)) if rest else None


def _npx(words: Sequence[Word]) -> Reading | None:
    return _runs(words, 1)


def _package(words: Sequence[Word]) -> Reading | None:
    program = words[0].text.rsplit("/", 1)[-1]
    if len(words) > 2 and words[1].text in _RUN[program]:
        return _runs(words, 3 if program == "direnv" else 2)
    return None


def _runs(words: Sequence[Word], at: int) -> Reading | None:
    """What follows is the program, unless options stand between (an extra effect, not read).

    Then any later word may be the program, as far as denying goes.
    """
    if at >= len(words):
        return None
    if words[at].text.startswith("-"):
        return Reading(guesses=unread(words[at - 1 :], "").guesses)
    return Reading(inner=(Inner(tuple(words[at:]), at),))


SPECIAL: dict[str, Callable[[Sequence[Word]], Reading | None]] = {
    "command": _command,
    "env": _env,
    "xargs": _xargs,
    "find": _find,
    "watch": _watch,
    "ssh": _ssh,
    "npx": _npx,
    "bunx": _npx,
    **dict.fromkeys(_RUN, _package),
}
