"""Read a spec from YAML or JSON; what is wrong is told with its line and the nearest name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import msgspec

from bridle.errors import SpecError, suggest
from bridle.spec.model import HarnessSpec
from bridle.spec.planned import unknown_field
from bridle.spec.text import read_fields

if TYPE_CHECKING:
    from pathlib import Path

    from bridle.spec.text import Lines, Place

SPEC_NAME = "harness.yaml"
WORDS = {"yes": True, "on": True, "no": False, "off": False}
"""What a field that is a boolean may also say."""


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


def as_spec(data: dict[str, Any], lines: Lines, *, file: str) -> HarnessSpec:
    """Validate fields strictly; what is wrong is told with its line."""
    _check_names(data, HarnessSpec, (), lines, file)
    try:
        return msgspec.convert(data, HarnessSpec)
    except msgspec.ValidationError as error:
        message, place = _read_error(str(error))
        raise SpecError(message, file=file, line=nearest_line(lines, place)) from error


def _check_names(data: dict[Any, Any], kind: type, at: Place, lines: Lines, file: str) -> None:
    """Refuse fields that do not exist, before their values are looked at.

    Words for a boolean are put right in place: layers compare what they say.
    """
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in data.items():
        place = (*at, str(key))
        if key not in fields:
            raise SpecError(
                unknown_field(str(key), at, fields), file=file, line=nearest_line(lines, place)
            )
        if isinstance(value, str) and bool in (fields[key], *get_args(fields[key])):
            data[key] = WORDS.get(value.lower(), value)
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
    known = _choices(place)
    if known and message.startswith("Invalid enum value"):
        value = message.removeprefix("Invalid enum value").strip().strip("'")
        return suggest(value, map(str, known), what=f"value of {field}"), place
    return (f"{field}: {message}" if field else message), place


def _choices(place: Place) -> tuple[Any, ...]:
    """The values that a field may have, where they can be listed."""
    hint: Any = HarnessSpec
    for part in place:
        section = _section(hint)
        known = msgspec.structs.fields(section) if section is not None else ()
        found = {field.encode_name: field.type for field in known}
        hint = found.get(str(part), section)  # or an entry of a list or a map of sections
    return next(
        (get_args(one) for one in (hint, *get_args(hint)) if get_origin(one) is Literal), ()
    )


def nearest_line(lines: Lines, place: Place) -> int | None:
    """The line of a field, or of the nearest one above it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place)
