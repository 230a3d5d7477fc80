"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("text", "json", "stream-json")
"""How a run is printed."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
store_option = click.option(
    "--store", "store", metavar="URL", default=None, help="The store to read, if not your own."
)
spec_option = click.option(
    "--spec", type=click.Path(path_type=Path), help="A harness.yaml, if not the one here."
)
