"""The schema of a typed answer, as the real providers take it.

OpenAI refuses a root that is not an object. Anthropic refuses an object that is not closed, and
bounds on numbers and lengths.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import pytest

from bridle import Agent
from bridle.models.http import HttpClient
from bridle.ports.model import ModelSettings
from support.wires import WIRES, ask, make


class Leaf(msgspec.Struct):
    score: Annotated[int, msgspec.Meta(ge=0, le=10, description="How good")]
    tags: list[str] = []


class Tree(msgspec.Struct):
    leaf: Leaf
    below: list[Tree] = []


@dataclass
class Plain:
    name: str
    notes: list[str] = field(default_factory=list)


def sent(wire: str, output: Any) -> dict[str, Any]:
    """The schema in the body that a wire sends."""
    schema = output if isinstance(output, dict) else Agent("x", output=output).output_schema
    model = make(wire, "http://127.0.0.1:9", HttpClient())
    body = json.loads(model.body(ask(settings=ModelSettings(output_schema=schema))))
    match wire:
        case "chat":
            return dict(body["response_format"]["json_schema"]["schema"])
        case "responses":
            return dict(body["text"]["format"]["schema"])
        case "anthropic":
            return dict(body["output_config"]["format"]["schema"])
        case _:
            return dict(body["generationConfig"]["responseJsonSchema"])


def parts(value: Any) -> list[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        return [value, *(part for inner in value.values() for part in parts(inner))]
    return [part for inner in value for part in parts(inner)] if isinstance(value, list) else []


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("output", [Leaf, Tree, Plain])
def test_the_root_is_an_object(wire: str, output: Any) -> None:
    given = Agent("x", output=output).output_schema
    assert given is not None
    schema = sent(wire, output)
    assert schema["type"] == "object"
    assert "$ref" not in schema
    known = {f"#/$defs/{name}" for name in schema.get("$defs", {})}
    named = {part["$ref"] for part in parts(schema) if "$ref" in part}
    assert named == known  # all that is named is there, and nothing else


@pytest.mark.parametrize("output", [Leaf, Tree, Plain])
def test_anthropic_gets_closed_objects_and_no_bounds(output: Any) -> None:
    found = parts(sent("anthropic", output))
    objects = [part for part in found if part.get("type") == "object"]
    assert objects
    assert all(part["additionalProperties"] is False for part in objects)
    assert not [part for part in found if {"minimum", "maximum"} & part.keys()]


def test_what_anthropic_cannot_enforce_is_told() -> None:
    score = sent("anthropic", Leaf)["properties"]["score"]
    assert score["description"] == "How good. minimum: 0. maximum: 10"
    assert sent("chat", Leaf)["properties"]["score"]["maximum"] == 10


def test_a_property_may_be_called_like_a_bound() -> None:
    shape = {"type": "object", "properties": {"minimum": {"type": "integer", "minimum": 1}}}
    schema = sent("anthropic", shape)
    assert schema["properties"] == {"minimum": {"type": "integer", "description": "minimum: 1"}}
