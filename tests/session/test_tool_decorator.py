"""`@tool`: a schema from hints, validated arguments, attributes as values or functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from bridle import Agent, Harness, Rules, Tool, ToolContext, ToolError, tool
from bridle.testing import ScriptedModel, calls, says


class Point(msgspec.Struct):
    x: int
    y: int = 0


@dataclass
class Box:
    corner: Point
    label: str = "box"


class Colour(pydantic.BaseModel):
    name: str
    alpha: float = pydantic.Field(default=1.0, ge=0, le=1)


SEEN: list[Any] = []


@tool(category="read", read_only=True, concurrency_safe=True)
async def draw(
    box: Box,
    colour: Colour,
    style: Literal["solid", "dashed"] = "solid",
    tags: list[str] | None = None,
    size: Annotated[int, msgspec.Meta(ge=1, le=10)] = 3,
    ctx: ToolContext[Any] | None = None,
) -> dict[str, Any]:
    """Draw a box.

    More that the model need not know.
    """
    SEEN.append((box, colour, style, tags, size, ctx))
    return {"drawn": box.label}


def test_the_schema_follows_from_the_hints() -> None:
    assert isinstance(draw, Tool)
    schema = draw.parameters
    assert schema["required"] == ["box", "colour"]
    assert set(schema["properties"]) == {"box", "colour", "style", "tags", "size"}
    assert schema["properties"]["style"]["enum"] == ["dashed", "solid"]
    assert schema["properties"]["style"]["default"] == "solid"
    assert schema["properties"]["size"]["maximum"] == 10
    text = msgspec.json.encode(schema).decode()
    for name in ("corner", "label", "alpha", "maximum"):
        assert f'"{name}"' in text
    assert draw.name == "draw"
    assert draw.description.startswith("Draw a box.")


async def sent(*played: Any, tools: list[Any]) -> tuple[Any, list[Any]]:
    model = ScriptedModel([*played, says("ok")])
    harness = Harness(
        id="t",
        store="memory:",
        agent=Agent("x", tools=tools),
        permissions=Rules(profile="yolo"),
        resolve_model=lambda _: model,
    )
    async with harness:
        session = await harness.session()
        result = await session.send("go")
        events = [e async for e in _log(session)]
    return result, [e for e in events if e.type == "tool_end"]


async def _log(session: Any) -> Any:
    async for event in session.events.replay(after=0):
        yield event
        if event.type == "agent_end":
            return


async def test_arguments_come_as_what_the_hints_say() -> None:
    SEEN.clear()
    args = {"box": {"corner": {"x": 1}}, "colour": {"name": "red"}, "tags": ["a"]}
    _, (ended,) = await sent(calls("draw", **args), tools=[draw])
    assert not ended.is_error
    assert msgspec.json.decode(ended.result) == {"drawn": "box"}
    box, colour, style, tags, size, ctx = SEEN[0]
    assert (box, colour) == (Box(Point(1)), Colour(name="red"))
    assert (style, tags, size) == ("solid", ["a"], 3)
    assert ctx.call_id == ended.call_id


@pytest.mark.parametrize(
    ("change", "says_why"),
    [
        ({"box": {"corner": {"x": "one"}}}, "int"),
        ({"colour": {"name": "red", "alpha": 7}}, "alpha"),
        ({"style": "dotted"}, "style"),
        ({"size": 11}, "size"),
        ({"unknown": 1}, "unknown"),
        ({"box": None}, "box"),
    ],
)
async def test_wrong_arguments_are_told_with_a_hint_and_not_run(
    change: dict[str, Any], says_why: str
) -> None:
    SEEN.clear()
    args = {"box": {"corner": {"x": 1}}, "colour": {"name": "red"}, **change}
    result, (ended,) = await sent(calls("draw", **args), tools=[draw])
    assert ended.is_error
    assert says_why in ended.result
    assert "Hint:" in ended.result
    assert SEEN == []
    assert result.text == "ok"  # the model was told and went on


async def test_attributes_are_values_or_functions_of_the_arguments() -> None:
    @tool(
        category=lambda args: "read" if args["name"] == "look" else "execute",
        read_only=lambda args: args["name"] == "look",
        timeout=lambda args: 0.05 if args["name"] == "slow" else None,
    )
    async def act(name: str) -> str:
        """Act."""
        import anyio

        if name == "slow":
            await anyio.sleep(60)
        return name

    model = ScriptedModel(
        [
            [calls("act", name="look"), calls("act", name="slow"), calls("act", name="go")],
            says("ok"),
        ]
    )
    rules = Rules(categories={"read": "allow", "execute": "allow"})
    async with Harness(
        id="t",
        store="memory:",
        agent=Agent("x", tools=[act]),
        permissions=rules,
        resolve_model=lambda _: model,
    ) as harness:
        session = await harness.session()
        assert session.permissions.explain("act", {"name": "look"}).effect == "allow"
        await session.permissions.set_category("execute", "deny")
        await session.send("go")
        ends = {e.call_id: e async for e in _log(session) if e.type == "tool_end"}
    look, slow, go = (ends[name] for name in sorted(ends))
    assert (look.result, look.is_error) == ("look", False)
    assert slow.denied
    assert go.denied


async def test_an_error_of_a_tool_is_structured_and_a_defect_is_told() -> None:
    @tool(category="read", read_only=True)
    async def fail(how: str) -> str:
        """Fail."""
        if how == "told":
            raise ToolError("the door is locked", hint="knock first")
        raise RuntimeError("a defect")

    _, (told, defect) = await sent(
        calls("fail", how="told"), calls("fail", how="else"), tools=[fail]
    )
    assert told.is_error
    assert "the door is locked" in told.result
    assert "knock first" in told.result
    assert defect.is_error
    assert "a defect" in defect.result
