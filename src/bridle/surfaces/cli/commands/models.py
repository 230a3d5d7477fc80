"""`bridle models`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
import click

from bridle.app.catalog import check_provider, describe_model, list_models, pull_model
from bridle.app.records import open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line, table, talk

MILLION = 1_000_000


@click.group(invoke_without_command=True, epilog="Example: bridle models --ready")
@click.option("--ready", is_flag=True, help="Only those whose key is there.")
@click.option("--provider", help="Only those of one provider.")
@json_option
@store_option
@click.pass_context
def command(
    ctx: click.Context, ready: bool, provider: str | None, as_json: bool, store: str | None
) -> None:
    """List models: id, context window, price, whether a key is there, and how often used."""
    if ctx.invoked_subcommand is not None:
        return
    known = anyio.run(_models, store)
    if provider is not None and not any(row.provider == provider for row in known):
        check_provider(provider)
    rows = [
        row for row in known if (row.key_present or not ready) and provider in (None, row.provider)
    ]
    if as_json:
        json_line([_row(row) for row in rows])
        return
    if not rows:
        talk("No models. Store a key with: bridle connect PROVIDER")
        return
    table(
        ("MODEL", "CONTEXT", "USD/M IN", "USD/M OUT", "KEY", "USED"),
        [
            (
                row.id,
                str(row.context_window or "?"),
                _usd(row.price.input if row.price else None),
                _usd(row.price.output if row.price else None),
                "yes" if row.key_present else "no",
                str(row.use_count),
            )
            for row in rows
        ],
    )


@command.command("pull", epilog="Example: bridle models pull smollm2")
@click.argument("name")
def pull(name: str) -> None:
    """Fetch the weights of the local model NAME, check them, and keep them in the data directory.

    Running it takes the extra: pip install 'bridle[local]'.
    """
    last = [""]

    def show(progress: Any) -> None:
        text = f"{progress.stage} {100 * progress.done // max(progress.total, 1)} %"
        if text != last[0]:
            last[0] = text
            talk(text)

    place = pull_model(name, show)
    talk(f"{name} is at {place}. {describe_model(name)}")
    data(f"local/{name}")


def _usd(per_token: float | None) -> str:
    return "?" if per_token is None else f"{per_token * MILLION:.2f}"


def _row(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "provider": row.provider,
        "context_window": row.context_window,
        "price": None
        if row.price is None
        else {
            "input_per_million": row.price.input * MILLION,
            "output_per_million": row.price.output * MILLION,
        },
        "key_present": row.key_present,
        "use_count": row.use_count,
    }


async def _models(url: str | None) -> list[Any]:
    async with open_records(url) as store:
        used = Counter(run.model for run in await store.runs(limit=1000) if run.model)
    return await list_models(used)
