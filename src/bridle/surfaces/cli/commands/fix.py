"""`bridle fix`: repair failing tests with the embedded agent."""

from __future__ import annotations

from pathlib import Path

import click

from bridle.errors import UserError
from bridle.surfaces.cli.options import FORMATS, Amount

TASK = "Make the failing tests pass with the smallest change. Do not touch the tests."
SAMPLE = "bridle-sample"


@click.command(epilog="Example: bridle fix --sample")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--sample", is_flag=True, help=f"Try it on a small project, copied to ./{SAMPLE}.")
@click.option("--model", help="Use this model instead of the embedded one.")
@click.option("--provider", help="Use this provider's model instead of the embedded one.")
@click.option(
    "--seconds",
    type=Amount(least=1),
    default=60.0,
    show_default=True,
    help="How long to look for a repair.",
)
@click.option(
    "--output-format", "format_", type=click.Choice(FORMATS), default="text", show_default=True
)
@click.option("--sandbox", help="auto, bubblewrap, landlock, read-only, no-shell or none.")
@click.option("--store", metavar="URL", help="Where the record goes, if not your own store.")
@click.option("--trust", is_flag=True, help="Trust what the project brings, as it is now.")
def command(
    path: Path | None,
    sample: bool,
    model: str | None,
    provider: str | None,
    seconds: float,
    format_: str,
    sandbox: str | None,
    store: str | None,
    trust: bool,
) -> int:
    """Find and fix the bug behind failing tests in PATH, and verify it.

    Without --model nothing is called: the embedded agent finds suspicious lines by coverage, tries
    small edits on copies, and keeps the smallest one with which all tests pass. Files are changed
    only then. Exits 3 when it is not fixed.
    """
    import anyio

    from bridle.app.ruling import RunOptions
    from bridle.surfaces.cli.job import Job, do

    place = _place(path, sample)
    options = RunOptions(
        cwd=place,
        model=model,
        provider=provider,
        store=store,
        sandbox=sandbox,
        trust=trust,
        repair=True,
        repair_seconds=seconds,
    )
    job = Job(task=TASK, resume=False, thread=None, format=format_, must_verify=True)
    return anyio.run(do, options, job)


def _place(path: Path | None, sample: bool) -> Path:
    if not sample:
        return path or Path()
    from bridle.app.samples import copy_sample
    from bridle.surfaces.cli.output import talk

    target = path or Path(SAMPLE)
    try:
        copied = copy_sample(target)
    except FileExistsError:
        raise UserError(f"{target} exists already; remove it, or give another PATH.") from None
    talk(f"copied a small project with a bug to {copied}")
    return copied
