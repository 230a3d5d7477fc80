"""`embedded/repair`: the repair agent as a model, a state machine over the conversation.

It keeps no state: what to say next follows from the messages alone, so a run can be killed,
replayed or continued elsewhere. First it calls `try_edits`; then it makes the edits of the report
with the ordinary `edit_file`; then it says what was wrong, or that it could not fix it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ModelError
from bridle.ports.model import CallDelta, CallStart, Finish, StreamPart, TextDelta
from bridle.repair.report import RepairReport
from bridle.types.content import ToolCall, ToolResult
from bridle.types.ledger import Price
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bridle.ports.model import ModelRequest
    from bridle.types.messages import Message

MODEL_ID = "embedded/repair"
TRY_EDITS = "try_edits"
EDIT_FILE = "edit_file"
WHAT_WAS_WRONG = {
    "comparison": "a comparison used the wrong operator",
    "boundary": "a comparison was off by one",
    "arithmetic": "the wrong arithmetic operator",
    "operands": "the operands of an expression were wrong",
    "unary": "a sign or a negation was wrong",
    "augmented": "an assignment used the wrong operator",
    "boolean": "`and` and `or` were mixed up",
    "negation": "a condition was the wrong way round",
    "condition": "a part of a condition was too much",
    "missing condition": "a part of a condition was missing",
    "number": "a number was wrong",
    "flag": "a constant was wrong",
    "text": "a text was wrong",
    "letter": "a text was wrong",
    "pattern": "a pattern was wrong",
    "variable": "the wrong variable was used",
    "attribute": "the wrong attribute or method was used",
    "index": "an index was wrong",
    "slice": "the bounds of a slice were wrong",
    "range": "the bounds of a range were wrong",
    "exchanged arguments": "arguments were in the wrong order",
    "missing argument": "an argument was missing",
    "extra argument": "an argument was too much",
    "argument": "an argument was wrong",
    "missing call": "a call was missing",
    "extra call": "a call was too much",
    "missing return": "a value was not returned",
    "missing guard": "a case was not guarded against",
    "exception": "the wrong exception was named",
    "initial value": "a variable started with the wrong value",
    "assigned value": "the wrong value was assigned",
    "returned value": "the wrong value was returned",
    "loop": "a loop ran over the wrong thing",
    "jump": "a loop was left or went on at the wrong point",
    "order": "two statements were in the wrong order",
    "indentation": "a statement stood in the wrong block",
    "extra statement": "a statement was too much",
    "decorator": "a decorator was missing or wrong",
    "default argument": "a default argument was wrong",
}


class RepairModel:
    """A model that needs no key, no network and no tokens."""

    id = MODEL_ID
    context_window: int | None = None
    price: Price | None = Price()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer with the next step of the repair."""
        calls, results = current_turn(request.messages)
        tried = next((c for c in reversed(calls) if c.tool == TRY_EDITS), None)
        if tried is None:
            offered = {tool.name for tool in request.tools}
            if offered and TRY_EDITS not in offered:
                raise ModelError(
                    f"{MODEL_ID} needs the tool {TRY_EDITS}; this harness does not offer it.",
                    kind="bad_request",
                    provider="embedded",
                )
            for part in said("I run the tests, look for the bug and try repairs.", TRY_EDITS, [{}]):
                yield part
            return
        for part in after_report(tried, calls, results):
            yield part


def current_turn(
    messages: Sequence[Message],
) -> tuple[list[ToolCall], dict[str, ToolResult]]:
    """The calls since the user last spoke, and their results by call."""
    calls: list[ToolCall] = []
    results: dict[str, ToolResult] = {}
    for message in messages:
        if message.role == "user":
            calls, results = [], {}
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls.append(part)
            elif isinstance(part, ToolResult):
                results[part.call_id] = part
    return calls, results


def after_report(
    tried: ToolCall, calls: list[ToolCall], results: dict[str, ToolResult]
) -> list[StreamPart]:
    """What follows from the report: edits, or the closing words."""
    result = results.get(tried.id)
    report = read_report(result)
    if report is None:
        reason = result.text if result is not None else "the tool gave no result"
        return said(f"Not fixed: the repair could not run.\n\n{reason}")
    if report.status != "fixed":
        return said(unfixed(report))
    made = [c for c in calls if c.tool == EDIT_FILE]
    failed = [results[c.id] for c in made if c.id in results and results[c.id].is_error]
    if failed:
        return said(f"Not fixed: the edit was not made.\n\n{failed[0].text}\n\n{report.diff}")
    if len(made) < len(report.patch):
        edits = [msgspec.to_builtins(part) for part in report.patch[len(made) :]]
        return said(f"{report.message} I make the edit.", EDIT_FILE, edits[:1])
    return said(fixed(report))


def read_report(result: ToolResult | None) -> RepairReport | None:
    """The report in a tool result, if it is one."""
    if result is None or result.is_error:
        return None
    try:
        return msgspec.json.decode(result.text, type=RepairReport)
    except msgspec.DecodeError:
        return None


def fixed(report: RepairReport) -> str:
    """The closing words for a repair."""
    causes = [WHAT_WAS_WRONG.get(kind, kind) for kind in report.kinds]
    where = ", ".join(sorted({part.path for part in report.patch}))
    return (
        f"Fixed. What was wrong: {'; '.join(causes)} in {where}.\n\n"
        f"```diff\n{report.diff}\n```\n\n"
        f"All {report.tests} tests pass with it, checked on a clean copy in a fresh process; "
        f"{report.failed} failed before. {report.tried} edits were tried in {report.seconds:.0f} s."
    )


def unfixed(report: RepairReport) -> str:
    """The closing words when there is no repair."""
    if report.status != "not_fixed":
        return report.message
    lines = [report.message]
    if report.suspicious:
        lines += ["", "The most suspicious lines:"]
        lines += [f"- {s.path}:{s.line}  {s.text}" for s in report.suspicious]
    lines += ["", "No file was changed."]
    return "\n".join(lines)


def said(
    text: str, tool: str | None = None, args: Sequence[dict[str, Any]] = ()
) -> list[StreamPart]:
    """Text, and calls of one tool."""
    parts: list[StreamPart] = [TextDelta(text)]
    for index, arguments in enumerate(args):
        parts.append(CallStart(index, tool or ""))
        parts.append(CallDelta(index, msgspec.json.encode(arguments).decode()))
    stop = "tool_use" if args else "end_turn"
    parts.append(Finish(stop=stop, usage=Usage(), model=MODEL_ID))  # type: ignore[arg-type]
    return parts
