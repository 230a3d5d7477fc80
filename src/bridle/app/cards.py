"""The card of an approval: what a call would do, with the change that it would make to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ToolError
from bridle.permissions.card import card
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from bridle.tools.builtin.workspace import Workplace
    from bridle.types.content import ToolCall
    from bridle.types.permissions import Decision, Policy
    from bridle.types.tools import CallFacts

MAX_BYTES = 1_000_000


class Cards(Fixed, frozen=True):
    """Makes cards; with a workspace it can show what a file holds now."""

    place: Workplace | None = None

    def __call__(
        self, call: ToolCall, facts: CallFacts, decision: Decision, policy: Policy
    ) -> dict[str, Any]:
        """The card of a call."""
        whole = msgspec.structs.replace(facts, args=facts.args or call.args)
        made = card(call.tool, whole, decision, policy, before=self._before(facts))
        plain: dict[str, Any] = msgspec.to_builtins(made)
        return plain

    def _before(self, facts: CallFacts) -> str | None:
        if self.place is None or facts.category != "edit" or len(facts.paths) != 1:
            return None
        try:
            body, _ = self.place.files.read(facts.paths[0], limit=MAX_BYTES)
        except ToolError:
            return None
        return body.decode("utf-8", "replace")
