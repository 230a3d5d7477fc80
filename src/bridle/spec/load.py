"""Read a spec from YAML or JSON; what is wrong is told with its line and the nearest name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec

from bridle.errors import SpecError
from bridle.spec.model import HarnessSpec
from bridle.spec.planned import unknown_field

if TYPE_CHECKING:
    from pathlib import Path

    import yaml

SPEC_NAME = "harness.yaml"
MAX_BYTES = 1_000_000

Place = tuple[str | int, ...]
Lines = dict[Place, int]


def find_spec(directory: Path) -> Path | None:
    """The spec of a project, if it has one."""
    candidate = directory / SPEC_NAME
    return candidate if candidate.is_file() else None


def place_of(field: str) -> Place:
    """The place that a name such as `execution_policy.permissions[0]` stands for."""
    names = re.findall(r"([^.\[\]]+)|\[(\d+)\]", field)
    return tuple(int(index) if index else name for name, index in names)


def parse_spec(text: str, *, file: str) -> HarnessSpec:
    """Validate the text of a spec."""
    data, lines = read_fields(text, file=file)
    return as_spec(data, lines, file=file)


def read_fields(text: str, *, file: str) -> tuple[dict[str, Any], Lines]:
    """The fields of a text and the line of each, before anything is known about them."""
    import yaml

    if len(text) > MAX_BYTES:
        raise SpecError(f"is larger than {MAX_BYTES} bytes", file=file)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark is not None else None
        raise SpecError(f"is not valid YAML: {problem}", file=file, line=line) from error
    if node is None or not isinstance(data, dict):
        raise SpecError(
            "must be a mapping with at least `version: 1` and `name`", file=file, line=1
        )
    return data, _lines(node)


def as_spec(data: dict[str, Any], lines: Lines, *, file: str) -> HarnessSpec:
    """Validate fields strictly; what is wrong is told with its line."""
    _check_names(data, HarnessSpec, (), lines, file)
    try:
        return msgspec.convert(data, HarnessSpec)
    except msgspec.ValidationError as error:
        message, place = _read_error(str(error))
        raise SpecError(message, file=file, line=nearest_line(lines, place)) from error


def _lines(node: yaml.Node, at: Place = ()) -> Lines:
    """The line of every field."""
    import yaml

    lines: Lines = {at: node.start_mark.line + 1}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*at, str(key.value))
            lines.update(_lines(value, below))
            lines[below] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines.update(_lines(value, (*at, index)))
    return lines


def _check_names(data: dict[Any, Any], kind: type, at: Place, lines: Lines, file: str) -> None:
    """Refuse fields that do not exist, before their values are looked at."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in data.items():
        place = (*at, str(key))
        if key not in fields:
            raise SpecError(
                unknown_field(str(key), at, fields), file=file, line=nearest_line(lines, place)
            )
        inner = _section(fields[key])
        if inner is None:
            continue
        if isinstance(value, dict) and not _is_map(fields[key]):
            _check_names(value, inner, place, lines, file)
        elif isinstance(value, list | dict):
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            for index, entry in entries:
                if isinstance(entry, dict):
                    _check_names(entry, inner, (*place, index), lines, file)


def _section(hint: Any) -> type | None:
    """The struct that a field holds, itself or in a list or a map."""
    for candidate in (hint, *get_args(hint)):
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            return candidate
        if get_args(candidate) and candidate is not hint:
            found = _section(candidate)
            if found is not None:
                return found
    return None


def _is_map(hint: Any) -> bool:
    return any(get_origin(candidate) is dict for candidate in (hint, *get_args(hint)))


def _read_error(text: str) -> tuple[str, Place]:
    """Split msgspec's message into what is wrong and where."""
    message, _, where = text.partition(" - at `$")
    names = re.findall(r"\.([A-Za-z_]\w*)|\[(\d+)\]", where)
    place: Place = tuple(name or int(index) for name, index in names)
    field = ".".join(str(part) for part in place)
    return (f"{field}: {message}" if field else message), place


def nearest_line(lines: Lines, place: Place) -> int | None:
    """The line of a field, or of the nearest one above it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place)
