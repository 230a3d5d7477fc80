"""JSON Schema as providers take it."""

from __future__ import annotations

from typing import Any

_NESTED = ("anyOf", "allOf", "oneOf", "prefixItems")
_MAPS = ("$defs", "definitions", "properties")
_UNSUPPORTED = frozenset(
    {"oneOf", "allOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas"}
)


def is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes the schema.

    Every object must be closed and require all its properties. Others are sent as a wish that is
    not enforced, instead of being refused.
    """
    if not isinstance(schema, dict):
        return schema is None
    if _UNSUPPORTED & schema.keys():
        return False
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        closed = schema.get("additionalProperties") is False
        names = set(properties or {})
        if not closed or names != set(schema.get("required") or ()):
            return False
    return all(is_strict(child) for child in _children(schema))


def _children(schema: dict[str, Any]) -> list[Any]:
    children: list[Any] = []
    for key in _MAPS:
        value = schema.get(key)
        if isinstance(value, dict):
            children.extend(value.values())
    for key in _NESTED:
        value = schema.get(key)
        if isinstance(value, list):
            children.extend(value)
    if isinstance(schema.get("items"), dict):
        children.append(schema["items"])
    return children
