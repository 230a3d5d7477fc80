"""docs/reference/cli.md from the commands of the executable."""

from __future__ import annotations

import importlib
import inspect

import click
from markdown import table

from bridle.surfaces.cli.main import COMMANDS

CLI_INTRO = """# Command line

Data goes to stdout, talk to stderr, and nothing is coloured or asked when there is no terminal.
`RUN` is the id of a run, the last four or more characters of one, or `last`. The record is kept in
`$XDG_STATE_HOME/bridle/bridle.db` (`~/.local/state` without that variable); `BRIDLE_HOME` puts all
of Bridle's files into one directory. [Exit codes](exit-codes.md) have a page of their own.

`bridle --version` prints the version, `bridle --help` lists the commands, and
`bridle COMMAND --help` explains one.
"""


def cli_page() -> str:
    parts = [CLI_INTRO]
    for name, (module, _) in COMMANDS.items():
        command: click.Command = importlib.import_module(
            f"bridle.surfaces.cli.commands.{module}"
        ).command
        parts.append(command_part(name, command))
    return "\n".join(parts)


def command_part(name: str, command: click.Command) -> str:
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    shown = [p.make_metavar(click.Context(command)) for p in arguments]
    usage = " ".join(["bridle", name, *shown, "[OPTIONS]"])
    parts = [f"## bridle {name}\n", f"    {usage}\n", inspect.cleandoc(command.help or "") + "\n"]
    if isinstance(command, click.Group):
        below = [command_part(f"{name} {key}", one) for key, one in command.commands.items()]
        nested = [part.replace("## ", "### ", 1) for part in below]
        own = parts if command.invoke_without_command else [parts[0], *parts[2:]]
        return "\n".join([*own, *_options(command), *nested])
    return "\n".join([*parts, *_options(command)])


def _options(command: click.Command) -> list[str]:
    parts = []
    options = [p for p in command.params if isinstance(p, click.Option)]
    if options:
        parts.append(table(("option", "value", "meaning"), map(option_row, options)))
    if command.epilog:
        example = command.epilog.removeprefix("Example: ")
        parts.append(f"Example: `{example}`\n")
    return parts


def option_row(option: click.Option) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in option.opts)
    value = ""
    if not option.is_flag:
        choices = getattr(option.type, "choices", None)
        value = ", ".join(f"`{c}`" for c in choices) if choices else _metavar(option)
    meaning = option.help or ""
    if option.show_default and option.default is not None:
        meaning = f"{meaning} Default: `{option.default}`.".strip()
    return names, value, meaning


def _metavar(option: click.Option) -> str:
    kind = option.type.name.removesuffix(" range")
    return option.metavar or {"float": "NUMBER"}.get(kind, kind.upper())
