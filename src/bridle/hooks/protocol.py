"""What a hook answers, read strictly: an answer that is not understood is a failure, not a yes.

A command answers by its exit code (0 goes on, 2 blocks with standard error as the reason, anything
else is a failure) or by a JSON object on standard output; a URL by such an object; a function by a
`HookResult`, such an object as a dict, a bool, or for a transform the new text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import BridleError
from bridle.hooks.define import HookResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.hooks.define import Bound, Decision
    from bridle.ports.processes import ProcessResult

BLOCKS = 2
LONGEST_TEXT = 64 * 1024
SPEAKING = frozenset({"conversation:start", "conversation:message"})
"""Moments at which a command's plain output is told to the model."""

WITH_ARGUMENTS = frozenset({"tool:before_call", "agent:fork", "plan:create"})

_DECISIONS: dict[str, Decision] = {
    "approve": "allow", "allow": "allow", "ask": "ask", "defer": "ask", "deny": "deny",
    "block": "block",
}  # fmt: skip
_TOP = frozenset(
    {"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason",
     "hookSpecificOutput", "args", "text", "context", "halt"}
)  # fmt: skip
_SPECIFIC = frozenset(
    {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput",
     "additionalContext", "updatedToolOutput", "updatedMCPToolOutput", "updatedPrompt", "decision"}
)  # fmt: skip


class HookFailed(BridleError):
    """A hook did not answer, or not in a way that can be understood."""


def of_process(bound: Bound, done: ProcessResult) -> HookResult:
    """Read how a command ended and what it wrote."""
    told = done.stderr.strip()
    if done.timed_out:
        raise HookFailed(f"it did not end within {bound.hook.timeout:g} s and was stopped")
    if done.killed is not None:
        raise HookFailed("; ".join(done.notes) or f"it was stopped: {done.killed}")
    if done.exit_code == BLOCKS:
        return HookResult(decision="block", reason=told or "it exited with code 2")
    if done.exit_code != 0:
        why = told.splitlines()[-1] if told else "it wrote nothing to standard error"
        raise HookFailed(f"it exited with code {done.exit_code}: {why}")
    return of_text(bound, done.stdout)


def of_text(bound: Bound, text: str) -> HookResult:
    """Read an answer in writing: a JSON object, or words."""
    words = text.strip()
    if not words.startswith("{"):
        speaks = bound.event in SPEAKING and bound.type in ("before", "after")
        return HookResult(context=words) if words and speaks else HookResult()
    try:
        answer = msgspec.json.decode(words, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise HookFailed(f"its answer is not a JSON object: {error}") from error
    return of_object(answer)


def of_value(bound: Bound, value: Any) -> HookResult:
    """Read what a function returned."""
    match value:
        case None | True:
            return HookResult()
        case False:
            return HookResult(decision="block", reason="it said no")
        case HookResult():
            return value
        case str() if bound.type == "transform":
            return HookResult(text=value)
        case dict():
            return of_object(value)
        case _:
            raise HookFailed(f"it returned a {type(value).__name__}, not a HookResult")


def of_object(answer: Mapping[str, Any]) -> HookResult:
    """Read an answer with named fields; a field that does not exist is a failure."""
    specific = answer.get("hookSpecificOutput") or {}
    if not isinstance(specific, dict):
        raise HookFailed("hookSpecificOutput is not an object")
    for name in (*(set(answer) - _TOP), *(set(specific) - _SPECIFIC)):
        raise HookFailed(f"its answer has an unknown field {name!r}")
    nested = specific.get("decision")
    inner = nested if isinstance(nested, dict) else {}
    said = specific.get("permissionDecision") or inner.get("behavior") or answer.get("decision")
    halts = answer.get("continue") is False or answer.get("halt") is True
    reason = (
        specific.get("permissionDecisionReason")
        or inner.get("message")
        or answer.get("reason")
        or (answer.get("stopReason") if halts else None)
    )
    return HookResult(
        decision=None if said is None else _decision(said),
        reason=_text("reason", reason),
        args=_args(specific.get("updatedInput") or inner.get("updatedInput") or answer.get("args")),
        text=_text("text", _first(specific, answer)),
        context=_text("context", specific.get("additionalContext") or answer.get("context")),
        halt=halts,
    )


def _first(specific: Mapping[str, Any], answer: Mapping[str, Any]) -> Any:
    for name in ("updatedToolOutput", "updatedMCPToolOutput", "updatedPrompt"):
        if specific.get(name) is not None:
            return specific[name]
    return answer.get("text")


def _decision(said: Any) -> Decision:
    if not isinstance(said, str) or said not in _DECISIONS:
        raise HookFailed(f"its decision {said!r} is none of {', '.join(_DECISIONS)}")
    return _DECISIONS[said]


def _args(value: Any) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    raise HookFailed("the changed arguments are not an object")


def _text(what: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise HookFailed(f"its {what} is not a text")
    return value


def clipped(said: HookResult) -> HookResult:
    """The answer with texts of a length that a log and a model can bear."""
    texts = {name: getattr(said, name) for name in ("reason", "text", "context")}
    cut = {
        name: f"{text[:LONGEST_TEXT]}\n[cut after {LONGEST_TEXT} characters]"
        for name, text in texts.items()
        if text is not None and len(text) > LONGEST_TEXT
    }
    return msgspec.structs.replace(said, **cut) if cut else said


def within_its_type(bound: Bound, said: HookResult) -> HookResult:
    """What a hook of this type may say; a wish that it cannot have is a failure, not a silence."""
    match bound.type:
        case "observe":
            return HookResult()
        case "after":
            if said.args is not None or said.text is not None:
                raise HookFailed("an after hook cannot change anything; use a transform hook")
            blocked = said.reason if said.decision in ("block", "deny") else None
            return HookResult(context=said.context or blocked, halt=said.halt, reason=said.reason)
        case "transform":
            if said.decision in ("block", "deny", "ask"):
                raise HookFailed(f"a transform hook cannot decide; it said {said.decision}")
        case "validate":
            if said.args is not None or said.text is not None:
                raise HookFailed("a validate hook cannot change anything; use a transform hook")
        case "before":
            if said.text is not None:
                raise HookFailed("a before hook cannot change texts; use a transform hook")
    if said.args is not None and bound.event not in WITH_ARGUMENTS:
        raise HookFailed(f"there are no arguments to change at {bound.event}")
    return said
