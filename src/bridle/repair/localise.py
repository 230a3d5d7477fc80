"""Where the bug may be: statements that run in failing tests and not in passing ones."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridle.repair.source import Definition, Function, Source
from bridle.repair.workspace import is_test_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.repair.tests_runner import Baseline, Lines

Place = tuple[str, int]
INDIRECT = 0.45
"""What a definition at import time inherits from the code that uses it."""
DEFAULTS = 0.7
"""What the header of a function inherits from its body, where it has default arguments."""
BRANCHES = ast.If | ast.While | ast.For | ast.Match | ast.match_case
LED_THERE = 0.9
"""What a condition inherits from a statement in its branches."""
RAISED = 0.6


@dataclass(frozen=True, slots=True)
class Suspect:
    """A statement and how suspicious it is, from 0 to 1."""

    source: Source
    node: ast.AST
    line: int
    score: float


def line_scores(baseline: Baseline) -> dict[Place, float]:
    """Score lines by Ochiai and DStar over the spectra, raised where tracebacks point."""
    failing = [t for t in baseline.failing if t in baseline.coverage]
    passing = [t for t in baseline.passing if t in baseline.coverage]
    ran_failing = _counts(baseline, failing)
    ran_passing = _counts(baseline, passing)
    scores = {}
    total = max(1, len(failing))
    for place, bad in ran_failing.items():
        good = ran_passing.get(place, 0)
        ochiai = bad / math.sqrt(total * (bad + good))
        dstar = bad**2 / (good + total - bad) if good + total - bad else math.inf
        scores[place] = 0.75 * ochiai + 0.25 * (dstar / (dstar + 2) if dstar < math.inf else 1.0)
    if baseline.errors:
        _blame_imports(scores, baseline)
    _raise_by_tracebacks(scores, baseline)
    return scores


def _blame_imports(scores: dict[Place, float], baseline: Baseline) -> None:
    """Where tests cannot be collected, what ran at import is all there is to suspect."""
    named = {path for run in baseline.errors.values() for path, _ in run.frames}
    for path, lines in baseline.import_lines.items():
        if not is_test_file(path):
            for line in lines:
                known = scores.get((path, line), 0.0)
                scores[path, line] = max(known, 0.2 if path in named else 0.1)


def _counts(baseline: Baseline, tests: Iterable[str]) -> dict[Place, int]:
    counts: dict[Place, int] = {}
    for test in tests:
        for path, lines in baseline.coverage[test].items():
            if is_test_file(path):
                continue
            for line in lines:
                counts[path, line] = counts.get((path, line), 0) + 1
    return counts


def _raise_by_tracebacks(scores: dict[Place, float], baseline: Baseline) -> None:
    """The line that raised is a better hint than any count, its callers a weaker one."""
    runs = [baseline.runs[t] for t in baseline.failing] + list(baseline.errors.values())
    best: dict[Place, float] = {}
    for run in runs:
        frames = [f for f in run.frames if not is_test_file(f[0])]
        for depth, place in enumerate(reversed(frames)):
            bonus = 0.5 if depth == 0 else max(0.05, 0.3 / depth)
            best[place] = max(best.get(place, 0.0), bonus)
    for place, bonus in best.items():
        known = scores.get(place, 0.3)
        scores[place] = known + (1 - known) * bonus


def rank_statements(sources: dict[str, Source], baseline: Baseline) -> list[Suspect]:
    """List the statements worth editing, the most suspicious first."""
    scores = line_scores(baseline)
    _blame_callees(scores, sources, baseline)
    direct: dict[ast.AST, Suspect] = {}
    for path, source in sources.items():
        for node, first, last in source.statements:
            if isinstance(node, Definition):
                continue
            found = [scores[path, n] for n in range(first, last + 1) if (path, n) in scores]
            if found:
                direct[node] = Suspect(source, node, first, max(found))
    _blame_conditions(direct)
    suspects = [*direct.values(), *_indirect(sources, direct, baseline.import_lines)]
    return sorted(suspects, key=lambda s: (-s.score, s.source.path, s.line))


def _blame_callees(
    scores: dict[Place, float], sources: dict[str, Source], baseline: Baseline
) -> None:
    """Where an import fails, what the failing lines call has run before and is suspect too."""
    names: set[str] = set()
    for run in baseline.errors.values():
        for path, line in run.frames[-3:]:
            for node, first, last in sources[path].statements if path in sources else ():
                if first <= line <= last:
                    names |= _names(node)
    for path, source in sources.items():
        ran = baseline.import_lines.get(path, _NOTHING) if names else _NOTHING
        for node, _, _ in source.statements if ran else ():
            if isinstance(node, Function) and node.name in names:
                for line in ran & set(range(node.body[0].lineno, (node.end_lineno or 0) + 1)):
                    scores[path, line] = max(scores.get((path, line), 0.0), 0.6)


def _blame_conditions(direct: dict[ast.AST, Suspect]) -> None:
    """What led to a suspicious statement is nearly as suspicious; a `raise` only did its duty."""
    for node, suspect in list(direct.items()):
        share = 1.0
        current = suspect.source.parents.get(node)
        while current is not None and not isinstance(current, Definition):
            if current in direct and isinstance(current, BRANCHES):
                share *= LED_THERE
                known = direct[current]
                if known.score < share * suspect.score:
                    direct[current] = replace(known, score=share * suspect.score)
            current = suspect.source.parents.get(current)
        if isinstance(node, ast.Raise) and share < 1.0:
            direct[node] = replace(suspect, score=RAISED * suspect.score)


def _indirect(
    sources: dict[str, Source], direct: dict[ast.AST, Suspect], import_lines: Lines
) -> list[Suspect]:
    """What runs at import: headers of functions, constants, class attributes, and their makers."""
    used: dict[str, float] = {}
    headers: dict[ast.AST, float] = {}
    for node, suspect in direct.items():
        for name in _names(node):
            used[name] = max(used.get(name, 0.0), suspect.score)
        outer = suspect.source.enclosing(node, Definition)
        while outer is not None:
            headers[outer] = max(headers.get(outer, 0.0), suspect.score)
            outer = suspect.source.enclosing(outer, Definition)
    found = []
    makers: dict[ast.AST | None, float] = {}
    for source in sources.values():
        for node, first, _ in source.statements:
            if node in direct:
                continue
            score = headers.get(node, 0.0)
            if isinstance(node, Function) and (node.args.defaults or node.args.kw_defaults):
                found.append(Suspect(source, node, first, DEFAULTS * score))
                continue
            if source.function_of(node) is None:
                score = max([score, *(used.get(name, 0.0) for name in defined(node))])
            elif first in import_lines.get(source.path, _NOTHING):
                function = source.function_of(node)
                if function not in makers:
                    makers[function] = max(
                        (used.get(n, 0.0) for n in _all_names(function)), default=0
                    )
                score = max(score, makers[function])
            if score:
                found.append(Suspect(source, node, first, INDIRECT * score))
    return found


def _names(node: ast.AST) -> set[str]:
    found = set()
    for child in own_nodes(node):
        if isinstance(child, ast.Name):
            found.add(child.id)
        elif isinstance(child, ast.Attribute):
            found.add(child.attr)
    return found


def _all_names(node: ast.AST | None) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node is not None else set()


_NOTHING: set[int] = set()


def defined(node: ast.AST) -> set[str]:
    """The names that a statement binds or fills."""
    found = set()
    if isinstance(node, Definition):
        found.add(node.name)
    for child in own_nodes(node):
        if isinstance(child, ast.Name) and (
            isinstance(child.ctx, ast.Store) or isinstance(node, ast.Expr | ast.AugAssign)
        ):
            found.add(child.id)
        elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            found.add(child.attr)
    return found


def own_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes of a statement's own header, without the statements inside it."""
    found: list[ast.AST] = []
    todo = [node]
    while todo:
        current = todo.pop()
        found.append(current)
        todo.extend(
            child
            for child in ast.iter_child_nodes(current)
            if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
        )
    return found
