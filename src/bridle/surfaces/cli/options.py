"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Amount(click.FloatRange):
    """A number of something: more than nothing, or at least so much, and not endless."""

    def __init__(self, least: float = 0) -> None:
        super().__init__(min=least, min_open=not least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what no comparison holds for."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not an amount.", param, ctx)
        return number


FORMATS = ("text", "json", "stream-json")
"""How a run is printed."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
store_option = click.option(
    "--store", "store", metavar="URL", default=None, help="The store to read, if not your own."
)
spec_option = click.option(
    "--spec", type=click.Path(path_type=Path), help="A harness.yaml, if not the one here."
)
