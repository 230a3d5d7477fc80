"""Configuration in layers: each file is checked by itself, the nearest to the user wins.

Maps merge, scalars and lists replace; what any layer denies stays denied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import SpecError
from bridle.spec.load import as_spec, nearest_line, place_of
from bridle.spec.text import Lines, read_fields, read_value
from bridle.types.base import Fact, Fixed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bridle.spec.model import HarnessSpec

NAME = "bridle"
PREFIX = "BRIDLE_"
SEPARATOR = "__"
DEFAULTS = {"version": 1, "name": NAME}
POLICY = "execution_policy"


class Origin(Fact, frozen=True, kw_only=True):
    """Where a value was written: the layer, and `file:line` or the variable."""

    layer: str
    source: str | None
    value: Any


class Layer(Fixed, frozen=True, kw_only=True):
    """One place that says something."""

    name: str
    data: dict[str, Any]
    file: str | None = None
    lines: Lines = msgspec.field(default_factory=dict)
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    of_project: bool = False

    def at(self, field: str) -> str | None:
        """Where this layer says something about a field."""
        if self.file is None:
            return next((v for k, v in self.variables.items() if _within(field, k)), None)
        line = nearest_line(self.lines, place_of(field))
        return f"{self.file}:{line}" if line is not None else self.file

    def value(self, field: str) -> Any:
        """What this layer says about a field; `msgspec.UNSET` when it says nothing."""
        found: Any = self.data
        for part in place_of(field):
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return msgspec.UNSET
        return found


class Layered(Fixed, frozen=True, kw_only=True):
    """All layers, the weakest first, and the spec that they come to."""

    spec: HarnessSpec
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    layers: tuple[Layer, ...] = ()

    def at(self, field: str) -> str | None:
        """Where the value that holds was written; an entry of a list is looked up by itself."""
        base, bracket, rest = field.partition("[")
        if not bracket:
            return next((origin.source for origin in self.origins(field)), None)
        index, _, below = rest.partition("]")
        whole = Layer(name=NAME, data=self.data).value(base)
        for layer in reversed(self.layers):
            said = layer.value(base)
            if said is not msgspec.UNSET and whole[int(index)] in said:
                return layer.at(f"{base}[{said.index(whole[int(index)])}]{below}")
        return None

    def origins(self, field: str) -> list[Origin]:
        """Everybody who says something about a field, who wins first."""
        return [
            Origin(layer=layer.name, source=layer.at(field), value=said)
            for layer in reversed(self.layers)
            if (said := layer.value(field)) is not msgspec.UNSET
        ]


def file_layer(name: str, path: Path, *, whole: bool = False, of_project: bool = False) -> Layer:
    """Read one file; a `whole` one is a spec by itself."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot be read: {error}", file=str(path)) from error
    if not whole and not text.strip():
        return Layer(name=name, data={}, file=str(path))
    data, lines = read_fields(text, file=str(path))
    as_spec(data if whole else DEFAULTS | data, lines, file=str(path))
    return Layer(name=name, data=data, file=str(path), lines=lines, of_project=of_project)


def environment_layer(environ: Mapping[str, str]) -> Layer | None:
    """`BRIDLE_LIMITS__MAX_STEPS=20` is `limits.max_steps: 20`; values are read as YAML."""
    data: dict[str, Any] = {}
    variables: dict[str, str] = {}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or SEPARATOR not in variable:
            continue
        path = variable.removeprefix(PREFIX).lower().split(SEPARATOR)
        one = _nested(path, _parsed(variable, environ[variable]))
        as_spec(DEFAULTS | one, {}, file=variable)
        data = merged(data, one)
        variables[".".join(path)] = variable
    return Layer(name="environment", data=data, variables=variables) if data else None


def flag_layer(pairs: Mapping[str, Any], *, name: str = "flag") -> Layer:
    """Fields that were given on a command line."""
    data: dict[str, Any] = {}
    for field, value in pairs.items():
        data = merged(data, _nested([str(part) for part in place_of(field)], value))
    return Layer(name=name, data=data)


def combine(layers: Sequence[Layer]) -> Layered:
    """Put layers together, the weakest first."""
    data: dict[str, Any] = dict(DEFAULTS)
    for layer in layers:
        data = merged(data, layer.data)
    return Layered(spec=as_spec(data, {}, file=NAME), data=data, layers=tuple(layers))


def merged(below: dict[str, Any], above: dict[str, Any], at: str = "") -> dict[str, Any]:
    """Two layers as one."""
    result = dict(below)
    for key, value in above.items():
        field = f"{at}.{key}" if at else str(key)
        under = result.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            result[key] = merged(under, value, field)
        elif key in result:
            result[key] = _kept_denied(field, under, value)
        else:
            result[key] = value
    return result


def _kept_denied(field: str, under: Any, value: Any) -> Any:
    """What replaces a value: a deny of a layer below is never taken away."""
    if field == "hooks":
        return [*under, *value]
    if field == f"{POLICY}.denied_commands":
        return list(dict.fromkeys([*under, *value]))
    if field == f"{POLICY}.permissions":
        denied = [entry for entry in under if entry.get("effect") == "deny" and entry not in value]
        return [*denied, *value]
    denies = field.startswith(f"{POLICY}.allow_") and under is False
    if denies or (field.startswith(f"{POLICY}.categories.") and under == "deny"):
        return under
    return value


def _nested(path: Sequence[str], value: Any) -> dict[str, Any]:
    for part in reversed(path):
        value = {part: value}
    found: dict[str, Any] = value
    return found


def _parsed(variable: str, text: str) -> Any:
    import yaml

    try:
        return read_value(text)
    except yaml.YAMLError as error:
        raise SpecError(f"is not valid YAML: {text!r}", file=variable) from error


def _within(field: str, key: str) -> bool:
    return field == key or field.startswith((f"{key}.", f"{key}["))
