"""What the failing tests say: the values they mention, what they got and what they wanted."""

from __future__ import annotations

import ast
import re
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from bridle.repair.operators.site import Hints
from bridle.repair.workspace import is_test_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridle.repair.tests_runner import Baseline, TestRun

QUOTED = r"(?:'(?:[^'\\\n]|\\.){0,200}'|\"(?:[^\"\\\n]|\\.){0,200}\")"
COMPARED = re.compile(rf"({QUOTED})\s*(?:==|!=|is not|not in|in)\s*({QUOTED})")
NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,6})?(?![\w.])")
TESTS = 12
VALUES = 24


def read_hints(root: Path, baseline: Baseline) -> Hints:
    """Collect values from the messages and the source of failing tests, the frequent first."""
    numbers: Counter[str] = Counter()
    strings: Counter[str] = Counter()
    swaps: dict[tuple[str, str], None] = {}
    runs = [baseline.runs[t] for t in baseline.failing[:TESTS]]
    runs += list(baseline.errors.values())[:TESTS]
    for run in runs:
        for text in NUMBER.findall(run.message):
            numbers[text] += 1
        for quoted in re.findall(QUOTED, run.message):
            _count(quoted, strings)
        for one, other in COMPARED.findall(run.message):
            for pair in _pairs(one, other):
                swaps[pair] = None
    for value in _literals(root, runs):
        if isinstance(value, str) and 0 < len(value) <= 60:
            strings[value] += 1
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers[repr(value)] += 1
    return Hints(
        numbers=tuple(text for text, _ in numbers.most_common(VALUES)),
        strings=tuple(text for text, _ in strings.most_common(VALUES)),
        swaps=tuple(swaps)[:VALUES],
    )


def _count(quoted: str, into: Counter[str]) -> None:
    value = _value(quoted)
    if value is not None and 0 < len(value) <= 60:
        into[value] += 1


def _value(quoted: str) -> str | None:
    try:
        value = ast.literal_eval(quoted)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, str) else None


def _pairs(one: str, other: str) -> Iterable[tuple[str, str]]:
    """The differing pieces of two strings, both ways round: either may be the wanted one."""
    left, right = _value(one), _value(other)
    if left is None or right is None:
        return
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    pieces = [
        (left[a:b], right[c:d]) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"
    ]
    for got, wanted in [(left, right), *pieces[:6]]:
        yield got, wanted
        yield wanted, got


def _literals(root: Path, runs: list[TestRun]) -> Iterable[object]:
    """Constants of the test functions that the tracebacks pass through."""
    seen: set[tuple[str, int]] = set()
    trees: dict[str, ast.Module | None] = {}
    for run in runs:
        for path, line in run.frames:
            if not is_test_file(path):
                continue
            if path not in trees:
                trees[path] = _parsed(root / path)
            tree = trees[path]
            for node in ast.walk(tree) if tree is not None else ():
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                inside = node.lineno <= line <= (node.end_lineno or node.lineno)
                if inside and (path, node.lineno) not in seen:
                    seen.add((path, node.lineno))
                    yield from (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
