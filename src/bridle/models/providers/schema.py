"""JSON Schema as providers take it."""

from __future__ import annotations

from typing import Any

_NESTED = ("anyOf", "allOf", "oneOf", "prefixItems")
_MAPS = ("$defs", "definitions", "properties")
_UNSUPPORTED = frozenset(
    {"oneOf", "allOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas"}
)
_BOUNDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties"}
)
"""What Anthropic refuses in a schema."""

_DEFS = "#/$defs/"


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


def rooted(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its root in place: providers want an object there, not a reference to one."""
    name = str(schema.get("$ref", "")).removeprefix(_DEFS)
    shapes = schema.get("$defs", {})
    if name not in shapes:
        return schema
    others = {key: shape for key, shape in shapes.items() if key != name}
    kept = shapes if _refers(shapes, _DEFS + name) else others
    return {**shapes[name], "$defs": kept} if kept else dict(shapes[name])


def within_limits(schema: Any) -> Any:
    """The schema as Anthropic takes it: objects are closed, bounds are told and not enforced.

    What a bound says is checked when the answer is there, as for every provider.
    """
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if not _is_bound(key, value)}
    told = [f"{key}: {value}" for key, value in schema.items() if key not in kept]
    if told:
        kept["description"] = ". ".join([*filter(None, [kept.get("description")]), *told])
    if kept.get("type") == "object" or "properties" in kept:
        kept.setdefault("additionalProperties", False)
    for key in _MAPS:
        if isinstance(kept.get(key), dict):
            kept[key] = {name: within_limits(shape) for name, shape in kept[key].items()}
    for key in _NESTED:
        if isinstance(kept.get(key), list):
            kept[key] = [within_limits(shape) for shape in kept[key]]
    if "items" in kept:
        kept["items"] = within_limits(kept["items"])
    return kept


def _is_bound(key: str, value: Any) -> bool:
    return key in _BOUNDS or (key == "minItems" and value not in (0, 1))


def _refers(value: Any, target: str) -> bool:
    if isinstance(value, dict):
        return value.get("$ref") == target or any(_refers(part, target) for part in value.values())
    return isinstance(value, list) and any(_refers(part, target) for part in value)


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
