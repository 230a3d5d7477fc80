"""Answers of a given form: every keyword accepts what fits and names the place of what does not."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.types.json_schema import CHECKS, PARTS, Schema

TREE = {"$ref": "#/$defs/node", "$defs": {"node": {
    "type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}},
}}}  # fmt: skip
CASES: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "type": ({"type": ["string", "null"]}, ["a", None], [1, [], False]),
    "type integer": ({"type": "integer"}, [1, 2.0, -3], [1.5, True, "1"]),
    "type number": ({"type": "number"}, [1, 2.5], [True, "1"]),
    "enum": ({"enum": [1, "a", None]}, [1, "a", None], [2, True, "b"]),
    "const": ({"const": {"a": 1}}, [{"a": 1}], [{"a": 2}, {}]),
    "required": ({"required": ["a"]}, [{"a": 1}, "not an object"], [{}]),
    "properties": ({"properties": {"a": {"type": "string"}}}, [{"a": "x"}, {"b": 1}], [{"a": 1}]),
    "additionalProperties": (
        {"properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}, {}], [{"b": 1}],
    ),
    "additionalProperties schema": (
        {"additionalProperties": {"type": "integer"}}, [{"x": 1}], [{"x": "1"}],
    ),
    "patternProperties": (
        {"patternProperties": {"^n_": {"type": "integer"}}}, [{"n_a": 1, "x": "s"}], [{"n_a": "s"}],
    ),
    "propertyNames": ({"propertyNames": {"maxLength": 2}}, [{"ab": 1}], [{"abc": 1}]),
    "items": ({"items": {"type": "integer"}}, [[], [1, 2]], [[1, "2"]]),
    "prefixItems": (
        {"prefixItems": [{"type": "string"}], "items": False}, [["a"], []], [["a", 1], [1]],
    ),
    "contains": ({"contains": {"const": 1}}, [[0, 1]], [[0], []]),
    "uniqueItems": ({"uniqueItems": True}, [[1, 2]], [[1, 1], [{"a": 1}, {"a": 1}]]),
    "pattern": ({"pattern": "^a"}, ["ab", 1], ["ba"]),
    "multipleOf": ({"multipleOf": 0.1}, [0.3, 1], [0.35]),
    "minimum": ({"minimum": 1, "maximum": 3}, [1, 3, "x"], [0, 4]),
    "exclusiveMinimum": ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, [2], [1, 3]),
    "minLength": ({"minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
    "minItems": ({"minItems": 1, "maxItems": 2}, [[1]], [[], [1, 2, 3]]),
    "minProperties": ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 2}]),
    "allOf": ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1], [0, 3]),
    "anyOf": ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["a", 6], [4]),
    "oneOf": ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, [2, 3], [6, 5]),
    "not": ({"not": {"type": "string"}}, [1], ["a"]),
    "if": (
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
        [{"a": 1, "b": 1}, {"c": 1}], [{"a": 1}, {}],
    ),
    "$ref": (TREE, [{"n": 1, "next": {"n": 2, "next": {}}}], [{"next": {"next": {"n": "x"}}}]),
    "false": ({"properties": {"a": False}}, [{}], [{"a": 1}]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_keyword(name: str) -> None:
    body, fitting, wrong = CASES[name]
    schema = Schema(body)
    for value in fitting:
        assert schema.problems(value) == [], value
    for value in wrong:
        problems = schema.problems(value)
        assert problems, value
        assert all(problem.startswith("$") for problem in problems)


def test_every_keyword_has_a_case() -> None:
    def named(body: Any) -> set[str]:
        below = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
        own = set(body) if isinstance(body, dict) else set()
        return own.union(*(named(part) for part in below))

    used = set().union(*(named(body) for body, _, _ in CASES.values()))
    assert set(CHECKS) | set(PARTS) <= used


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"unevaluatedProperties": False},
        {"properties": {"a": {"dependentRequired": {}}}},
        {"items": {"pattern": "("}},
        {"anyOf": [3]},
        {"anyOf": 3},
        {"type": "strin"},
        {"type": ["string", 3]},
        {"type": []},
        {"properties": []},
        {"properties": {"a": {"enum": "a"}}},
        {"required": "a"},
        {"minimum": "1"},
        {"maxLength": True},
        {"uniqueItems": 1},
        {"pattern": 3},
        {"$ref": "#/$defs/nosuch"},
        {"$ref": "https://example.org/schema"},
    ],
)
def test_a_schema_that_cannot_be_kept_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match=r"\$|schema|reference"):
        Schema(body)


def test_the_place_is_named() -> None:
    schema = Schema({"properties": {"a": {"items": {"required": ["b"]}}}})
    assert schema.problems({"a": [{"b": 1}, {}]}) == ["$.a[1]: the property 'b' is missing"]


def test_a_schema_without_end_ends() -> None:
    assert Schema({"$ref": "#"}).problems(1)
