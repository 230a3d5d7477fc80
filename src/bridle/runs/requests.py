"""The requests of a run, built again from the recipes in its log.

The log keeps no bodies; a recipe names the head and how much of the conversation was sent, and the
fold of the thread has the rest. A provider's client makes the same bytes of the same request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.agent.request import cache_key, prefix_of
from bridle.agent.setup import RequestHead
from bridle.context.window import newest
from bridle.errors import UserError
from bridle.journal.state import ThreadState
from bridle.models.text_tools import Renderer
from bridle.ports.model import ModelRequest
from bridle.types import events as ev
from bridle.types.base import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_head = msgspec.json.Decoder(RequestHead)


class SentRequest(Fact, frozen=True, kw_only=True):
    """One request as it was sent: the event that recorded it, the model asked, and what it held."""

    seq: int
    model: str
    request: ModelRequest


def heads_of(events: Sequence[ev.Event], run_id: str) -> set[str]:
    """The blobs that the requests of a run begin with."""
    return {recipe.head for _, recipe in _recipes(events, run_id)}


def sent_requests(
    events: Sequence[ev.Event], run_id: str, blobs: Mapping[str, bytes]
) -> Iterator[SentRequest]:
    """Build the requests of a run again, in order; `events` are all of its thread, `blobs` by name.

    Raises `UserError` where the log does not hold what a recipe names.
    """
    state = ThreadState(events[0].thread_id if events else "")
    wanted = dict(_recipes(events, run_id))
    for event in events:
        recipe = wanted.get(event.seq)
        if recipe is not None:
            yield SentRequest(
                seq=event.seq, model=recipe.model, request=_request(state, recipe, blobs)
            )
        state.apply(event)


def _recipes(events: Sequence[ev.Event], run_id: str) -> Iterator[tuple[int, ev.Recipe]]:
    for event in events:
        if isinstance(event, ev.MessageStarted) and event.run_id == run_id and event.request:
            yield event.seq, event.request


def _request(state: ThreadState, recipe: ev.Recipe, blobs: Mapping[str, bytes]) -> ModelRequest:
    if recipe.head not in blobs:
        raise UserError(f"The log names blob {recipe.head[:12]}…, which is missing.")
    if recipe.prefix != prefix_of(recipe.head, state.messages):
        raise UserError(
            f"A request held {recipe.messages} messages; the log has others at this place."
        )
    assert state.run is not None, "a request belongs to a run"
    head = _head.decode(blobs[recipe.head])
    request = ModelRequest(
        system=head.system,
        messages=tuple(newest(state.messages, head.history)),
        tools=head.tools,
        settings=msgspec.structs.replace(head.settings, max_output_tokens=recipe.max_output_tokens),
        run_id=state.run.run_id,
        step=state.run.steps + 1,
        cache_key=cache_key(state),
    )
    match recipe.tool_calls:
        case "strict-json" | "prompt" as told:
            return Renderer(told).render(request)
        case _:
            return request
