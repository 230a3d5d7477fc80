"""What runs used: tokens and money by run and by model, with the runs below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.types import events as ev
from bridle.types.base import Fact
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.runs.tree import Family


class Spent(Fact, frozen=True, kw_only=True):
    """What one run used of one model.

    `estimated` requests are those that the provider did not count; the price of `unpriced` ones is
    not known, and they are not in the cost.
    """

    run_id: str
    parent_run_id: str | None
    depth: int
    model: str
    requests: int
    estimated: int
    unpriced: int
    usage: Usage
    cost_usd: float


class Total(Fact, frozen=True, kw_only=True):
    """The sum over runs, or over the requests to one model."""

    requests: int = 0
    estimated: int = 0
    unpriced: int = 0
    usage: Usage = Usage()
    cost_usd: float = 0.0

    def plus(self, spent: Spent) -> Total:
        """Add one more."""
        return Total(
            requests=self.requests + spent.requests,
            estimated=self.estimated + spent.estimated,
            unpriced=self.unpriced + spent.unpriced,
            usage=self.usage + spent.usage,
            cost_usd=self.cost_usd + spent.cost_usd,
        )


def unsure(spent: Total | Spent) -> str:
    """What is not known of a cost, to be put behind it."""
    marks = [
        f"{count} {what}"
        for count, what in ((spent.estimated, "estimated"), (spent.unpriced, "of unknown price"))
        if count
    ]
    return f" ({', '.join(marks)})" if marks else ""


class Costs(Fact, frozen=True, kw_only=True):
    """What was spent where, and the totals."""

    runs: tuple[Spent, ...]
    models: dict[str, Total]
    total: Total


def costs(families: Iterable[Family]) -> Costs:
    """Add up what runs and the runs below them used."""
    rows: list[Spent] = []
    for whole in families:
        _collect(whole, None, 0, rows)
    models: dict[str, Total] = {}
    total = Total()
    for row in rows:
        models[row.model] = models.get(row.model, Total()).plus(row)
        total = total.plus(row)
    return Costs(runs=tuple(rows), models=models, total=total)


def _collect(whole: Family, parent: str | None, depth: int, rows: list[Spent]) -> None:
    rows += _spent(whole, parent, depth)
    for child in whole.children.values():
        _collect(child, whole.run_id, depth + 1, rows)


def _spent(whole: Family, parent: str | None, depth: int) -> list[Spent]:
    """A request's usage is its model's: that of the message that began last."""
    model = "?"
    found: dict[str, Spent] = {}
    for event in whole.events:
        match event:
            case ev.RunStarted():
                model = event.model_id or model
            case ev.MessageStarted(request=request) if request is not None:
                model = request.model
            case ev.UsageUpdated():
                before = found.get(model) or Spent(
                    run_id=whole.run_id,
                    parent_run_id=parent,
                    depth=depth,
                    model=model,
                    requests=0,
                    estimated=0,
                    unpriced=0,
                    usage=Usage(),
                    cost_usd=0.0,
                )
                found[model] = msgspec.structs.replace(
                    before,
                    requests=before.requests + 1,
                    estimated=before.estimated + event.estimated,
                    unpriced=before.unpriced + (event.unpriced is True),
                    usage=before.usage + event.usage,
                    cost_usd=before.cost_usd + event.cost_usd,
                )
            case _:
                pass
    return list(found.values())
