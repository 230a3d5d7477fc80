"""Matchers, conditions and answers, one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle import Hook, HookResult
from bridle.errors import ConfigError
from bridle.hooks.conditions import read_conditions
from bridle.hooks.define import bind
from bridle.hooks.matching import check_matcher, matches
from bridle.hooks.protocol import HookFailed, of_object, of_text, of_value, within_its_type
from bridle.types.tools import CallFacts


def command(text: str) -> CallFacts:
    return CallFacts(args={"command": text}, command=text, category="execute")


def writes(path: str) -> CallFacts:
    return CallFacts(args={"path": path}, paths=(path,), category="edit")


@pytest.mark.parametrize(
    ("matcher", "tool", "facts", "found"),
    [
        (None, "bash", command("ls"), True),
        ("", "bash", command("ls"), True),
        ("*", "bash", command("ls"), True),
        ("Bash", "bash", command("ls"), True),
        ("execute_command", "bash", command("ls"), True),
        ("Edit|Write", "write_file", writes("/w/a"), True),
        ("Edit|Write", "read_file", CallFacts(), False),
        ("mcp__.*", "mcp__github__issue", CallFacts(), True),
        ("mcp__github__*", "mcp__github__issue", CallFacts(), True),
        ("mcp__.*", "bash", command("ls"), False),
        ("bash(rm:*)", "bash", command("ls"), False),
        ("bash(rm:*)", "bash", command("ls; rm x"), True),
        ("bash(rm:*)", "bash", command("echo $(rm x)"), True),
        ("bash(rm:*)", "bash", command("find . -exec rm {} +"), True),
        ("execute_command:rm *", "bash", command("rm x"), True),
        ("write_file:/etc/**", "write_file", writes("/etc/hosts"), True),
        ("write_file:/etc/**", "write_file", writes("/w/hosts"), False),
        ("bash(git push:*)|bash(a|b:*)", "bash", command("git push"), True),
    ],
)
def test_a_matcher_names_calls(
    matcher: str | None, tool: str, facts: CallFacts, found: bool
) -> None:
    if matcher is not None:
        check_matcher(matcher)
    assert matches(matcher, tool, facts, root="/w", home="/home/x") is found


def test_a_matcher_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        check_matcher("[a-")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"field": "tool_input.path", "equals": "a.py"}, True),
        ({"field": "tool_input.path", "equals": "b.py"}, False),
        ({"field": "tool_input.path", "not_equals": "b.py"}, True),
        ({"field": "tool_input.path", "matches": "*.py"}, True),
        ({"field": "tool_input.path", "contains": ".p"}, True),
        ({"field": "tool_input.path", "in": ["x", "a.py"]}, True),
        ({"field": "tool_input.other", "exists": False}, True),
        ({"field": "tool_input.other", "equals": None}, False),
        ({"field": "depth", "equals": 2}, True),
    ],
)
def test_a_condition_looks_at_what_the_hook_is_told(condition: Any, holds: bool) -> None:
    [read] = read_conditions([condition])
    assert read.holds({"tool_input": {"path": "a.py"}, "depth": 2}) is holds


def bound(event: str = "PreToolUse", **more: Any) -> Any:
    return bind(Hook(event=event, handler=print, **more), 0)


@given(st.text())
def test_any_text_is_an_answer_or_a_failure(text: str) -> None:
    try:
        said = of_text(bound(), text)
    except HookFailed:
        return
    assert said == HookResult() or text.strip().startswith("{")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
names = st.sampled_from(
    ["continue", "decision", "reason", "hookSpecificOutput", "args", "text", "context", "other"]
)


@given(st.dictionaries(names, values))
def test_any_object_is_an_answer_or_a_failure(answer: dict[str, Any]) -> None:
    try:
        said = of_object(answer)
    except HookFailed:
        return
    assert "other" not in answer
    assert said.decision in (None, "allow", "ask", "deny", "block")


@pytest.mark.parametrize("value", [1, object(), [], "words"])
def test_a_value_that_means_nothing_is_a_failure(value: Any) -> None:
    with pytest.raises(HookFailed):
        of_value(bound(), value)


@pytest.mark.parametrize(
    ("kind", "event", "said"),
    [
        ("validate", "tool:before_call", HookResult(args={})),
        ("before", "conversation:message", HookResult(text="x")),
        ("before", "conversation:message", HookResult(args={})),
        ("transform", "tool:before_call", HookResult(decision="deny")),
        ("after", "tool:after_call", HookResult(text="x")),
    ],
)
def test_what_a_type_may_not_say_is_a_failure(kind: str, event: str, said: HookResult) -> None:
    with pytest.raises(HookFailed):
        within_its_type(bound(event, type=kind), said)
