"""The definitions in a file: by its grammar where one is installed, else by how lines begin."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 200
_DEFINITION = lazy(
    r"^(?P<indent>[ \t]*)(?:(?:export|default|public|private|protected|internal|static|final|"
    r"abstract|async|override|open|sealed|data|inline|pub(?:\([a-z]+\))?|unsafe|extern|virtual|"
    r"declare|readonly|partial)\s+){0,5}"
    r"(?P<kind>def|class|function\*?|func|fn|struct|interface|enum|trait|type|module|namespace|"
    r"object|record|protocol|macro_rules!|const|let|var|sub|impl)\s+"
    r"(?:\([^)\n]{0,80}\)\s*)?(?:<[^>\n]{0,80}>\s*)?(?P<name>[^\W\d][\w.!?]{0,80})",
    re.MULTILINE,
)
_VARIABLE = frozenset(("const", "let", "var"))
_WORDS = {"def": "function", "func": "function", "fn": "function", "function*": "function"}


class Symbol(Fixed, frozen=True):
    """A definition and the lines that it takes, counted from 1."""

    name: str
    kind: str
    line: int
    end: int


def symbols(path: str, text: str) -> list[Symbol]:
    """The definitions of a file, in their order; inner ones after those around them."""
    if path.endswith((".py", ".pyi")):
        parser = _python()
        if parser is not None:
            return list(_grammar(parser.parse(text.encode("utf-8", "replace"))))
    return _lines(text)


@cache
def _python() -> Any:
    """A parser for Python; None where its grammar is not installed (extra `search`)."""
    try:
        import tree_sitter_python
        from tree_sitter import Language, Parser
    except ImportError:
        return None
    return Parser(Language(tree_sitter_python.language()))


def _grammar(tree: Any) -> Iterator[Symbol]:
    cursor = tree.walk()
    owners: list[tuple[int, str]] = []
    depth = 0
    while True:
        node = cursor.node
        named = node.type in ("function_definition", "class_definition")
        if named and (name := node.child_by_field_name("name")) is not None:
            while owners and owners[-1][0] >= depth:
                owners.pop()
            text = name.text.decode("utf-8", "replace")
            full = ".".join([owner for _, owner in owners] + [text])
            kind = "class" if node.type == "class_definition" else "function"
            yield Symbol(full, kind, node.start_point[0] + 1, node.end_point[0] + 1)
            owners.append((depth, text))
        if depth < DEEPEST and cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            depth -= 1
        while owners and owners[-1][0] >= depth:
            owners.pop()


def _lines(text: str) -> list[Symbol]:
    """Definitions by the look of their lines; one ends where the next begins no deeper."""
    found = list(_DEFINITION.finditer(text))
    last = text.count("\n") + 1
    rows: list[tuple[str, str, int, int]] = []
    line, at = 1, 0
    for match in found:
        line += text.count("\n", at, match.start("kind"))
        at = match.start("kind")
        kind = match["kind"].rstrip("!")
        rows.append((match["name"], _WORDS.get(kind, kind), line, len(match["indent"])))
    open_: list[int] = []
    ends = [last] * len(rows)
    for index, (_, _, begins, indent) in enumerate(rows):
        while open_ and rows[open_[-1]][3] >= indent:
            ends[open_.pop()] = begins - 1
        open_.append(index)
    return [
        Symbol(name, "variable" if kind in _VARIABLE else kind, begins, end)
        for (name, kind, begins, _), end in zip(rows, ends, strict=True)
    ]
