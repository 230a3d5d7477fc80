"""Check a JSON value against a JSON Schema: the part of it that answers are asked for in.

A keyword that is not known here is refused when the schema is read, so nothing that a schema says
is passed over. The same value and schema always give the same answer, so replay may ask again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

ANNOTATIONS = frozenset(
    [
        "$schema",
        "$id",
        "$comment",
        "$anchor",
        "$defs",
        "definitions",
        "title",
        "description",
        "default",
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
        "format",
        "discriminator",
        "contentEncoding",
        "contentMediaType",
    ]
)
Problem = str
Check = Callable[[Any, Any, str, "Schema"], Iterator[Problem]]


class Schema:
    """A schema that was read; raises `ValueError` for one that cannot be kept."""

    def __init__(self, body: Any) -> None:
        self.root = body
        for reference in _known(body, "$"):
            self.find(reference)

    def problems(self, value: Any) -> list[Problem]:
        """What is wrong with a value, each with its place."""
        try:
            return list(self.check(value, self.root, "$"))
        except RecursionError:
            return ["$: is nested too deeply, or the schema refers to itself without end"]

    def check(self, value: Any, body: Any, at: str) -> Iterator[Problem]:
        """The problems of a part."""
        if body is True:
            return
        if body is False:
            yield f"{at}: nothing is allowed here"
            return
        for keyword, expected in body.items():
            check = CHECKS.get(keyword)
            if check is not None:
                yield from check(value, expected, at, self)
        yield from _properties(value, body, at, self)
        yield from _items(value, body, at, self)
        if "if" in body:
            holds = not list(self.check(value, body["if"], at))
            yield from self.check(value, body.get("then" if holds else "else", True), at)

    def find(self, reference: str) -> Any:
        """The part that a reference within the schema names."""
        if not reference.startswith("#"):
            raise ValueError(f"the reference {reference!r} leads out of the schema")
        found = self.root
        for part in reference.removeprefix("#").split("/")[1:]:
            try:
                found = found[part.replace("~1", "/").replace("~0", "~")]
            except (KeyError, TypeError) as error:
                raise ValueError(f"the reference {reference!r} leads nowhere") from error
        return found


def _known(body: Any, at: str) -> Iterator[str]:
    """Refuse what is not known; yields the references."""
    if isinstance(body, bool):
        return
    if not isinstance(body, dict):
        raise ValueError(  # noqa: TRY004 - what callers of `Schema` are promised
            f"{at} is not a schema: {_text(body)}"
        )
    for keyword, value in body.items():
        _check_keyword(keyword, value, at)
        if keyword in MAPS or keyword in ("$defs", "definitions"):
            for name, below in value.items():
                yield from _known(below, f"{at}.{keyword}.{name}")
        elif keyword in LISTS:
            for index, below in enumerate(value):
                yield from _known(below, f"{at}.{keyword}[{index}]")
        elif keyword in PARTS:
            yield from _known(value, f"{at}.{keyword}")
        elif keyword == "$ref":
            yield str(value)


def _check_keyword(keyword: str, value: Any, at: str) -> None:
    """Refuse a keyword that is not known, or cannot have such a value."""
    if keyword not in CHECKS and keyword not in ANNOTATIONS and keyword not in TOGETHER:
        raise ValueError(f"{at}: the keyword {keyword!r} is not supported")
    if not _fits(keyword, value):
        raise ValueError(f"{at}.{keyword} cannot be {_text(value)}")
    if keyword == "pattern":
        _pattern(value, at)


def _fits(keyword: str, value: Any) -> bool:
    """Whether a keyword can have such a value at all."""
    if keyword == "type":
        names = value if isinstance(value, list) else [value]
        return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)
    if keyword == "required":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    shape = SHAPES.get(keyword)
    return shape is None or (
        isinstance(value, shape) and isinstance(value, bool) == (shape is bool)
    )


def _pattern(text: str, at: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{at}.pattern: {error}") from error


def _properties(value: Any, body: dict[str, Any], at: str, schema: Schema) -> Iterator[Problem]:
    if not isinstance(value, dict):
        return
    named, patterns = body.get("properties", {}), body.get("patternProperties", {})
    for key, item in value.items():
        place = f"{at}.{key}"
        matching = [below for pattern, below in patterns.items() if re.search(pattern, key)]
        if key in named:
            matching.append(named[key])
        for below in matching:
            yield from schema.check(item, below, place)
        rest = body.get("additionalProperties", True)
        if not matching and rest is False:
            yield f"{place}: this property is not allowed"
        elif not matching:
            yield from schema.check(item, rest, place)


def _items(value: Any, body: dict[str, Any], at: str, schema: Schema) -> Iterator[Problem]:
    if not isinstance(value, list):
        return
    first = body.get("prefixItems", [])
    for index, item in enumerate(value):
        below = first[index] if index < len(first) else body.get("items", True)
        yield from schema.check(item, below, f"{at}[{index}]")


def _type(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
    names = [expected] if isinstance(expected, str) else expected
    if not any(_is(value, name) for name in names):
        yield f"{at}: {_text(value)} is not of type {' or '.join(names)}"


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, TYPES[name])


def _enum(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
    if not any(_same(value, one) for one in expected):
        yield f"{at}: {_text(value)} is not one of {_text(expected)}"


def _const(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
    if not _same(value, expected):
        yield f"{at}: {_text(value)} is not {_text(expected)}"


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _required(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name in expected:
            if name not in value:
                yield f"{at}: the property {name!r} is missing"


def _property_names(value: Any, expected: Any, at: str, schema: Schema) -> Iterator[Problem]:
    for name in value if isinstance(value, dict) else ():
        yield from schema.check(name, expected, f"{at}.{name}")


def _contains(value: Any, expected: Any, at: str, schema: Schema) -> Iterator[Problem]:
    if isinstance(value, list) and all(list(schema.check(v, expected, at)) for v in value):
        yield f"{at}: no item is of the form that one must have"


def _unique(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
    if expected and isinstance(value, list):
        texts = [msgspec.json.encode(item, order="deterministic") for item in value]
        if len(set(texts)) < len(texts):
            yield f"{at}: an item is there twice"


def _matches(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
    if isinstance(value, str) and re.search(expected, value) is None:
        yield f"{at}: {_text(value)} does not match {expected!r}"


def _multiple(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
    if _is(value, "number") and abs(value / expected - round(value / expected)) > 1e-9:
        yield f"{at}: {value} is not a multiple of {expected}"


def _bound(kinds: type | tuple[type, ...], measure: Callable[[Any], float], least: bool) -> Check:
    def check(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
        if not isinstance(value, kinds) or isinstance(value, bool):
            return
        found = measure(value)
        if found < expected if least else found > expected:
            yield f"{at}: {found:g} is {'less' if least else 'more'} than {expected}"

    return check


def _strictly(least: bool) -> Check:
    def check(value: Any, expected: Any, at: str, _schema: Schema) -> Iterator[Problem]:
        if _is(value, "number") and (value <= expected if least else value >= expected):
            yield f"{at}: {value} is not {'more' if least else 'less'} than {expected}"

    return check


def _all_of(value: Any, expected: Any, at: str, schema: Schema) -> Iterator[Problem]:
    for below in expected:
        yield from schema.check(value, below, at)


def _some_of(exactly_one: bool) -> Check:
    def check(value: Any, expected: Any, at: str, schema: Schema) -> Iterator[Problem]:
        tried = [list(schema.check(value, below, at)) for below in expected]
        fitting = sum(not problems for problems in tried)
        if fitting == 0:
            yield f"{at}: fits none of {len(tried)} forms ({'; '.join(p[0] for p in tried)})"
        elif exactly_one and fitting > 1:
            yield f"{at}: fits {fitting} forms, and must fit one"

    return check


def _not(value: Any, expected: Any, at: str, schema: Schema) -> Iterator[Problem]:
    if not list(schema.check(value, expected, at)):
        yield f"{at}: is of a form that is not allowed"


def _ref(value: Any, expected: Any, at: str, schema: Schema) -> Iterator[Problem]:
    yield from schema.check(value, schema.find(expected), at)


def _text(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else text[:79] + "…"


_number = (int, float)
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "number": _number, "integer": _number, "boolean": bool, "object": dict,
    "array": list, "null": type(None),
}  # fmt: skip
CHECKS: dict[str, Check] = {
    "$ref": _ref, "type": _type, "enum": _enum, "const": _const, "required": _required,
    "propertyNames": _property_names, "contains": _contains, "uniqueItems": _unique,
    "pattern": _matches, "multipleOf": _multiple, "allOf": _all_of, "anyOf": _some_of(False),
    "oneOf": _some_of(True), "not": _not,
    "minimum": _bound(_number, float, True), "maximum": _bound(_number, float, False),
    "exclusiveMinimum": _strictly(True), "exclusiveMaximum": _strictly(False),
    "minLength": _bound(str, len, True), "maxLength": _bound(str, len, False),
    "minItems": _bound(list, len, True), "maxItems": _bound(list, len, False),
    "minProperties": _bound(dict, len, True), "maxProperties": _bound(dict, len, False),
}  # fmt: skip
MAPS = frozenset({"properties", "patternProperties"})
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
PARTS = frozenset(
    ["items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"]
)
TOGETHER = MAPS | LISTS | PARTS
SHAPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys((*MAPS, "$defs", "definitions"), dict),
    **dict.fromkeys((*LISTS, "enum"), list),
    **dict.fromkeys(("$ref", "pattern"), str),
    **dict.fromkeys([name for name in CHECKS if name.startswith(("min", "max", "excl"))], _number),
    "multipleOf": _number,
    "uniqueItems": bool,
}
