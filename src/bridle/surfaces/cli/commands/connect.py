"""`bridle connect PROVIDER`."""

from __future__ import annotations

import sys

import anyio
import click

from bridle.app.catalog import connect_provider, forget_key, key_page, store_key
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.options import json_option
from bridle.surfaces.cli.output import json_line, talk


@click.command(epilog="Example: echo $KEY | bridle connect anthropic")
@click.argument("provider")
@click.option("--model", help="Try the key with this model.")
@click.option("--no-try", is_flag=True, help="Do not call the provider.")
@click.option("--forget", is_flag=True, help="Drop the stored key instead.")
@json_option
def command(provider: str, model: str | None, no_try: bool, forget: bool, as_json: bool) -> int:
    """Store a key for PROVIDER, in the keyring or in a file that only you can read, and try it.

    The key is asked for, or read from standard input; it is never an argument.
    """
    if forget:
        talk("Forgotten." if forget_key(provider) else f"There was no key for {provider}.")
        return exits.OK
    if sys.stdin.isatty():
        page = key_page(provider)
        where = f" (from {page})" if page else ""
        key = click.prompt(f"Key for {provider}{where}", hide_input=True, err=True)
    else:
        key = sys.stdin.read().strip()
    if no_try:
        talk(f"Stored the key for {provider} in the {store_key(provider, key)}.")
        if as_json:
            json_line([{"provider": provider, "ok": None, "message": "not tried"}])
        return exits.OK
    done = anyio.run(connect_provider, provider, key, model)
    if done.place is not None:
        talk(f"Stored the key for {provider} in the {done.place}.")
    if done.shadowed_by is not None:
        told = f"{done.shadowed_by} is set and wins over the stored key; it was not tried."
        if as_json:
            json_line([{"provider": provider, "ok": None, "message": told}])
        talk(told)
        return exits.OK
    tried = done.tried
    assert tried is not None
    if as_json:
        json_line([{"provider": provider, "ok": tried.ok, "message": tried.message}])
    talk(tried.message)
    if tried.ok:
        return exits.OK
    return exits.PROVIDER_REFUSED if tried.kind == "refused" else exits.UNAVAILABLE
