"""Evidence to be read: as text, and as one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from bridle.runs.cost import unsure
from bridle.types.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridle.runs.evidence import Checked, Decided, Evidence

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1b1f;background:#fff}table{border-collapse:collapse;width:100%}td,th{text-align:left;"
    "padding:.25rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}code,pre{font:13px/1.4 "
    "ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}.deny,.failed,.denied{"
    "color:#a3201c}.allow,.verified,.passed,.done{color:#17692f}.ask{color:#8a5a00}"
)


def as_text(found: Evidence) -> str:
    """Evidence as lines for a person."""
    return "\n".join(_lines(found))


def _lines(found: Evidence) -> Iterator[str]:
    yield f"run      {found.run_id}"
    yield f"ended    {ending(found)}"
    yield f"model    {found.model}"
    yield f"from     {found.started_at} to {found.ended_at or '-'}"
    if len(found.runs) > 1:
        yield f"with     {counted(len(found.runs) - 1, 'run')} of subagents"
    yield from _section("asked", [f"{row.what}" for row in found.asked])
    yield from _section("decided", [_decision(row) for row in found.decided])
    yield from _section("changed", [f"{row.status:<9}{row.path}" for row in found.changed])
    if found.changes_from == "calls" and found.changed:
        yield "  (as the calls say; no saved trees could be compared)"
    yield from (f"  not covered: {line}" for line in found.uncovered)
    yield from _section("checked", [_check(row) for row in found.checked])
    yield from _section("spent", spent(found))
    yield from _section("record", record(found))


def _section(title: str, rows: Sequence[str]) -> Iterator[str]:
    yield ""
    yield title
    for row in rows or ["nothing"]:
        first, *rest = row.splitlines() or [""]
        yield f"  {first}"
        yield from (f"    {line}" for line in rest)


def ending(found: Evidence) -> str:
    """How the run ended, in words."""
    if found.reason is None:
        return "not yet"
    why = f": {found.error.message}" if found.error is not None else ""
    return f"{found.reason}, {found.verdict}{why}"


def _decision(row: Decided) -> str:
    answer = f", {row.answer}" if row.answer else ""
    place = f" [{row.source}]" if row.source else ""
    number = row.id.rpartition(".")[2]
    return (
        f"{number:>5} {row.effect + answer:<14} {row.outcome:<8} {row.call}  by {row.rule}{place}"
    )


def _check(row: Checked) -> str:
    return f"{mark(row.passed):<9}{row.name}" + (f"\n{row.said}" if row.said else "")


def mark(passed: bool) -> str:
    """A check's result in a word."""
    return "passed" if passed else "failed"


def spent(found: Evidence) -> list[str]:
    """Tokens and money by model, and together."""
    rows = [
        f"{model}: {counted(total.requests, 'request')}, {total.usage.total_tokens} tokens, "
        f"{total.cost_usd:.4f} USD{unsure(total)}"
        for model, total in found.spent.models.items()
    ]
    total = found.spent.total
    if len(rows) > 1:
        rows.append(
            f"together: {total.usage.total_tokens} tokens, {total.cost_usd:.4f} USD{unsure(total)}"
        )
    return rows


def record(found: Evidence) -> list[str]:
    """Whether the record is whole."""
    known = found.record
    if known.problems:
        return [f"BROKEN: {problem}" for problem in known.problems]
    size = f"{counted(known.events, 'event')} in {counted(known.threads, 'thread')}"
    return [f"whole: {size}, head {known.head}"]


def as_html(found: Evidence) -> str:
    """Evidence as one page; everything in it that came from outside is escaped."""
    verdict = escape(found.verdict or "")
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width,initial-scale=1">',
        f"<title>{escape(found.run_id)}</title><style>{STYLE}</style>",
        f"<h1>{escape(found.task.splitlines()[0] if found.task else found.run_id)}</h1>",
        f"<p class='{verdict}'><b>{escape(ending(found))}</b></p>",
        _facts(found),
        "<h2>Asked</h2>",
        _table(("event", "when", "what"), [(_number(r.id), r.at, r.what) for r in found.asked]),
        "<h2>Decided</h2>",
        _table(
            ("event", "effect", "outcome", "call", "rule", "written"),
            [
                (
                    _number(r.id),
                    r.effect + (f", {r.answer}" if r.answer else ""),
                    r.outcome,
                    r.call,
                    r.rule,
                    r.source or r.layer,
                )
                for r in found.decided
            ],
        ),
        "<h2>Changed</h2>",
        _table(
            ("what", "file", "calls"),
            [(r.status, r.path, ", ".join(r.calls)) for r in found.changed],
        ),
        "<h2>Checked</h2>",
        _table(
            ("check", "result", "exit code", "ms", "said"),
            [
                (r.name, mark(r.passed), str(r.exit_code), str(r.duration_ms), r.said)
                for r in found.checked
            ],
        ),
        "<h2>Spent</h2>",
        _list(spent(found)),
        "<h2>Answer</h2>",
        f"<pre>{escape(found.text)}</pre>",
        "<h2>Record</h2>",
        _list(record(found)),
        "</html>\n",
    ]
    return "\n".join(parts)


def _facts(found: Evidence) -> str:
    return _table(
        (),
        [
            ("run", found.run_id),
            ("thread", found.thread_id),
            ("model", str(found.model)),
            ("from", found.started_at),
            ("to", found.ended_at or "-"),
            ("runs", str(len(found.runs))),
        ],
    )


def _number(event_id: str) -> str:
    return event_id.rpartition(".")[2]


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in headers)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    if not body:
        return "<p>Nothing.</p>"
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def _cell(text: str) -> str:
    kind = text.partition(",")[0]
    known = kind in {"allow", "deny", "ask", "done", "denied", "failed", "passed"}
    return f"<td{f' class={kind}' if known else ''}><code>{escape(text)}</code></td>"


def _list(rows: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li><code>{escape(row)}</code></li>" for row in rows) + "</ul>"
