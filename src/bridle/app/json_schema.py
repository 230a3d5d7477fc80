"""State described by a JSON Schema: the part of the language that we enforce, and no other.

A keyword that is not enforced here is refused, so that nothing which is written down is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bridle.errors import UserError, suggest

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
SAID = {"title", "description", "default", "examples", "$schema", "$id", "$defs", "definitions"}
"""Keywords that describe and do not bind."""

_Check = Callable[[Any, Any], bool]
_LIMITS: dict[str, tuple[_Check, str]] = {
    "minimum": (lambda value, limit: value >= limit, "at least {}"),
    "maximum": (lambda value, limit: value <= limit, "at most {}"),
    "exclusiveMinimum": (lambda value, limit: value > limit, "more than {}"),
    "exclusiveMaximum": (lambda value, limit: value < limit, "less than {}"),
    "multipleOf": (lambda value, limit: value % limit == 0, "a multiple of {}"),
    "minLength": (lambda value, limit: len(value) >= limit, "at least {} characters"),
    "maxLength": (lambda value, limit: len(value) <= limit, "at most {} characters"),
    "pattern": (lambda value, limit: re.search(limit, value) is not None, "to match {}"),
    "minItems": (lambda value, limit: len(value) >= limit, "at least {} items"),
    "maxItems": (lambda value, limit: len(value) <= limit, "at most {} items"),
    "enum": (lambda value, limit: value in limit, "one of {}"),
    "const": (lambda value, limit: value == limit, "to be {}"),
}
_FOR: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("minLength", "maxLength", "pattern"), (str,)),
    **dict.fromkeys(("minItems", "maxItems"), (list,)),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), (int, float)
    ),
}
NESTED = {"properties", "required", "additionalProperties", "items", "anyOf", "$ref", "type"}


class JsonSchema:
    """A schema of an object, checked when it is given; values are checked against it."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        if self._resolved(schema).get("type", "object") != "object":
            raise UserError("The schema of the state must describe an object.")
        self._check_keywords(schema, "state")
        self.properties: Mapping[str, Any] = self._resolved(schema).get("properties", {})

    def defaults(self) -> dict[str, Any]:
        """The values of the fields that have a default."""
        found = {name: self._resolved(field) for name, field in self.properties.items()}
        return {name: field["default"] for name, field in found.items() if "default" in field}

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise `UserError` that names the field which does not fit."""
        self._check(dict(values), self._root, "state")

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        if isinstance(schema, bool):
            return {} if schema else {"enum": []}
        if not isinstance(schema, Mapping):
            raise UserError(f"{schema!r} is no JSON Schema.")
        target = schema.get("$ref")
        if target is None:
            return schema
        found: Any = self._root
        for name in str(target).removeprefix("#").strip("/").split("/"):
            if not str(target).startswith("#/") or not isinstance(found, Mapping):
                raise UserError(f"The reference {target!r} leads nowhere in the schema.")
            if name not in found:
                raise UserError(f"The reference {target!r} leads nowhere in the schema.")
            found = found[name]
        return self._resolved(found)

    def _check_keywords(self, schema: Any, at: str) -> None:
        known = SAID | set(_LIMITS) | NESTED
        inside = self._resolved(schema) if isinstance(schema, Mapping | bool) else schema
        for name in inside:
            if name not in known:
                raise UserError(f"{at}: " + suggest(name, known, what="schema keyword"))
        for kind in _listed(inside.get("type", ())):
            if kind not in TYPES:
                raise UserError(f"{at}: " + suggest(str(kind), TYPES, what="type"))
        if isinstance(schema, Mapping) and "$ref" in schema:
            return  # what it refers to is checked with the definitions
        for name, field in inside.get("properties", {}).items():
            self._check_keywords(field, f"{at}.{name}")
        for name in ("$defs", "definitions"):
            for key, field in inside.get(name, {}).items():
                self._check_keywords(field, f"{at}.{name}.{key}")
        for name in ("items", "additionalProperties"):
            if name in inside:
                self._check_keywords(inside[name], f"{at}.{name}")
        for field in inside.get("anyOf", ()):
            self._check_keywords(field, at)

    def _check(self, value: Any, given: Any, at: str) -> None:
        schema = self._resolved(given)
        kinds = _listed(schema.get("type", ()))
        if kinds and not any(_is(value, kind) for kind in kinds):
            raise UserError(f"{at}: expected {' or '.join(kinds)}, got {value!r}.")
        for name, (holds, wants) in _LIMITS.items():
            binds = name in schema and isinstance(value, _FOR.get(name, (object,)))
            if binds and not holds(value, schema[name]):
                raise UserError(f"{at}: expected {wants.format(schema[name])}, got {value!r}.")
        if "anyOf" in schema:
            self._check_any(value, schema["anyOf"], at)
        if isinstance(value, dict):
            self._check_object(value, schema, at)
        if isinstance(value, list) and "items" in schema:
            for number, item in enumerate(value):
                self._check(item, schema["items"], f"{at}[{number}]")

    def _check_any(self, value: Any, choices: Any, at: str) -> None:
        problems = []
        for choice in choices:
            try:
                self._check(value, choice, at)
            except UserError as error:
                problems.append(str(error))
            else:
                return
        raise UserError(problems[0] if problems else f"{at}: nothing fits.")

    def _check_object(self, value: dict[str, Any], schema: Mapping[str, Any], at: str) -> None:
        fields = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                raise UserError(f"{at}.{name}: it is required and missing.")
        for name, item in value.items():
            if name in fields:
                self._check(item, fields[name], f"{at}.{name}")
            elif schema.get("additionalProperties", True) is False:
                raise UserError(suggest(name, fields, what="state field"))
            else:
                self._check(item, schema.get("additionalProperties", True), f"{at}.{name}")


def _listed(kinds: Any) -> tuple[str, ...]:
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])
