"""sed, awk, find, tar, npm and others whose writing and running hides in an argument."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.permissions.shell.effects import (
    Effect,
    Spec,
    after,
    computed_option,
    operands,
    option_effects,
)
from bridle.permissions.shell.facts import Word, names
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SED = Spec(values="eflE", runs=names("--file -f"), writes=names("--in-place -i"))
_SED_ADDRESS = lazy(r"[0-9~+$,! \t]+|/(?:[^/\\\n]|\\.)*/[IM]*|\\(.)(?:(?!\1)[^\\\n]|\\.)*?\1")
_SED_HARMLESS = lazy(r"[pdDPhHgGxnNz=F](?=[\s;}]|$)|[qQlL] *[0-9]*(?=[\s;}]|$)")
_SED_LINE = lazy(r"[btT:aicrR#][^\n;]*(?:\n|;|$)")
_AWK = Spec(values="Fve", runs=names("-f --file -i --include -l --load -E --exec"))
_AWK_RUNS = lazy(r"system|\||@|getline\s*<|fflush|/inet")
_AWK_PRINTS = lazy(r"print[^;}\n]*>")
_FIND_WRITES = names("-fprint -fprint0 -fprintf -fls")
_FIND_VALUES = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime "
    "-atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -user -group -perm -maxdepth -mindepth "
    "-printf -lname -ilname -links -inum -samefile -used -fstype -regextype -uid -gid"
)
_TAR = Spec(
    values="fbCKNTXgHLV",
    runs=names(
        "--to-command -I --use-compress-program --checkpoint-action -F --info-script "
        "--new-volume-script --rsh-command --rmt-command"
    ),
    writes=names("--extract --get -x"),
)
_NPM_QUIET = lazy(
    r"-s|--silent|--if-present|--verbose|-d+|--quiet|-q|--(?:no-)?color|--workspaces?(?:=[\w@/-]+)?"
    r"|--loglevel(?:=\w+)?|--no-(?:audit|fund|update-notifier)|--watch=false|--ci"
)


def sed_effects(words: Sequence[Word]) -> Iterator[Effect]:
    """In-place edits, and the commands e and w in the script."""
    for effect in option_effects(words, _SED):
        in_place = effect.kind == "write"
        if not in_place:
            yield effect
            continue
        scripts = [index for index, _ in _scripts(words)]
        for index, file in operands(words, "eflE"):
            if index not in scripts:
                yield Effect("write", "sed -i changes files", effect.trigger, file)
    for index, script in _scripts(words):
        if not script.literal or not sed_is_harmless(script.text):
            yield Effect("run", "a sed script that may write or run", index)


def _scripts(words: Sequence[Word]) -> list[tuple[int, Word]]:
    found: list[tuple[int, Word]] = []
    for index, word in enumerate(words[1:], 1):
        text = word.text
        if re.fullmatch(r"-[nErsuz]*e|--expression", text) and index + 1 < len(words):
            found.append((index + 1, words[index + 1]))
        elif text.startswith("--expression="):
            found.append((index, Word(text.partition("=")[2], "", word.holes)))
        elif re.match(r"-[nErsuz]*e.", text):
            found.append((index, Word(text[text.index("e") + 1 :], "", word.holes)))
    return found or operands(words, "eflE")[:1]


def sed_is_harmless(script: str) -> bool:
    """Is every command of the script one that neither writes nor runs?"""
    at = 0
    while at < len(script):
        if script[at] in " \t\n;{}":
            at += 1
            continue
        for pattern in (_SED_ADDRESS, _SED_HARMLESS, _SED_LINE):
            found = pattern.match(script, at)
            if found and found.end() > at:
                at = found.end()
                break
        else:
            end = _substitution(script, at)
            if end is None:
                return False
            at = end
    return True


def _substitution(script: str, at: int) -> int | None:
    if script[at] not in "sy" or at + 1 >= len(script) or script[at + 1] in "\\\n":
        return None
    mark = re.escape(script[at + 1])
    part = rf"(?:(?!{mark})[^\\]|\\.)*"
    found = re.compile(rf"{part}{mark}{part}{mark}([gpiIM0-9]*)(?=[\s;}}]|$)", re.DOTALL).match(
        script, at + 2
    )
    return found.end() if found else None


def awk_effects(words: Sequence[Word]) -> Iterator[Effect]:
    """Scripts that print to files, run commands or come from elsewhere."""
    yield from option_effects(words, _AWK)
    script = next(iter(operands(words, "Fve")), None)
    if script is None:
        return
    index, word = script
    if not word.literal or len(word.text) > 4096 or _AWK_RUNS.search(word.text.replace("||", "")):
        yield Effect("run", "an awk script that may run commands", index)
    elif _AWK_PRINTS.search(word.text):
        yield Effect("write", "an awk script that prints to a file", index)


def find_effects(words: Sequence[Word]) -> Iterator[Effect]:
    """Actions that delete or write, and words that may turn out to be actions."""
    for index, word in enumerate(words[1:], 1):
        if word.text == "-delete":
            yield Effect("write", "find -delete deletes files", index)
        elif word.text in _FIND_WRITES:
            yield Effect("write", f"find {word.text} writes a file", index, after(words, index))
        elif _may_be_action(word, words[index - 1]):
            yield Effect("run", "a computed word may be an action of find", index)
            return


def _may_be_action(word: Word, before: Word) -> bool:
    computed = not word.literal and word.may_be_option
    return computed and (word.splits or before.text not in _FIND_VALUES)


def tar_effects(words: Sequence[Word]) -> Iterator[Effect]:
    """Extracting writes; several options run programs."""
    if len(words) > 1 and not words[1].text.startswith("-"):
        old = Word("-" + words[1].text, words[1].raw, words[1].holes)
        words = (words[0], old, *words[2:])
    for effect in option_effects(words, _TAR):
        known = effect.kind != "write"
        yield effect if known else Effect("write", "tar extracts files", effect.trigger)
    for index, word in enumerate(words[1:], 1):
        letters = word.text if re.fullmatch(r"-[A-Za-z]+", word.text) else ""
        if "c" in letters or "r" in letters or "u" in letters or word.text == "--create":
            yield Effect("write", "tar writes an archive", index)


def npm_effects(words: Sequence[Word]) -> Iterator[Effect]:
    """Options for npm itself or for the script can make either run something else."""
    yield from computed_option(words)
    for index, word in enumerate(words[2:], 2):
        if word.text == "--" or (word.literal and _NPM_QUIET.fullmatch(word.text)):
            continue
        if word.text.startswith(("-", "/", "~", "..")) or not word.literal:
            yield Effect("run", f"{word.raw or word.text} goes to the script", index)
            return


def package_run_effects(words: Sequence[Word]) -> Iterator[Effect]:
    """An option between `run` and the program hides which program it is."""
    for index, word in enumerate(words[1:3], 1):
        if word.text.startswith("-"):
            yield Effect("run", f"{word.text} before the program", index)


def second_operand(words: Sequence[Word]) -> Iterator[Effect]:
    """`uniq IN OUT` and `xxd IN OUT` write their second operand."""
    yield from computed_option(words)
    found = operands(words, "fswclos")
    if len(found) > 1:
        yield Effect("write", "the second operand is written", found[1][0], found[1][1])


def dd_effects(words: Sequence[Word]) -> Iterator[Effect]:
    """`of=FILE` is written."""
    for index, word in enumerate(words[1:], 1):
        if word.text.startswith("of="):
            yield Effect("write", "dd writes a file", index, Word(word.text[3:], "", word.holes))
        elif not word.literal:
            yield Effect("write", "a computed operand of dd", index)
