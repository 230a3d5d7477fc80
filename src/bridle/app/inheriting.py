"""The rules of a run that does not begin with today's alone: it goes on, or somebody started it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.app.crew import bound_of
from bridle.journal.fold_thread import RULES_SETTING
from bridle.permissions.within import child_policy
from bridle.types.events import RunStarted
from bridle.types.permissions import Policy, Rule

if TYPE_CHECKING:
    from bridle.ports.store import Store

_policy = msgspec.json.Decoder(Policy)


async def resumed_policy(store: Store, name: str, today: Policy) -> Policy:
    """The rules that a run was started with, and what is denied today."""
    blob = await store.blob(name)
    if blob is None:
        return today
    then = _policy.decode(blob)
    denies = tuple(rule for rule in today.rules if rule.effect == "deny")
    kept = tuple(rule for rule in then.rules if rule not in denies)
    return msgspec.structs.replace(
        then,
        rules=(*denies, *kept),
        removed={**then.removed, **today.removed},
        scope=(*then.scope, *(scope for scope in today.scope if scope not in then.scope)),
    )


async def policy_within(
    store: Store, own: Policy, *, parent: str, run: str | None, today: Policy
) -> Policy:
    """An agent's own rules, within those that bind the run of the thread that started it."""
    policy = today
    place = await store.run(run) if run is not None else None
    if place is not None:
        (begun,) = await store.events(parent, after=place.start_seq - 1, limit=1)
        blob = await store.blob(begun.policy) if isinstance(begun, RunStarted) else None
        policy = policy if blob is None else _policy.decode(blob)
    settings = await store.settings(parent)
    rules = msgspec.convert(settings.get(RULES_SETTING, ()), tuple[Rule, ...])
    above = bound_of(msgspec.structs.replace(policy, rules=(*rules, *policy.rules)))
    return child_policy(above, own)
