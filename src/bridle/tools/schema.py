"""From the hints of a function to a JSON Schema, and from JSON back to its arguments."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from bridle.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable


class Parameters:
    """The arguments of a tool: what the model is told, and how what it sends is checked.

    msgspec structs, dataclasses, the usual containers and pydantic models may be used as hints.
    """

    def __init__(
        self, function: Callable[..., Any], hints: dict[str, Any], *, skip: str | None = None
    ) -> None:
        fields: list[Any] = []
        for name, parameter in inspect.signature(function).parameters.items():
            if name == skip:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise UserError(
                    f"Tool {function.__name__!r} takes *{name}; name every argument instead."
                )
            hint = _described(hints.get(name, Any))
            if parameter.default is parameter.empty:
                fields.append((name, hint))
            else:
                fields.append((name, hint, _default(parameter.default)))
        try:
            self._struct = msgspec.defstruct(
                "Arguments", fields, kw_only=True, forbid_unknown_fields=True
            )
            self.schema = _schema(self._struct)
        except (TypeError, NameError) as error:
            raise UserError(
                f"The hints of tool {function.__name__!r} cannot be described: {error}"
            ) from error
        self._names = tuple(field[0] for field in fields)

    def convert(self, args: dict[str, Any]) -> dict[str, Any]:
        """Check the arguments and build their values; raises `ValueError` with what is wrong."""
        try:
            value = msgspec.convert(args, self._struct, strict=False, dec_hook=_from_json)
        except (msgspec.ValidationError, ValueError, TypeError) as error:
            raise ValueError(str(error)) from error
        return {name: getattr(value, name) for name in self._names}


def hints_of(function: Callable[..., Any], around: dict[str, Any]) -> dict[str, Any]:
    """The hints of a function; names are looked up in its module and where it is defined."""
    try:
        return get_type_hints(function, localns=around, include_extras=True)
    except NameError as error:
        raise UserError(
            f"The hints of tool {function.__name__!r} cannot be read: {error}. Import the name "
            "where the function is defined, not only for type checking."
        ) from error


def _described(hint: Any) -> Any:
    """`Annotated[T, "text"]` describes a parameter."""
    if get_origin(hint) is Annotated:
        base, *extras = get_args(hint)
        metas = [msgspec.Meta(description=e) if isinstance(e, str) else e for e in extras]
        result = base
        for meta in metas:
            if isinstance(meta, msgspec.Meta):
                result = Annotated[result, meta]
        return result
    return hint


def _default(value: Any) -> Any:
    if isinstance(value, list | dict | set):
        return msgspec.field(default_factory=lambda: type(value)(value))
    return value


def _schema(struct: type) -> dict[str, Any]:
    (schema,), definitions = msgspec.json.schema_components(
        [struct], schema_hook=_schema_hook, ref_template="#/$defs/{name}"
    )
    whole = definitions.pop("Arguments") if "$ref" in schema else schema
    whole.pop("title", None)
    whole.setdefault("properties", {})
    if definitions:
        whole["$defs"] = definitions
    return whole


def _schema_hook(kind: type) -> dict[str, Any]:
    if hasattr(kind, "model_json_schema"):
        schema: dict[str, Any] = kind.model_json_schema()
        return schema
    raise NotImplementedError(f"unsupported type {kind!r}")


def _from_json(kind: type, value: Any) -> Any:
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    raise NotImplementedError(f"unsupported type {kind!r}")
