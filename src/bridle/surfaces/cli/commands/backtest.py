"""`bridle backtest POLICY --from RUNS`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from bridle.app.lessons import Backtested, backtest_policy
from bridle.app.records import open_records
from bridle.app.ruling import RunOptions
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line
from bridle.types.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.app.lessons import Shift


@click.command(epilog="Example: bridle backtest stricter.yaml --from last")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("more", nargs=-1, metavar="[RUNS]...")
@click.option("--from", "runs", multiple=True, required=True, metavar="RUN", help="Take its calls.")
@json_option
@store_option
def command(
    policy: Path, more: tuple[str, ...], runs: tuple[str, ...], as_json: bool, store: str | None
) -> None:
    """Decide the calls of past RUNS with POLICY, a harness.yaml, and tell what would differ.

    RUNS are ids, `last`, or JSONL transcripts of other tools, whose calls count as allowed.
    """
    found = anyio.run(_backtest, store, policy, (*runs, *more))
    if as_json:
        json_line([msgspec.to_builtins(found)])
        return
    _show("blocked", found.newly_blocked)
    _show("asked", found.newly_asked)
    _show("allowed", found.newly_allowed)
    data(
        f"{counted(found.total, 'call')}: {found.same} the same, "
        f"{len(found.newly_blocked)} newly blocked, "
        f"{len(found.newly_asked)} newly asked, {len(found.newly_allowed)} newly allowed, "
        f"{found.prompts_saved} prompts saved"
    )


def _show(word: str, shifts: Sequence[Shift]) -> None:
    for shift in shifts:
        data(f"newly {word:<8} {shift.call}  was {shift.before}, by {shift.rule} ({shift.origin})")


async def _backtest(url: str | None, policy: Path, runs: tuple[str, ...]) -> Backtested:
    async with open_records(url) as store:
        return await backtest_policy(store, RunOptions(spec=policy), runs)
