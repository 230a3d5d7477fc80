"""Imperfect edit calls: a file, what the model sends, and the only right outcome.

Each case is made from an intended change of whole lines, so that what should come out is known
without asking the editor. `None` is the right outcome where more than one reading is possible.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

PYTHON = '''"""A module."""

import os


class Shop:
    """Sells things."""

    def __init__(self, name):
        self.name = name
        self.items = []

    def add(self, item, count=1):
        for _ in range(count):
            self.items.append(item)
        return len(self.items)

    def total(self):
        result = 0
        for item in self.items:
            if item.price > 0:
                result += item.price
        return result


def main():
    shop = Shop("corner")
    print(shop.total())
'''
SCRIPT = """const limit = 10;

function first(list) {
  if (!list.length) {
    return null;
  }
  return list[0];
}

function last(list) {
  const size = list.length;
  return size ? list[size - 1] : null;
}

module.exports = { first, last };
"""
MAKE = """NAME = thing

all: build
\tif true; then \\
\t\techo built; \\
\tfi
\tdone-all

clean:
\trm -f $(NAME)
\techo cleaned
"""
PROSE = """# Größe und Maß

Zuerst wird die Größe gemessen.
Danach folgt – wie immer – die Prüfung.

日本語の行もあります。
Ende 🎉 der Datei.
"""


@dataclass(frozen=True)
class Change:
    """Lines `start` to `end` of a file become others."""

    text: str
    start: int
    end: int
    new: tuple[str, ...]

    @property
    def old(self) -> list[str]:
        return self.text.split("\n")[self.start : self.end]

    def done(self, text: str | None = None, new: list[str] | None = None, end: str = "") -> str:
        lines = (self.text if text is None else text).split("\n")
        lines[self.start : self.end] = [line + end for line in (new or list(self.new))]
        return "\n".join(lines)


CHANGES = (
    Change(PYTHON, 8, 11, (
        "    def __init__(self, name, owner=None):", "        self.name = name",
        "        self.owner = owner", "        self.items = []",
    )),
    Change(PYTHON, 12, 16, (
        "    def add(self, item, count=1):", "        if count < 1:",
        '            raise ValueError("count")', "        for _ in range(count):",
        "            self.items.append(item)", "        return len(self.items)",
    )),
    Change(PYTHON, 17, 23, (
        "    def total(self):", "        result = 0", "        for item in self.items:",
        "            result += max(item.price, 0)", "        return result",
    )),
    Change(PYTHON, 25, 28, (
        "def main():", '    shop = Shop("street")', "    print(shop.total())",
    )),
    Change(SCRIPT, 2, 8, (
        "function first(list) {", "  return list.length ? list[0] : null;", "}",
    )),
    Change(SCRIPT, 9, 13, (
        "function last(list) {", "  const size = list.length;", "  if (!size) {",
        "    return null;", "  }", "  return list[size - 1];", "}",
    )),
    Change(MAKE, 2, 7, (
        "all: build", "\tif true; then \\", "\t\techo ready; \\", "\tfi", "\tdone-all",
    )),
    Change(MAKE, 8, 11, ("clean:", "\trm -rf $(NAME)", "\techo cleaned")),
    Change(PROSE, 2, 4, (
        "Zuerst wird die Größe zweimal gemessen.", "Danach folgt – wie immer – die Prüfung.",
    )),
    Change(PROSE, 5, 7, ("日本語の行は二つあります。", "Ende 🎉 der ganzen Datei.")),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One call; `right` is the file afterwards, None where it must be refused."""

    name: str
    text: str
    old: str
    new: str
    right: str | None


def cases() -> Iterator[Case]:
    """All of them."""
    for number, change in enumerate(CHANGES):
        for case in _variants(change):
            yield Case(f"{number} {case.name}", case.text, case.old, case.new, case.right)
    yield from _refused()


