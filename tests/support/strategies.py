"""Hypothesis strategies that are built from the structs themselves."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect as mi

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=3,
)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that msgspec knows."""
    return _of(mi.type_info(kind))


def struct(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Instances of a struct, every field drawn."""
    return _struct(kind)


@cache
def _struct(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    info = mi.type_info(kind)
    assert isinstance(info, mi.StructType)
    names = [field.name for field in info.fields]
    drawn = {field.name: _of(field.type) for field in info.fields}
    if kind.__name__ == "Limits":
        drawn = {name: _not_negative(values) for name, values in drawn.items()}
    return st.deferred(lambda: st.fixed_dictionaries(drawn)).map(
        lambda values: kind(**{name: values[name] for name in names})
    )


def _not_negative(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values.map(lambda value: None if value is None else abs(value))


def _of(info: mi.Type) -> st.SearchStrategy[Any]:
    if isinstance(info, mi.StructType):
        return st.deferred(lambda: _struct(info.cls))
    if isinstance(info, mi.LiteralType):
        return st.sampled_from(info.values)
    if isinstance(info, mi.UnionType):
        return st.one_of([_of(member) for member in info.types])
    if isinstance(info, mi.DictType):
        return st.dictionaries(_of(info.key_type), _of(info.value_type), max_size=3)
    if isinstance(info, mi.TupleType):
        return st.tuples(*(_of(item) for item in info.item_types))
    if isinstance(info, mi.VarTupleType):
        return st.lists(_of(info.item_type), max_size=3).map(tuple)
    if isinstance(info, mi.ListType):
        return st.lists(_of(info.item_type), max_size=3)
    return PLAIN[type(info)]


PLAIN: dict[type[mi.Type], st.SearchStrategy[Any]] = {
    mi.AnyType: JSON,
    mi.NoneType: st.none(),
    mi.BoolType: st.booleans(),
    mi.IntType: st.integers(),
    mi.FloatType: FLOATS,
    mi.StrType: TEXT,
}
