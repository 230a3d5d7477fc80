"""Data on stdout, talk on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

_json = msgspec.json.Encoder()


def talk(text: str) -> None:
    """Say something to a person."""
    click.echo(text, err=True)


def data(text: str) -> None:
    """Print data."""
    click.echo(text)


def json_line(value: Any) -> None:
    """Print one JSON value on a line."""
    sys.stdout.write(_json.encode(value).decode() + "\n")
    sys.stdout.flush()


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns."""
    widths = [
        max(len(header), *(len(row[column]) for row in rows)) if rows else len(header)
        for column, header in enumerate(headers)
    ]
    for row in (headers, *rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        data(line.rstrip())


def short(text: str, length: int = 60) -> str:
    """The first line of a text, cut."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= length else line[: length - 1] + "…"
