"""What a run that goes on needs to know before its harness is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.app.coding import store_of
from bridle.app.project import resource_of
from bridle.app.records import open_records

if TYPE_CHECKING:
    from bridle.app.ruling import RunOptions


async def with_open_model(options: RunOptions, thread_id: str | None) -> RunOptions:
    """The options with the model of the run that is open here, unless a flag names another.

    A run goes on with the model that it was started with, also where none could be chosen now.
    """
    if options.model is not None or options.provider is not None:
        return options
    resource = None if thread_id is not None else resource_of(options.root)
    async with open_records(store_of(options)) as store:
        rows = await store.runs(thread_id=thread_id, resource_id=resource)
    for row in rows:
        if row.status != "ended" and row.parent_run_id is None and row.model is not None:
            return msgspec.structs.replace(options, model=row.model)
    return options
