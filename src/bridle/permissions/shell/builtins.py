"""The shell's own commands: those that run text, rename commands or set variables.

Many of them evaluate subscripts (`read 'a[$(x)]'`), so a name that is not plainly a name is a
problem wherever it stands.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.permissions.shell.facts import HOLE, Assignment, Word, names
from bridle.permissions.shell.reading import Reading
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NAME = lazy(r"[A-Za-z_][A-Za-z0-9_]*")
_ELEMENT = lazy(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[A-Za-z0-9_@*]*\])?")
_ASSIGNED = lazy(r"([A-Za-z_][A-Za-z0-9_]*)(\[[A-Za-z0-9_]*\])?\+?=", re.DOTALL)
_ARRAY = lazy(r"[A-Za-z_][A-Za-z0-9_]*\+?=\(")
"""An array as written, without quotes: its words were read like any others."""
_SET_FLAGS = lazy(r"[-+][euxfCbhmnpvE]+|[-+]o|--|-")
_SET_OPTIONS = names("errexit nounset pipefail xtrace noglob noclobber verbose errtrace functrace")

_QUIET = names(": true false break continue return exit shift wait times pwd type jobs")
"""Builtins that change nothing outside the shell's own flow."""


def read_builtin(words: Sequence[Word]) -> Reading | None:
    """What a builtin does; None where the word is not one of those that matter."""
    name = words[0].text
    if name in _QUIET:
        return Reading(kind="neutral", problems=_loud_options(words))
    reader = _READERS.get(name)
    return reader(words) if reader else None


def _loud_options(words: Sequence[Word]) -> tuple[str, ...]:
    """Find `wait -p NAME` and `jobs -x COMMAND`: all else in the quiet builtins is quiet."""
    loud = {"wait": "p", "jobs": "x"}.get(words[0].text)
    if loud and any(word.may_be_option and (loud in word.text or word.holes) for word in words[1:]):
        return (f"an option of {words[0].text}",)
    return ()


def _eval(words: Sequence[Word]) -> Reading:
    rest = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    script = " ".join(word.text for word in rest)
    if not all(word.literal for word in rest):
        return Reading(
            kind="wrapper",
            problems=("eval of a computed text",),
            guessed_scripts=(script.replace(HOLE, "_"),),
            unknown_sets=True,
        )
    return Reading(kind="wrapper", scripts=((script, "bash"),), unknown_sets=True)


def _source(words: Sequence[Word]) -> Reading:
    named = len(words) > 1 and not words[1].splits and set(words[1].holes) <= {"HOME", "PWD"}
    if named and not words[1].text.startswith(("-", "/dev/")):
        return Reading(unknown_sets=True)
    return Reading(problems=("sourcing a computed file",), unknown_sets=True)


def _trap(words: Sequence[Word]) -> Reading:
    rest = [word for word in words[1:] if word.text != "--"]
    if not rest or rest[0].text in ("-", "-l", "-p", ""):
        return Reading(kind="neutral")
    if not rest[0].literal or rest[0].text.startswith("-"):
        return Reading(kind="wrapper", problems=("a trap with a computed text",))
    return Reading(kind="wrapper", scripts=((rest[0].text, "bash"),), unknown_sets=True)


def _problem(reason: str) -> Callable[[Sequence[Word]], Reading]:
    return lambda _: Reading(problems=(reason,), unknown_sets=True)


def _alias(words: Sequence[Word]) -> Reading:
    if all(word.literal and "=" not in word.text for word in words[1:]):
        return Reading()
    return Reading(problems=("defining an alias",))


def _hash(words: Sequence[Word]) -> Reading:
    if all(word.literal for word in words) and not any(
        word.text.startswith("-") and "p" in word.text for word in words[1:]
    ):
        return Reading(kind="neutral")
    return Reading(problems=("giving a command another path",))


def _callback(words: Sequence[Word]) -> Reading:
    """Read `mapfile`, which can call a command for each line."""
    if any(word.text.startswith("-") and "C" in word.text for word in words[1:]):
        return Reading(problems=("a command for each line",))
    return _sets_names(words, values="dnOsucC")


