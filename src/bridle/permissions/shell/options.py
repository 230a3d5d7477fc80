"""Skipping the options of a program, to find what stands behind them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from bridle.permissions.shell.facts import Word

if TYPE_CHECKING:
    from collections.abc import Sequence


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options that a program has, as far as they must be told apart.

    Letters of `values` take a value, those of `attached` only one without a blank, those of
    `flags` none; long names end with `=` where they take one. `refused` are letters and long
    names after which the rest cannot be named. `operands` stand before the command.
    """

    flags: str = ""
    values: str = ""
    attached: str = ""
    long: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    operands: int = 0
    numbers: bool = False


class Skipped(msgspec.Struct):
    """Where the options end, what values they had, and why that is not certain."""

    at: int
    given: dict[str, Word | str] = {}
    problem: str | None = None


def skip(words: Sequence[Word], options: Options) -> Skipped:
    """Go over the options behind the first word, as getopt does with POSIXLY_CORRECT."""
    result = Skipped(1)
    while result.at < len(words) and result.problem is None:
        word = words[result.at]
        if not word.literal:
            if word.may_be_option:
                result.problem = "a computed option"
            break
        if word.text == "--":
            result.at += 1
            break
        if word.text == "-" or not word.text.startswith("-"):
            break
        result.at += 1
        if word.text.startswith("--"):
            _long(word.text[2:], words, options, result)
        elif not (options.numbers and re.fullmatch(r"-[0-9]+", word.text)):
            _short(word.text[1:], words, options, result)
    if result.problem is None and result.at > len(words):
        result.problem = "an option without its value"
    return result


def _long(text: str, words: Sequence[Word], options: Options, result: Skipped) -> None:
    name, equals, value = text.partition("=")
    known = {entry.rstrip("=") for entry in options.long} | options.refused
    found = [name] if name in known else [entry for entry in known if entry.startswith(name)]
    if len(found) != 1 or found[0] in options.refused:
        result.problem = f"option --{name}"
        return
    if equals:
        result.given[found[0]] = value
    elif found[0] + "=" in options.long:
        result.at += 1
        result.given[found[0]] = words[result.at - 1] if result.at <= len(words) else ""
    else:
        result.given[found[0]] = ""


def _short(cluster: str, words: Sequence[Word], options: Options, result: Skipped) -> None:
    for index, letter in enumerate(cluster):
        rest = cluster[index + 1 :]
        if letter in options.refused:
            result.problem = f"option -{letter}"
            return
        if letter in options.attached:
            result.given[letter] = rest
            return
        if letter in options.values:
            if rest:
                result.given[letter] = rest
            else:
                result.at += 1
                result.given[letter] = words[result.at - 1] if result.at <= len(words) else ""
            return
        if letter not in options.flags:
            result.problem = f"option -{letter}"
            return
        result.given[letter] = ""
