"""The options that say which harness works: what `run` and `chat` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.surfaces.cli.backends import check_backend
from bridle.surfaces.cli.options import Amount

if TYPE_CHECKING:
    from bridle.app.ruling import RunOptions
    from bridle.surfaces.cli.options import F

OPTIONS = (
    click.option("--spec", type=click.Path(path_type=Path), help="A harness.yaml."),
    click.option("--model", help="provider/model, or scripted/FILE."),
    click.option("--provider", help="A provider, with its default model or the one of --model."),
    click.option(
        "--backend",
        default="builtin",
        show_default=True,
        help="What runs the loop; the others of the format are refused.",
    ),
    click.option("--mode", help="The mode to work in."),
    click.option("--profile", help="strict, balanced, auto-edit, yolo or deny."),
    click.option("--yolo", is_flag=True, help="Ask for nothing; denies still hold."),
    click.option("--trust", is_flag=True, help="Trust what the project brings, as it is now."),
    click.option("--max-usd", type=Amount()),
    click.option("--max-steps", type=click.IntRange(min=1)),
    click.option("--timeout", type=Amount(), metavar="SECONDS"),
    click.option("--no-checks", is_flag=True, help="Do not run the project's checks."),
    click.option("--sandbox", help="auto, bubblewrap, landlock, read-only, no-shell or none."),
    click.option("--store", metavar="KIND|URL", help="Where the record goes: sqlite, memory, URL."),
    click.option("--cwd", type=click.Path(path_type=Path), default=Path(), help="Work there."),
)


def harness_options(function: F) -> F:
    """Add the options to a command."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def options_of(
    flags: dict[str, Any],
    *,
    answerable: bool = True,
    output_schema: dict[str, Any] | None = None,
) -> RunOptions:
    """What the options ask for; what works with them is imported only now."""
    from bridle.app.ruling import RunOptions
    from bridle.types.limits import DEFAULT_MAX_STEPS, Limits

    check_backend(flags["backend"])
    return RunOptions(
        cwd=flags["cwd"],
        spec=flags["spec"],
        model=flags["model"],
        provider=flags["provider"],
        store=flags["store"],
        profile=flags["profile"],
        sandbox=flags["sandbox"],
        yolo=flags["yolo"],
        answerable=answerable,
        trust=flags["trust"],
        limits=Limits(
            max_steps=flags["max_steps"] or DEFAULT_MAX_STEPS,
            max_usd=flags["max_usd"],
            timeout=flags["timeout"],
        ),
        checks=not flags["no_checks"],
        output_schema=output_schema,
    )
