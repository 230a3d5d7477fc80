"""What an operator may look at: one statement, the names in scope there, the file around it."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from bridle.repair.localise import own_nodes
from bridle.repair.source import Definition, Edit, Function, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

BUILTINS = frozenset(dir(builtins))
ATOMS = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Call,
    ast.Constant,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.JoinedStr,
)
LONGEST = 80
LOOSE_PARENTS = (ast.Call, ast.keyword, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Values that the failing tests and their messages mention."""

    numbers: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()
    swaps: tuple[tuple[str, str], ...] = ()
    """Pairs of (got, wanted) pieces of text, from failed comparisons."""


class Vocabulary:
    """What the file is made of: the best place to find what is missing in it."""

    def __init__(self, source: Source) -> None:
        self.names: Counter[str] = Counter()
        self.attributes: Counter[str] = Counter()
        self.by_base: dict[str, Counter[str]] = {}
        self.calls: dict[str, list[ast.Call]] = {}
        self.assigned: dict[str, Counter[str]] = {}
        self.numbers: Counter[str] = Counter()
        self.strings: Counter[str] = Counter()
        self.exceptions: Counter[str] = Counter()
        self.decorators: Counter[str] = Counter()
        self.keywords: dict[str, Counter[str]] = {}
        self.parameters: dict[str, list[str]] = {}
        self.expressions: list[tuple[int, str]] = []
        self.loops: list[tuple[str, str]] = []
        self.global_names = _global_names(source)
        for node in ast.walk(source.tree):
            self._add(node, source)
            self._add_expression(node, source)
        for name in self.global_names:
            self.global_names[name] = self.names[name]

    def _add(self, node: ast.AST, source: Source) -> None:
        match node:
            case ast.Name():
                self.names[node.id] += 1
            case ast.Attribute():
                self.attributes[node.attr] += 1
                if isinstance(node.value, ast.Name):
                    self.by_base.setdefault(node.value.id, Counter())[node.attr] += 1
            case ast.Call():
                self._add_call(node)
            case ast.Constant():
                self._add_constant(node, source)
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                self._add_assignment(node, source)
            case ast.Raise() | ast.ExceptHandler():
                for kind in error_names(node):
                    self.exceptions[source.segment(kind)] += 1
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._add_function(node, source)
            case ast.ClassDef():
                for decorator in node.decorator_list:
                    self.decorators[source.segment(decorator)] += 1
            case _:
                pass

    def _add_expression(self, node: ast.AST, source: Source) -> None:
        if isinstance(node, ast.For | ast.comprehension):
            text = source.segment(node.iter)
            if len(text) < LONGEST:
                self.loops.append((source.segment(node.target), text))
        if not isinstance(node, ast.Call | ast.Attribute | ast.BinOp | ast.Subscript):
            return
        if not isinstance(getattr(node, "ctx", None), ast.Store):
            text = source.segment(node)
            if len(text) <= LONGEST and "\n" not in text:
                self.expressions.append((node.lineno, text))

    def _add_call(self, node: ast.Call) -> None:
        name = callee(node)
        self.calls.setdefault(name, []).append(node)
        for keyword in node.keywords:
            if keyword.arg:
                self.keywords.setdefault(name, Counter())[keyword.arg] += 1

    def _add_constant(self, node: ast.Constant, source: Source) -> None:
        if isinstance(node.value, bool) or node.value is None:
            return
        if isinstance(node.value, int | float):
            self.numbers[source.segment(node)] += 1
        elif isinstance(node.value, str) and len(node.value) <= 60:
            self.strings[source.segment(node)] += 1

    def _add_assignment(
        self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr, source: Source
    ) -> None:
        if node.value is None:
            return
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        text = source.segment(node.value)
        if len(text) > 120:
            return
        for target in targets:
            self.assigned.setdefault(last_name(target), Counter())[text] += 1

    def _add_function(self, node: Function, source: Source) -> None:
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.parameters[node.name] = [a.arg for a in every if a.arg not in {"self", "cls"}]
        for decorator in node.decorator_list:
            self.decorators[source.segment(decorator)] += 1


