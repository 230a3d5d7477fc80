"""`bridle completion SHELL`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from bridle.errors import ConfigError
from bridle.surfaces.cli.output import data


@click.command(epilog='Example: eval "$(bridle completion bash)"')
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the script that completes commands and options in SHELL."""
    from bridle.surfaces.cli.main import bridle

    kind = get_completion_class(shell)
    if kind is None:
        raise ConfigError(f"There is no completion for {shell}.")
    data(kind(bridle, {}, "bridle", "_BRIDLE_COMPLETE").source())
