"""The text of a spec as data and lines, before anything is known about its fields."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from bridle.errors import SpecError

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 1_000_000
MAX_FIELDS = 100_000
BOOL = "tag:yaml.org,2002:bool"

Place = tuple[str | int, ...]
Lines = dict[Place, int]


def read_fields(text: str, *, file: str) -> tuple[dict[str, Any], Lines]:
    """The fields of a text and the line of each."""
    import yaml

    if len(text) > MAX_BYTES:
        raise SpecError(f"is larger than {MAX_BYTES} bytes", file=file)
    lines: Lines = {}
    try:
        loader = _loader()(text)
        node = loader.get_single_node()
        if node is not None:
            _find_lines(node, (), lines, file)
        data = loader.construct_document(node) if node is not None else None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark is not None else None
        raise SpecError(f"is not valid YAML: {problem}", file=file, line=line) from error
    if not isinstance(data, dict):
        raise SpecError(
            "must be a mapping with at least `version: 1` and `name`", file=file, line=1
        )
    return data, lines


def read_value(text: str) -> Any:
    """One value, as it would be written in a spec; raises `yaml.YAMLError`."""
    import yaml

    return yaml.load(text, Loader=_loader())


@cache
def _loader() -> type[yaml.SafeLoader]:
    """Only `true` and `false` are booleans by themselves: `reasoning: off` is a word."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in known if tag != BOOL]
            for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    Loader.add_implicit_resolver(BOOL, re.compile("^(?:true|false)$", re.IGNORECASE), list("tTfF"))
    return Loader


def _find_lines(node: yaml.Node, at: Place, lines: Lines, file: str) -> None:
    """The line of every field; a field that is given twice is refused."""
    import yaml

    if len(lines) > MAX_FIELDS:
        raise SpecError(f"has more than {MAX_FIELDS} fields", file=file)
    lines[at] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below, line = (*at, str(key.value)), key.start_mark.line + 1
            if below in lines:
                name = ".".join(map(str, below))
                text = f"{name} is given twice, first in line {lines[below]}"
                raise SpecError(text, file=file, line=line)
            _find_lines(value, below, lines, file)
            lines[below] = line
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _find_lines(value, (*at, index), lines, file)
