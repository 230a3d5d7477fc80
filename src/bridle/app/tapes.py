"""Recorded runs as models: `replay/RUN`, read from the store that the harness uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.app.records import find_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from bridle.ports.model import Model
    from bridle.ports.store import Store
    from bridle.runs.tree import Family


def tape_source(
    records: Callable[[], AbstractAsyncContextManager[Store]],
) -> Callable[[str], Model]:
    """What makes the model of `replay/RUN`; the record is read when a run first needs it."""

    async def read(name: str) -> Family:
        from bridle.runs.tree import family, read_tree

        async with records() as store:
            row = await find_run(store, name)
            return family(await read_tree(store, row.thread_id, run_id=row.run_id))

    def source(name: str) -> Model:
        from bridle.runs.tape_model import TapeModel

        return TapeModel(name, read)

    return source
