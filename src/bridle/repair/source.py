"""A file as text and as a syntax tree, with exact character ranges for every node."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import UnionType

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Body = list[ast.stmt]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace the characters from `start` to `end` by `new`; everything else stays as it is."""

    path: str
    start: int
    end: int
    new: str
    kind: str
    weight: float
    line: int


@dataclass(frozen=True)
class Source:
    """One parsed file; raises SyntaxError when it is not Python."""

    path: str
    text: str
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", ast.parse(self.text))

    @cached_property
    def lines(self) -> list[str]:
        """The lines with their ends, split as the compiler does."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        text = self.text
        index = 0
        while index < len(text):
            char = text[index]
            if char == "\n" or (char == "\r" and text[index + 1 : index + 2] != "\n"):
                starts.append(index + 1)
            index += 1
        return starts

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of every node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def offset(self, line: int, column: int) -> int:
        """Turn a line and a UTF-8 column into an index into the text."""
        start = self._starts[line - 1]
        words = self.lines[line - 1]
        if not words.isascii():
            column = len(words.encode()[:column].decode(errors="ignore"))
        return start + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The characters of a node; decorators are not part of a definition."""
        at: ast.expr = node  # type: ignore[assignment]
        assert at.end_lineno is not None
        assert at.end_col_offset is not None
        return (
            self.offset(at.lineno, at.col_offset),
            self.offset(at.end_lineno, at.end_col_offset),
        )

    def segment(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def line_start(self, line: int) -> int:
        """Where a line begins."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def indent(self, node: ast.stmt) -> str:
        """The white space before a statement that begins its line."""
        words = self.lines[node.lineno - 1]
        return words[: len(words) - len(words.lstrip())]

    def begins_line(self, node: ast.stmt) -> bool:
        """Tell whether nothing but white space stands before the statement."""
        return not self.lines[node.lineno - 1].encode()[: node.col_offset].strip()

    def enclosing(self, node: ast.AST, kinds: type[ast.AST] | UnionType) -> ast.AST | None:
        """The nearest ancestor of one of these kinds."""
        current = self.parents.get(node)
        while current is not None and not isinstance(current, kinds):
            current = self.parents.get(current)
        return current

    def function_of(self, node: ast.AST) -> Function | None:
        """The function whose body or header holds the node."""
        found = self.enclosing(node, Function)
        return found if isinstance(found, Function) else None

    def block_of(self, statement: ast.stmt) -> Body | None:
        """The list of statements that this one stands in."""
        parent = self.parents.get(statement)
        if parent is None:
            return None
        for name in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return None

    @cached_property
    def statements(self) -> list[tuple[ast.AST, int, int]]:
        """Every statement and except clause with the first and last line of its own header."""
        kinds = ast.stmt | ast.ExceptHandler | ast.match_case
        found = [(n, *header_lines(n)) for n in ast.walk(self.tree) if isinstance(n, kinds)]
        return sorted(found, key=lambda item: (item[1], item[2]))


def header_lines(node: ast.AST) -> tuple[int, int]:
    """The lines of a statement without the statements inside it."""
    if isinstance(node, ast.match_case):
        first = node.pattern.lineno
        return first, max(first, node.body[0].lineno - 1)
    at: ast.stmt = node  # type: ignore[assignment]
    first = at.lineno
    if isinstance(node, Definition) and node.decorator_list:
        first = min(d.lineno for d in node.decorator_list)
    last = at.end_lineno or at.lineno
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        inner = body[0]
        start = inner.lineno
        if isinstance(inner, Definition) and inner.decorator_list:
            start = min(d.lineno for d in inner.decorator_list)
        last = max(at.lineno, start - 1)
    elif isinstance(node, ast.Match):
        last = max(at.lineno, node.cases[0].pattern.lineno - 1)
    return first, last


def apply(text: str, edit: Edit) -> str:
    """The text with the edit made."""
    return text[: edit.start] + edit.new + text[edit.end :]