def _variants(change: Change) -> Iterator[Case]:
    text, old, new = change.text, "\n".join(change.old), "\n".join(change.new)
    crlf = text.replace("\n", "\r\n")
    yield Case("exact", text, old, new, change.done())
    yield Case("with its line end", text, old + "\n", new + "\n", change.done())
    for space in (" ", "   ", "\t"):
        spaced = "\n".join(line + space for line in change.old)
        yield Case(f"{space!r} behind the model's lines", text, spaced, new, change.done())
    trailing = "\n".join(line + "  " if line else line for line in text.split("\n"))
    yield Case("spaces behind the file's lines", trailing, old, new, _kept(change, trailing))
    yield Case("a CRLF file", crlf, old, new, change.done().replace("\n", "\r\n"))
    yield Case("a CRLF file, line end", crlf, old + "\n", new + "\n",
               change.done().replace("\n", "\r\n"))  # fmt: skip
    yield Case("a CRLF model", text, old.replace("\n", "\r\n"), new.replace("\n", "\r\n"),
               change.done())  # fmt: skip
    yield Case("CRLF and spaces", crlf, "\n".join(line + " " for line in change.old), new,
               change.done().replace("\n", "\r\n"))  # fmt: skip
    for pad in ("    ", "  ", "\t"):
        padded = [_padded(lines, pad) for lines in (change.old, change.new)]
        yield Case(f"indented by {pad!r} too much", text, *padded, change.done())
    common = _common(change.old)
    if common:
        bare = ["\n".join(line[len(common) :] for line in ls) for ls in (change.old, change.new)]
        yield Case("not indented", text, *bare, change.done())
    steps = {len(line) - len(line.lstrip(" ")) for line in (*change.old, *change.new)}
    if max(steps) and not any(step % 4 for step in steps):
        tabbed = [_tabbed("\n".join(lines)) for lines in (change.old, change.new)]
        yield Case("tabs for spaces", text, *tabbed, change.done())
        yield Case("spaces for tabs", _tabbed(text), old, new, _tabbed(change.done()))
    doubled = [_doubled(line) for line in change.old]
    if doubled != change.old:
        yield Case("more spaces within", text, "\n".join(doubled),
                   "\n".join(_doubled(x) if x in change.old else x for x in change.new),
                   change.done())  # fmt: skip
    whole = text.rstrip("\n")
    yield Case("a file without a last line end", whole, old + "\n", new + "\n",
               change.done(whole).rstrip("\n"))  # fmt: skip
    twice = text + "\n" + text
    yield Case("it stands there twice", twice, old, new, None)
    shifted = text + "\n" + _padded(text.split("\n"), "    ")
    yield Case("nearly there twice", shifted, "\n".join(line + " " for line in change.old), new,
               None)  # fmt: skip
    yield Case("a word is different", text, old.replace("e", "ee", 1), new, None)
    yield Case("a line is missing", text, "\n".join(change.old[:1] + change.old[2:]) + "\n???", new,
               None)  # fmt: skip
    if unicodedata.normalize("NFD", old) != old:
        yield Case("another normal form", text, unicodedata.normalize("NFD", old), new, None)
    yield Case("a space that is none", text, old.replace(" ", "\u00a0", 1) + "\u00a0", new, None)


def _refused() -> Iterator[Case]:
    yield Case("matches that overlap", "aXaXa\n", "aXa", "b", None)
    yield Case("only blanks", "a\n\nb\n", "   ", "x", None)
    yield Case("an empty file", "", "a", "b", None)
    yield Case("two that differ in their indentation", "if a:\n    f()\nif b:\n        f()\n",
               "f() ", "g()", None)  # fmt: skip
    yield Case("indentation that cannot be told", "\tif a:\n\t\tf()\n", "      if a:\n       f()",
               "      if a:\n       f()\n                g()", None)  # fmt: skip
    yield Case("steps that are not the same", "if a:\n    f()\n    g()\n",
               "if a:\n  f()\n      g()", "x()", None)  # fmt: skip
    yield Case("a blank line is added", "a\r\nb\r\n", "a\n", "a\n\n", "a\r\n\r\nb\r\n")
    yield Case("a line in CRLF becomes two", "a\r\nb\r\n", "a", "a\nc", "a\r\nc\r\nb\r\n")
    yield Case("lines go away", "a \nb \nc \n", "a\nb\n", "", "c \n")
    yield Case("mixed line ends stay", "a\r\nb \nc\r\nd\n", "b\nc", "B\nc", "a\r\nB\nc\r\nd\n")
    yield Case("the last line, no end", "a\nb ", "b\n", "c\n", "a\nc")


def _kept(change: Change, text: str) -> str:
    """Lines that are the same before and after stay as they are in the file."""
    from difflib import SequenceMatcher

    lines = text.split("\n")
    found = lines[change.start : change.end]
    result: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(
        a=change.old, b=list(change.new), autojunk=False
    ).get_opcodes():
        result += found[a:b] if tag == "equal" else change.new[c:d]
    return "\n".join([*lines[: change.start], *result, *lines[change.end :]])


def _padded(lines: list[str] | tuple[str, ...], pad: str) -> str:
    return "\n".join(pad + line if line else line for line in lines)


def _common(lines: list[str]) -> str:
    indents = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    return min(indents, key=len)


def _tabbed(text: str) -> str:
    return "\n".join(
        "\t" * ((len(line) - len(line.lstrip(" "))) // 4) + line.lstrip(" ")
        if not (len(line) - len(line.lstrip(" "))) % 4
        else line
        for line in text.split("\n")
    )


def _doubled(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return indent + line.lstrip().replace(" ", "  ")


def naive_edit(text: str, old: str, new: str) -> str | None:
    """What an editor does that means well: compare without white space, take the first place."""
    if old in text:
        return text.replace(old, new, 1)
    lines = text.split("\n")
    wanted = [line.strip() for line in old.split("\n")]
    for start in range(len(lines) - len(wanted) + 1):
        if [line.strip() for line in lines[start : start + len(wanted)]] == wanted:
            return "\n".join([*lines[:start], *new.split("\n"), *lines[start + len(wanted) :]])
    return None
