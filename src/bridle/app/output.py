"""Answers with a form: the schema that a model is given, and the value that its text stands for."""

from __future__ import annotations

from typing import Any

import msgspec


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type."""
    if hasattr(kind, "model_json_schema"):
        schema: dict[str, Any] = kind.model_json_schema()
        return schema
    return msgspec.json.schema(kind)


def parse_output(text: str, kind: Any) -> Any:
    """Read an answer; raises `ValueError` that says what is wrong with it."""
    body = _unfenced(text)
    try:
        if hasattr(kind, "model_validate_json"):
            return kind.model_validate_json(body)
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(f"The answer does not have the asked form: {error}") from error


def _unfenced(text: str) -> str:
    """Take the content of a code fence, where the model put one around its answer."""
    body = text.strip()
    if body.startswith("```") and body.endswith("```") and "\n" in body:
        return body[body.index("\n") + 1 : -3].strip()
    return body