def _set(words: Sequence[Word]) -> Reading:
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if word.literal and word.text in ("--", "-"):
            break
        if not word.literal:
            if word.may_be_option:
                return Reading(problems=("computed options of the shell",))
            break
        if not word.text.startswith(("-", "+")):
            break
        if not _SET_FLAGS.fullmatch(word.text) and not re.fullmatch(r"[-+][euxf]*o", word.text):
            return Reading(problems=("changing how the shell reads commands",))
        if word.text.endswith("o") and rest:
            option = rest.pop(0)
            if option.text not in _SET_OPTIONS:
                return Reading(problems=("changing how the shell reads commands",))
    return Reading(kind="neutral")


def _shopt(words: Sequence[Word]) -> Reading:
    changing = not all(word.literal for word in words) or any(
        word.text.startswith("-") and set(word.text) & {"s", "u"} for word in words[1:]
    )
    if changing:
        return Reading(problems=("changing how the shell reads commands",))
    return Reading(kind="neutral")


def _cd(words: Sequence[Word]) -> Reading:
    rest = [word for word in words[1:] if word.text not in ("-P", "-L", "-e", "-@", "--")]
    if len(rest) == 1 and rest[0].literal and not rest[0].text.startswith("-"):
        return Reading(kind="neutral", moves_to=rest[0], moves=True)
    if not rest:
        return Reading(moves_to=Word("~"), moves=True)
    if len(rest) == 1 and rest[0].holes == ("HOME",) and rest[0].text.startswith(HOLE):
        return Reading(moves_to=Word("~" + rest[0].text[1:]), moves=True)
    return Reading(moves=True)


def _moves(_: Sequence[Word]) -> Reading:
    return Reading(moves=True)


def _sets_names(words: Sequence[Word], *, values: str) -> Reading:
    """Read builtins that put what they read into variables that are named by their arguments."""
    problems: list[str] = []
    found: list[str] = ["REPLY", "MAPFILE", "OPTARG"]
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if word.literal and word.text.startswith("-") and len(word.text) > 1:
            letter = word.text[-1]
            takes = [char for char in word.text[1:] if char in values]
            if takes and takes[0] == letter and rest:
                value = rest.pop(0)
                if letter == "a" and not (value.literal and _NAME.fullmatch(value.text)):
                    problems.append("a computed name of a variable")
                found.append(value.text)
        elif word.literal and _NAME.fullmatch(word.text):
            found.append(word.text)
        else:
            problems.append("a computed name of a variable")
    return Reading(kind="neutral", problems=tuple(problems), sets=tuple(found))


def _read(words: Sequence[Word]) -> Reading:
    return _sets_names(words, values="adinNptu")


def _getopts(words: Sequence[Word]) -> Reading:
    if len(words) > 2 and words[2].literal and _NAME.fullmatch(words[2].text):
        return Reading(kind="neutral", sets=("OPTARG", words[2].text))
    return Reading(problems=("a computed name of a variable",))


def _printf(words: Sequence[Word]) -> Reading:
    if len(words) > 1 and words[1].text.startswith("-v"):
        name = words[1].text[2:] or (words[2].text if len(words) > 2 else "")
        if not _ELEMENT.fullmatch(name):
            return Reading(problems=("a computed name of a variable",))
        return Reading(sets=(name.split("[")[0],))
    if len(words) > 2 and words[1].may_be_option and not words[1].literal:
        return Reading(problems=("a computed name of a variable",))
    return Reading()


def _unset(words: Sequence[Word]) -> Reading:
    for word in words[1:]:
        if not word.literal or not re.fullmatch(r"-[fvn]+|" + _ELEMENT.pattern, word.text):
            return Reading(problems=("a computed name of a variable",))
    dangerous = {"PATH", "IFS"} & {word.text for word in words[1:]}
    return Reading(problems=("unsetting PATH",) if "PATH" in dangerous else (), kind="neutral")


