"""`bridle policy explain|test|learn`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from bridle.app.lessons import Lesson, allowing, learn_rules
from bridle.app.policy import explain_call, run_policy_tests
from bridle.app.records import open_records
from bridle.app.ruling import RunOptions
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.options import json_option, spec_option, store_option
from bridle.surfaces.cli.output import data, json_line, talk
from bridle.surfaces.cli.rulings import show_decision
from bridle.types.words import counted

if TYPE_CHECKING:
    from pathlib import Path


@click.group(epilog="Example: bridle policy explain 'bash(git push)'")
def command() -> None:
    """Ask the project's policy, without running anything."""


@command.command("explain", epilog="Example: bridle policy explain 'bash(git push)'")
@click.argument("call")
@spec_option
@json_option
def explain_command(call: str, spec: Path | None, as_json: bool) -> None:
    """Tell what would be decided about CALL, by which rule, and what would change that.

    CALL is written as in policy tests: `bash(git push)`, `write_file(src/a.py)`.
    """
    found = explain_call(RunOptions(spec=spec), call)
    if as_json:
        json_line([msgspec.to_builtins(found)])
    else:
        show_decision(found)


@command.command("test", epilog="Example: bridle policy test")
@spec_option
@json_option
def test_command(spec: Path | None, as_json: bool) -> int:
    """Run the spec's `policy_tests` and tell which rules they exercise; exits 1 if one fails."""
    found = run_policy_tests(RunOptions(spec=spec))
    failed = [test for test in found.tests if not test.passed]
    if as_json:
        json_line([msgspec.to_builtins(found)])
        return exits.FAILED if failed else exits.OK
    for test in found.tests:
        if test.passed:
            data(f"ok    {test.call} {test.effect} by {test.rule}")
        else:
            because = f" ({test.because})" if test.because else ""
            data(
                f"FAIL  {test.call} expected {test.expect}{because}, got {test.effect} "
                f"by {test.rule} [{test.source}]"
            )
    rules = len(found.touched) + len(found.untouched)
    talk(
        f"{len(found.tests) - len(failed)} of {counted(len(found.tests), 'test')} passed; "
        f"{len(found.touched)} of {counted(rules, 'rule')} exercised"
    )
    for rule in found.untouched:
        talk(f"never exercised: {rule}")
    return exits.FAILED if failed else exits.OK


@command.command("learn", epilog="Example: bridle policy learn last")
@click.argument("runs", nargs=-1, required=True)
@spec_option
@json_option
@store_option
def learn_command(
    runs: tuple[str, ...], spec: Path | None, as_json: bool, store: str | None
) -> None:
    """Find the fewest rules that would have allowed what RUNS did, beside the project's own.

    RUNS are ids, `last`, or JSONL transcripts of other tools. What was refused then is not learned,
    and what the policy denies stays denied.
    """
    found = anyio.run(_learn, store, spec, runs)
    if as_json:
        json_line([msgspec.to_builtins(found)])
        return
    if found.rules:
        data(allowing(found.rules))
    else:
        talk("No rule is needed: nothing of it would be asked.")
    for call, why in found.uncovered:
        talk(f"not allowed by any rule: {call}: {why}")
    talk(f"{counted(len(found.rules), 'rule')} for {counted(found.calls, 'call')}")


async def _learn(url: str | None, spec: Path | None, runs: tuple[str, ...]) -> Lesson:
    async with open_records(url) as store:
        return await learn_rules(store, RunOptions(spec=spec), runs)
