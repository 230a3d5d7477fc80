"""The model port: the conversation alone decides what comes next."""

from __future__ import annotations

import msgspec
import pytest

from bridle.errors import ModelError
from bridle.ports.model import CallDelta, CallStart, Finish, ModelRequest, TextDelta
from bridle.repair.model import MODEL_ID, RepairModel
from bridle.repair.report import RepairReport, Replacement, SuspectLine
from bridle.types.content import ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from bridle.types.tools import ToolSpec

pytestmark = pytest.mark.anyio

TOOLS = tuple(
    ToolSpec(name=name, description="", parameters={}) for name in ("try_edits", "edit_file")
)
FIXED = RepairReport(
    status="fixed",
    message="Fixed: all 3 tests pass with this change.",
    patch=(
        Replacement(path="a.py", old="x > 1", new="x >= 1"),
        Replacement(path="b.py", old="y", new="z"),
    ),
    diff="-x > 1\n+x >= 1",
    kinds=("comparison",),
    tests=3,
    failed=1,
)


class Talk:
    """A conversation that grows as the engine would let it grow."""

    def __init__(self):
        self.messages = [user_message("m0", "fix it")]

    async def step(self, *, tools=TOOLS):
        request = ModelRequest(system="", messages=self.messages, tools=tools)
        parts = [part async for part in RepairModel().stream(request)]
        assert isinstance(parts[-1], Finish)
        text = "".join(p.text for p in parts if isinstance(p, TextDelta))
        names = [p.tool for p in parts if isinstance(p, CallStart)]
        args = [msgspec.json.decode(p.text) for p in parts if isinstance(p, CallDelta)]
        assert parts[-1].stop == ("tool_use" if names else "end_turn")
        number = len(self.messages)
        calls = [
            ToolCall(id=f"c{number}.{i}", tool=n, args=a)
            for i, (n, a) in enumerate(zip(names, args, strict=True))
        ]
        self.messages.append(Message(id=f"m{number}", role="assistant", parts=tuple(calls)))
        return text, calls

    def answer(self, call, text, *, is_error=False):
        result = ToolResult(call_id=call.id, tool=call.tool, text=text, is_error=is_error)
        self.messages.append(Message(id=f"r{call.id}", role="tool", parts=(result,)))


async def test_it_tries_edits_makes_them_and_says_what_was_wrong():
    talk = Talk()
    _, (call,) = await talk.step()
    assert (call.tool, call.args) == ("try_edits", {})
    talk.answer(call, msgspec.json.encode(FIXED).decode())
    for part in FIXED.patch:
        _, (call,) = await talk.step()
        assert call.tool == "edit_file"
        assert call.args == {"path": part.path, "old": part.old, "new": part.new}
        talk.answer(call, "done")
    text, calls = await talk.step()
    assert calls == []
    assert text.startswith("Fixed.")
    assert "a comparison used the wrong operator" in text
    assert FIXED.diff in text


async def test_a_refused_edit_is_not_called_fixed():
    talk = Talk()
    _, (call,) = await talk.step()
    talk.answer(call, msgspec.json.encode(FIXED).decode())
    _, (call,) = await talk.step()
    talk.answer(call, "denied by rule 3", is_error=True)
    text, calls = await talk.step()
    assert calls == []
    assert text.startswith("Not fixed")
    assert "denied by rule 3" in text


async def test_not_fixed_shows_the_suspicious_lines():
    talk = Talk()
    _, (call,) = await talk.step()
    line = SuspectLine(path="a.py", line=7, text="return x", score=0.9)
    report = RepairReport(status="not_fixed", message="Not fixed: none.", suspicious=(line,))
    talk.answer(call, msgspec.json.encode(report).decode())
    text, calls = await talk.step()
    assert calls == []
    assert "a.py:7" in text
    assert text.startswith("Not fixed")


@pytest.mark.parametrize("text", ["not json", "{}"])
async def test_a_broken_result_is_told(text):
    talk = Talk()
    _, (call,) = await talk.step()
    talk.answer(call, text, is_error=text == "{}")
    said, calls = await talk.step()
    assert calls == []
    assert said.startswith("Not fixed")


async def test_a_new_request_of_the_user_starts_over():
    talk = Talk()
    _, (call,) = await talk.step()
    talk.answer(call, msgspec.json.encode(FIXED).decode())
    talk.messages.append(user_message("again", "once more"))
    _, (call,) = await talk.step()
    assert call.tool == "try_edits"


async def test_without_its_tool_it_refuses():
    with pytest.raises(ModelError):
        await Talk().step(tools=(ToolSpec(name="bash", description="", parameters={}),))


def test_it_costs_nothing():
    model = RepairModel()
    assert model.id == MODEL_ID
    assert model.price is not None
    assert model.price.input == model.price.output == 0
