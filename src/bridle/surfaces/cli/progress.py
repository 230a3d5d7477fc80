"""Live progress for a person at a terminal: steps, calls, changes, cost and what is left of it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import click
import msgspec

from bridle.runs.words import told
from bridle.surfaces.cli.output import short, talk
from bridle.types import events as ev
from bridle.types.limits import DEFAULT_MAX_STEPS, Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DETAIL = 100
DIFF_LINES = 30
BAR = 12
NAMES = ("path", "command", "pattern", "url", "question", "title", "task", "query")


class Progress:
    """Shows events on stderr; the answer itself goes to stdout."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._limits = Limits()
        self._steps = 0
        self._tokens = 0
        self._usd = 0.0
        self._open_line = False
        self.streamed = ""
        """The last words of the model, as they were shown."""

    def __call__(self, event: ev.AnyEvent) -> None:
        """Show one event."""
        match event:
            case ev.RunStarted():
                self._limits = event.limits
            case ev.MessageStarted(role="assistant"):
                self.streamed = ""
            case ev.MessageDelta(kind="text"):
                self.streamed += event.delta
                self._open_line = not event.delta.endswith("\n")
                click.echo(event.delta, err=True, nl=False)
            case ev.UsageUpdated():
                self._spent(event)
            case ev.ToolCalled():
                self._line(f"{click.style('●', fg='cyan')} {call_line(event.tool, event.args)}")
                for line in change_lines(self._root, event.tool, event.args):
                    self._line(f"  {line}")
            case ev.ToolProgress():
                self._line(f"  {short(event.text, DETAIL)}")
            case ev.ToolReturned(is_error=True):
                what = "denied" if event.denied else "failed"
                self._line(click.style(f"  {what}: {gist(event.tool, event.result)}", fg="red"))
            case ev.CheckStarted():
                self._line(
                    f"{click.style('●', fg='cyan')} check {event.name}: {plain(event.command)}"
                )
            case ev.CheckEnded():
                colour, word = ("green", "passed") if event.passed else ("red", "failed")
                self._line(f"  {click.style(word, fg=colour)} ({event.duration_ms / 1000:.1f} s)")
            case _:
                self._notice(event)

    def _notice(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.ModelRetried():
                self._line(f"  retrying in {event.delay:.1f} s: {event.why}")
            case ev.ModelFellBack():
                self._line(f"  {event.to_model} answers instead: {event.why}")
            case ev.Noted():
                self._line(f"  {event.text}")
            case ev.HookRan(outcome="failed" | "blocked" | "halted"):
                self._line(f"  hook {plain(told(event))}")
            case _:
                pass

    def _spent(self, event: ev.UsageUpdated) -> None:
        self._steps += 1
        self._tokens += event.usage.total_tokens
        self._usd += event.cost_usd
        parts = [f"step {self._steps}", f"{self._tokens:,} tokens", f"{self._usd:.4f} USD"]
        bar = budget_bar(self._limits, steps=self._steps, tokens=self._tokens, usd=self._usd)
        self._line(click.style("  " + " · ".join([*parts, *([bar] if bar else [])]), dim=True))

    def _line(self, text: str) -> None:
        if self._open_line:
            talk("")
            self._open_line = False
        talk(text)

    def finish(self) -> None:
        """End a line that the model left open."""
        if self._open_line:
            talk("")
            self._open_line = False


def call_line(tool: str, args: dict[str, Any]) -> str:
    """A call on one line: what it is about, not all that it says."""
    about = next((str(args[name]) for name in NAMES if args.get(name)), None)
    if about is None:
        about = msgspec.json.encode(args).decode() if args else ""
    return f"{tool} {short(about, DETAIL)}".rstrip()


def plain(command: str) -> str:
    """A command with its program by name, wherever that is installed."""
    program, space, rest = command.partition(" ")
    return f"{program.rpartition('/')[2]}{space}{short(rest, DETAIL)}"


def gist(tool: str, text: str) -> str:
    """The line of a failure that says most: a command's last, any other's first."""
    lines = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    if not lines:
        return short(text, DETAIL)
    return short(lines[-1] if tool == "bash" else lines[0], DETAIL)


def change_lines(root: Path, tool: str, args: dict[str, Any]) -> Iterator[str]:
    """The change that a call is about to make, as a diff of some lines."""
    pairs = list(_changes(root, tool, args))
    shown = 0
    for before, after in pairs:
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
        for line in list(lines)[2:]:
            if line.startswith("@@"):
                continue
            if shown == DIFF_LINES:
                yield "…"
                return
            shown += 1
            yield click.style(line, fg={"+": "green", "-": "red"}.get(line[:1]))


def _changes(root: Path, tool: str, args: dict[str, Any]) -> Iterator[tuple[str, str]]:
    match tool:
        case "edit_file":
            yield str(args.get("old", "")), str(args.get("new", ""))
        case "multi_edit":
            for edit in args.get("edits") or ():
                if isinstance(edit, dict):
                    yield str(edit.get("old", "")), str(edit.get("new", ""))
        case "write_file":
            yield _present(root / str(args.get("path", ""))), str(args.get("content", ""))
        case _:
            return


def _present(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace") if path.is_file() else ""
    except OSError:  # the call itself will say why
        return ""


def budget_bar(limits: Limits, *, steps: int, tokens: int, usd: float) -> str:
    """How much of the tightest limit is used; nothing where none was set."""
    used = {
        "max_usd": usd / limits.max_usd if limits.max_usd else None,
        "max_tokens": tokens / limits.max_tokens if limits.max_tokens else None,
        "max_steps": steps / limits.max_steps if limits.max_steps < DEFAULT_MAX_STEPS else None,
    }
    known = {name: share for name, share in used.items() if share is not None}
    if not known:
        return ""
    name = max(known, key=lambda one: known[one])
    share = min(known[name], 1.0)
    full = round(share * BAR)
    return f"{'█' * full}{'░' * (BAR - full)} {share:.0%} of {name}"
