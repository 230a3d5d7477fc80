"""Read a spec from YAML or JSON; what is wrong is told with its line and the nearest name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from bridle.errors import SpecError, suggest
from bridle.spec.model import HarnessSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import yaml

SPEC_NAME = "harness.yaml"
MAX_BYTES = 1_000_000

Place = tuple[str | int, ...]


def find_spec(directory: Path) -> Path | None:
    """The spec of a project, if it has one."""
    candidate = directory / SPEC_NAME
    return candidate if candidate.is_file() else None


def field_lines(path: Path) -> Callable[[str], str | None]:
    """Tells `file:line` of a field, such as `execution_policy.permissions[0]`."""
    import yaml

    node = yaml.compose(path.read_text("utf-8"), Loader=yaml.SafeLoader)
    lines = _lines(node) if node is not None else {}

    def at(field: str) -> str | None:
        names = re.findall(r"([^.\[\]]+)|\[(\d+)\]", field)
        place: Place = tuple(int(index) if index else name for name, index in names)
        line = _nearest(lines, place)
        return f"{path}:{line}" if line is not None else None

    return at


def load_spec(path: Path) -> HarnessSpec:
    """Read and validate a spec."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot be read: {error}", file=str(path)) from error
    return parse_spec(text, file=str(path))


def parse_spec(text: str, *, file: str) -> HarnessSpec:
    """Validate the text of a spec."""
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
    lines = _lines(node)
    _check_names(data, HarnessSpec, (), lines, file)
    try:
        return msgspec.convert(data, HarnessSpec)
    except msgspec.ValidationError as error:
        message, place = _read_error(str(error))
        raise SpecError(message, file=file, line=_nearest(lines, place)) from error


def _lines(node: yaml.Node, at: Place = ()) -> dict[Place, int]:
    """The line of every field."""
    import yaml

    lines: dict[Place, int] = {at: node.start_mark.line + 1}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*at, str(key.value))
            lines.update(_lines(value, below))
            lines[below] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines.update(_lines(value, (*at, index)))
    return lines


def _check_names(
    data: dict[Any, Any], kind: type, at: Place, lines: dict[Place, int], file: str
) -> None:
    """Refuse fields that do not exist, before their values are looked at."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in data.items():
        place = (*at, str(key))
        if key not in fields:
            where = ".".join(str(part) for part in at)
            what = f"field in {where}" if where else "field"
            raise SpecError(
                suggest(str(key), fields, what=what), file=file, line=_nearest(lines, place)
            )
        inner = _section(fields[key])
        if inner is not None and isinstance(value, dict):
            _check_names(value, inner, place, lines, file)


def _section(hint: Any) -> type | None:
    for candidate in (hint, *get_args(hint)):
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            return candidate
    return None


def _read_error(text: str) -> tuple[str, Place]:
    """Split msgspec's message into what is wrong and where."""
    message, _, where = text.partition(" - at `$")
    names = re.findall(r"\.([A-Za-z_]\w*)|\[(\d+)\]", where)
    place: Place = tuple(name or int(index) for name, index in names)
    field = ".".join(str(part) for part in place)
    return (f"{field}: {message}" if field else message), place


def _nearest(lines: dict[Place, int], place: Place) -> int | None:
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place)
