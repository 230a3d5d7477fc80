"""The group of commands; each is imported when it is called."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING

import click

from bridle.errors import BridleError, UserError
from bridle.surfaces.cli import exits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Give the agent a task in this directory."),
    "fix": ("fix", "Repair failing tests, with no key and no network."),
    "chat": ("chat", "Talk to the agent line by line."),
    "runs": ("runs", "List runs."),
    "events": ("events", "Print the events of a run."),
    "threads": ("threads", "List threads."),
    "approvals": ("approvals", "List what waits for an answer."),
    "approve": ("approve", "Let a waiting call run."),
    "reject": ("reject", "Do not let a waiting call run."),
    "answer": ("answer", "Answer a question or a plan that waits."),
    "undo": ("undo", "Take back what a run did to files and conversation."),
    "models": ("models", "List models, prices and keys."),
    "connect": ("connect", "Store a provider's key and try it."),
    "fork": ("fork", "Go on from an earlier event, in a copy."),
    "replay": ("replay", "Run a run again from its log and compare."),
    "verify": ("verify", "Check that a run's record was not changed."),
    "why": ("why", "Tell why an event happened, and what would change it."),
    "evidence": ("evidence", "Show what a run was asked, did, changed and spent."),
    "graph": ("graph", "Draw a run: steps, calls, subagents."),
    "cost": ("cost", "Add up tokens and money."),
    "policy": ("policy", "Explain, test and learn what is allowed."),
    "backtest": ("backtest", "Decide the calls of past runs with another policy."),
    "explain": ("explain", "Print what the project's spec means."),
    "validate": ("validate", "Check a harness.yaml and run its policy tests."),
    "tail": ("tail", "Follow the events of all threads."),
    "gc": ("gc", "Drop snapshots and artefacts that no kept run needs."),
    "config": ("config", "Print the settings that hold here, and their origin."),
    "schema": ("schema", "Print JSON Schemas of events and spec."),
    "completion": ("completion", "Print a shell's completion script."),
}


class LazyGroup(click.Group):
    """Knows the names of the commands and imports one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"bridle.surfaces.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest name for one that does not exist."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from bridle.errors import suggest

            raise click.UsageError(suggest(name, COMMANDS, what="command"), ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: bridle run 'make the tests pass'",
)
@click.version_option(package_name="bridle", message="bridle %(version)s")
def bridle() -> None:
    """Give an agent a task and get back a result that you can trust."""


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; every failure is one line on stderr."""
    sys.excepthook = _crashed
    try:
        _check_place(arguments)
        code = bridle.main(list(arguments), standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return exits.USAGE
    except click.Abort:
        return exits.INTERRUPTED
    except BrokenPipeError:
        return exits.FAILED
    except (BridleError, OSError) as error:
        return _say(error)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    return code if isinstance(code, int) else 0


def _check_place(arguments: Sequence[str]) -> None:
    """What is said to a model, recorded or printed is text, and there is a directory to be in."""
    try:
        os.getcwd()  # noqa: PTH109 - nothing else of pathlib is needed here
    except FileNotFoundError as error:
        raise UserError("The current directory does not exist any more.") from error
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - nothing else of pathlib is needed here
        raise UserError("This user has no home directory; set HOME to one that can be written to.")
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"The argument {argument!r} is not UTF-8 text.") from error


def _say(error: BridleError | OSError) -> int:
    with contextlib.suppress(OSError):  # nobody is left to be told
        click.echo(_hidden(f"bridle: {error}"), err=True)
    return exits.refusal_code(error)


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show what nobody expected, without the secrets that may be in its words."""
    import traceback

    sys.stderr.write(_hidden("".join(traceback.format_exception(kind, error, trace))))


def _hidden(text: str) -> str:
    from bridle.app.secrets import hidden_by_environment

    return hidden_by_environment(text)