@dataclass(frozen=True)
class Site:
    """One statement, ready to be edited."""

    source: Source
    node: ast.AST
    vocabulary: Vocabulary
    hints: Hints = field(default_factory=Hints)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of the statement's own header."""
        return [n for n in own_nodes(self.node) if hasattr(n, "lineno") and not self._hidden(n)]

    def _hidden(self, node: ast.AST) -> bool:
        """Pieces of f-strings have no exact place before Python 3.12; docstrings have no effect."""
        if self.source.enclosing(node, ast.JoinedStr) is not None:
            return True
        return isinstance(self.node, ast.Expr) and isinstance(self.node.value, ast.Constant)

    @cached_property
    def function(self) -> Function | None:
        """The function that the statement stands in."""
        return self.source.function_of(self.node)

    @cached_property
    def local_names(self) -> Counter[str]:
        """Parameters and variables of the enclosing functions, with how often they are used."""
        found: Counter[str] = Counter()
        function = self.node if isinstance(self.node, Function) else self.function
        while function is not None:
            args = function.args
            for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]:
                found[arg.arg] += 1
            for extra in (args.vararg, args.kwarg):
                if extra is not None:
                    found[extra.arg] += 1
            bound = {
                n.id
                for n in ast.walk(function)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and (node.id in bound or node.id in found):
                    found[node.id] += 1
            function = self.source.function_of(function)
        return found

    @property
    def global_names(self) -> Counter[str]:
        """Names of the module, by how often the file uses them."""
        return self.vocabulary.global_names

    def text(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.source.segment(node)

    def replace(self, node: ast.AST, new: str, kind: str, weight: float) -> Edit:
        """An edit that puts other text in the place of a node."""
        start, end = self.source.span(node)
        return self.change(start, end, new, kind, weight)

    def change(self, start: int, end: int, new: str, kind: str, weight: float) -> Edit:
        """An edit of any range of the file."""
        line: int = getattr(self.node, "lineno", 1)
        return Edit(
            path=self.source.path,
            start=start,
            end=end,
            new=new,
            kind=kind,
            weight=weight,
            line=line,
        )

    def operand(self, node: ast.AST) -> str:
        """The text of a node, in parentheses unless it binds tighter than any operator."""
        text = self.text(node)
        return text if isinstance(node, ATOMS) else f"({text})"

    def fitted(self, text: str, node: ast.AST) -> str:
        """Text to stand in a node's place, in parentheses where the place may need them."""
        parent = self.source.parents.get(node)
        simple = re.fullmatch(r"[\w.]+(\(\w*\))?", text) is not None
        loose = isinstance(parent, LOOSE_PARENTS) or simple
        if isinstance(parent, ast.Call) and parent.func is node:
            loose = bool(re.fullmatch(r"[\w.]+", text))
        return text if loose else f"({text})"

    def token(self, before: ast.AST, after: ast.AST, words: str) -> tuple[int, int] | None:
        """Where an operator stands between two operands."""
        _, start = self.source.span(before)
        end, _ = self.source.span(after)
        return self.find(start, end, words)

    def find(self, start: int, end: int, words: str) -> tuple[int, int] | None:
        """Where words stand in a range of the text that holds no string; comments are skipped."""
        gap = re.sub(r"#[^\n]*", lambda m: " " * len(m.group()), self.source.text[start:end])
        pattern = r"\s+".join(re.escape(word) for word in words.split())
        if words[0].isalpha():
            pattern = rf"\b{pattern}\b"
        hit = re.search(pattern, gap)
        return (start + hit.start(), start + hit.end()) if hit else None


def _global_names(source: Source) -> Counter[str]:
    bound: set[str] = set()
    for node in source.tree.body:
        if isinstance(node, Definition):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(a.asname or a.name).split(".")[0] for a in node.names}
        else:
            names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            bound |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return Counter(bound - {"*"})


def error_names(node: ast.AST) -> list[ast.expr]:
    """The exceptions that a statement raises or catches."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        return [node.exc.func if isinstance(node.exc, ast.Call) else node.exc]
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        return list(node.type.elts) if isinstance(node.type, ast.Tuple) else [node.type]
    return []


def callee(node: ast.Call) -> str:
    """The last part of the name that is called."""
    return last_name(node.func)


def last_name(node: ast.AST) -> str:
    """`c` for `a.b.c`, `x` for `x` and `x[0]`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript):
        return last_name(node.value)
    return ""


def ordered(counter: Counter[str], *, but: Iterable[str] = (), limit: int) -> list[str]:
    """The most common entries, ties by name, so that every run proposes the same."""
    skip = set(but)
    items = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return [name for name, _ in items if name not in skip][:limit]
