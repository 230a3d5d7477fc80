"""Answers with a form: the schema that a model is given, and the value that its text stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.types.output import answer_body


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type; one that is given is taken as it is."""
    if isinstance(kind, Mapping):
        return dict(kind)
    if hasattr(kind, "model_json_schema"):
        schema: dict[str, Any] = kind.model_json_schema()
        return schema
    return msgspec.json.schema(kind)


def parse_output(text: str, kind: Any) -> Any:
    """Read an answer; raises `ValueError` that says what is wrong with it."""
    body = answer_body(text)
    try:
        if isinstance(kind, Mapping):
            return msgspec.json.decode(body)
        if hasattr(kind, "model_validate_json"):
            return kind.model_validate_json(body)
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(f"The answer does not have the asked form: {error}") from error
