"""Candidates in the order in which they are worth trying."""

from __future__ import annotations

import ast
import math
import re
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bridle.repair.live import live_value
from bridle.repair.operators import ELABORATE, SIMPLE
from bridle.repair.operators.site import BUILTINS, Hints, Site, Vocabulary
from bridle.repair.source import Edit, Source, apply, header_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridle.repair.localise import Suspect
    from bridle.repair.tests_runner import Lines

COLD_SHARE = 0.6
"""A fresh import costs many forks: such a candidate must be that much better to be tried first."""
AGAIN_SHARE = 0.5
"""What was tried in place and did not help is worth a fresh import only later."""
SUSPICION_POWER = 0.8
WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An edit with its place in the order; `hot` when only function bodies change."""

    edit: Edit
    score: float
    hot: bool
    source: Source
    first: int
    last: int
    live: dict[str, Any] | None = None
    """A value to put in place of the old one, where that is all that changes."""

    @property
    def text(self) -> str:
        """The whole file with the edit made."""
        return apply(self.source.text, self.edit)

    @property
    def size(self) -> int:
        """How much text changes."""
        return len(self.edit.new) + self.edit.end - self.edit.start


def candidates(
    suspects: Iterable[Suspect], *, hints: Hints, import_lines: Lines, limit: int
) -> list[Candidate]:
    """Every edit of every suspicious statement, best first, each resulting text once."""
    vocabularies: dict[str, Vocabulary] = {}
    found: dict[tuple[str, int, int, str], Candidate] = {}
    live: dict[tuple[str, int, int, str], Candidate] = {}
    for suspect in suspects:
        source = suspect.source
        if source.path not in vocabularies:
            vocabularies[source.path] = Vocabulary(source)
        site = Site(source, suspect.node, vocabularies[source.path], hints)
        hot = is_hot(site, import_lines)
        base = math.pow(suspect.score, SUSPICION_POWER) * (1.0 if hot else COLD_SHARE)
        first, last = reach(site)
        for edit in edits(site, elaborate=len(found) < limit):
            if source.text[edit.start : edit.end] == edit.new:
                continue
            score = base * edit.weight * naturalness(site, edit)
            key = normalised(source, edit)
            if key not in found or found[key].score < score:
                made = Candidate(
                    edit=edit, score=score, hot=hot, source=source, first=first, last=last
                )
                found[key] = made
                live.pop(key, None)
                if not hot and (value := live_value(site, edit)) is not None:
                    live[key] = replace(made, hot=True, live=value, score=score / COLD_SHARE)
                    found[key] = replace(made, score=score * AGAIN_SHARE)
        if len(found) >= 2 * limit:
            break
    # a default is what its function has; a constant may have been used before it was replaced
    again = [c for key, c in found.items() if key not in live or not _is_default(live[key])]
    return sorted(
        [*again, *live.values()], key=lambda c: (-c.score, c.edit.path, c.edit.start, c.edit.new)
    )


def _is_default(candidate: Candidate) -> bool:
    return candidate.live is not None and candidate.live["value"] == "default"


def edits(site: Site, *, elaborate: bool = True) -> Iterator[Edit]:
    """Everything that the operators propose for one statement."""
    for operator in (*SIMPLE, *ELABORATE) if elaborate else SIMPLE:
        yield from operator(site)


def normalised(source: Source, edit: Edit) -> tuple[str, int, int, str]:
    """The same for edits that give the same text: without what both sides share at their ends."""
    old, new = source.text[edit.start : edit.end], edit.new
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return edit.path, edit.start + head, edit.end - tail, new[head : len(new) - tail]


def naturalness(site: Site, edit: Edit) -> float:
    """Prefer words that the function already uses, then those of the file; distrust long edits."""
    words = set(WORD.findall(edit.new)) - set(WORD.findall(site.source.text[edit.start : edit.end]))
    share = 1.0
    for word in words:
        if word in site.local_names:
            continue
        share *= 0.95 if word in BUILTINS or word in site.vocabulary.names else 0.85
    return share * (1.0 if len(edit.new) < 60 else 0.8)


def is_hot(site: Site, import_lines: Lines) -> bool:
    """Tell whether the statement runs only when a function is called, and never at import."""
    if site.function is None:
        return False
    first, last = header_lines(site.node)
    seen = import_lines.get(site.source.path, set())
    return not any(line in seen for line in range(first, last + 1))


def reach(site: Site) -> tuple[int, int]:
    """The lines whose tests an edit can change: those of the outermost function, else all."""
    outer = site.function
    while outer is not None and (above := site.source.function_of(outer)) is not None:
        outer = above
    if outer is None:
        return 1, len(site.source.lines)
    return outer.body[0].lineno, outer.end_lineno or outer.lineno


def segment(source: Source, edit: Edit) -> tuple[int, str, str]:
    """The top-level statement around an edit: its first line, its text before and after."""
    for node in source.tree.body:
        first = node.lineno
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        if decorators:
            first = min(d.lineno for d in decorators)
        start = source.line_start(first)
        end = source.line_start((node.end_lineno or node.lineno) + 1)
        if start <= edit.start and edit.end <= end:
            old = source.text[start:end]
            new = old[: edit.start - start] + edit.new + old[edit.end - start :]
            return first, old, new
    return 1, source.text, apply(source.text, edit)


def hot_order(candidate: Candidate, root: str) -> dict[str, Any]:
    """What a forked child needs to put the edited code in place."""
    path = f"{root}/{candidate.source.path}"
    if candidate.live is not None:
        return {"path": path, **candidate.live}
    line, old, new = segment(candidate.source, candidate.edit)
    future = [
        alias.name
        for node in candidate.source.tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    ]
    return {"path": path, "line": line, "old": old, "new": new, "future": future}


def parses(candidate: Candidate) -> bool:
    """Tell whether the edited text is Python; the child of a hot candidate finds out itself."""
    if candidate.hot:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(candidate.text, "<edit>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