def _declare(words: Sequence[Word]) -> Reading:
    flags = "".join(
        word.text[1:] for word in words[1:] if word.literal and re.match(r"[-+]\w", word.text)
    )
    problems: list[str] = []
    if set(flags) & {"n", "i"}:
        problems.append("a variable that is evaluated")
    fills_arrays = words[0].text in ("declare", "typeset", "local") or set(flags) & {"a", "A"}
    exported = words[0].text == "export" or "x" in flags
    environment: list[Assignment] = []
    found: list[str] = []
    numbers: list[str] = []
    for word in words[1:]:
        if word.literal and word.text.startswith(("-", "+")):
            continue
        assigned = _ASSIGNED.match(word.text)
        name = assigned[1] if assigned else word.text
        if not assigned and not (word.literal and _NAME.fullmatch(word.text)):
            problems.append("a computed name of a variable")
            continue
        text = word.text[assigned.end() :] if assigned else ""
        if fills_arrays and text.startswith(("(", HOLE)) and not _ARRAY.match(word.raw):
            problems.append("a text that may be evaluated as an array")
        is_number = bool(assigned) and word.literal and re.fullmatch(r"-?[0-9]+", text)
        (numbers if is_number else found).append(name)
        if assigned or exported:
            value = Word(text, word.raw, word.holes, splits=word.splits)
            environment.append(Assignment(name, value, exported=exported))
    return Reading(
        kind="neutral",
        problems=tuple(problems),
        environment=tuple(environment),
        sets=tuple(found),
        numbers=tuple(numbers),
    )


def _let(words: Sequence[Word]) -> Reading:
    if not all(word.literal for word in words):
        return Reading(problems=("arithmetic on a computed text",))
    return Reading(kind="neutral", arithmetic=tuple(word.text for word in words[1:]))


def _test(words: Sequence[Word]) -> Reading:
    operands = list(words[1:])
    if words[0].text == "[" and operands and operands[-1].text == "]":
        operands.pop()
    numbers: list[str] = []
    for before, word in zip([None, *operands], operands, strict=False):
        evaluated = before is not None and before.text in ("-v", "-R")
        if evaluated and not (word.literal and _ELEMENT.fullmatch(word.text)):
            return Reading(problems=("a test of a computed name",))
        if word.splits:
            if len(word.holes) != 1 or word.text != HOLE or not word.holes[0]:
                return Reading(problems=("a test of words that may be operators",))
            numbers.append(word.holes[0])
    if any(not word.literal for word in operands) and not _plain_test(operands):
        return Reading(problems=("a test with a computed operator",))
    return Reading(kind="neutral", arithmetic=tuple("$" + name for name in numbers))


def _plain_test(operands: list[Word]) -> bool:
    """Does each condition have its operator written down?"""
    condition: list[Word] = []
    conditions = [condition]
    for word in operands:
        if word.literal and word.text in ("-a", "-o"):
            condition = []
            conditions.append(condition)
        elif not (word.literal and word.text in ("!", "(", ")")):
            condition.append(word)
    for words in conditions:
        operator = {2: 0, 3: 1}.get(len(words))
        if len(words) > 3 or (operator is not None and not words[operator].literal):
            return False
    return True


_READERS: dict[str, Callable[[Sequence[Word]], Reading]] = {
    "eval": _eval,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "alias": _alias,
    "unalias": lambda _: Reading(),
    "hash": _hash,
    "enable": _problem("changing the builtins"),
    "bind": _problem("binding keys"),
    "complete": _problem("defining completions"),
    "compgen": _problem("running completions"),
    "compopt": _problem("defining completions"),
    "fc": _problem("running history"),
    "mapfile": _callback,
    "readarray": _callback,
    "set": _set,
    "shopt": _shopt,
    "cd": _cd,
    "pushd": _moves,
    "popd": _moves,
    "read": _read,
    "getopts": _getopts,
    "printf": _printf,
    "unset": _unset,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "export": _declare,
    "readonly": _declare,
    "let": _let,
    "test": _test,
    "[": _test,
}
