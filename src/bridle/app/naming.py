"""Names of tools that rules and subagents mention: a slip is told before it costs something.

A rule for a tool that there is not changes nothing, and a deny that changes nothing is a hole. What
is known only at a request (functions that give tools or agents, servers) is not checked here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from bridle.app.config import Agent
from bridle.errors import ConfigError, suggest
from bridle.permissions.patterns import canonical
from bridle.tools.builtin.names import BUILTIN_TOOLS, ELSEWHERE
from bridle.types.permissions import Rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridle.app.blueprint import Blueprint
    from bridle.delegation.kinds import Subagent
    from bridle.tools.define import Tool
    from bridle.types.permissions import Policy

log = logging.getLogger("bridle.harness")

SLIP = 0.9
"""How near a name must be to that of a tool to be taken for a slip of the pen."""


def check_tool_names(
    blueprint: Blueprint, rules: Rules | Policy | None, kinds: Sequence[Subagent]
) -> None:
    """Refuse subagents with unknown tools, and rules that miss a tool by a slip; tell of others."""
    known = _known(blueprint, kinds)
    if known is None:
        return
    for kind in kinds:
        for name in _unknown(kind.allowed_tools or (), known):
            raise ConfigError(
                f"Subagent {kind.id!r} is allowed a tool that there is not. "
                + suggest(name, known, what="tool")
            )
    if isinstance(rules, Rules):
        for name in _unknown(rules.tools, known):
            _refuse_slip(name, known)
            log.warning("The permissions name the tool %r, which this harness does not have.", name)


def _refuse_slip(name: str, known: Iterable[str]) -> None:
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(known), n=1, cutoff=SLIP)
    if near:
        raise ConfigError(
            f"The permissions name an unknown tool {name!r}. Did you mean {near[0]!r}?"
        )


def _unknown(names: Iterable[str], known: set[str]) -> list[str]:
    return [
        name
        for name in names
        if not set(name) & set("*?[")
        and not name.startswith("mcp")
        and canonical(name) not in known
    ]


def _known(blueprint: Blueprint, kinds: Sequence[Subagent]) -> set[str] | None:
    """The names of all tools that there can be; None where that is not known before a request."""
    agents = [mode.agent for mode in blueprint.modes]
    shared = blueprint.tools
    if callable(shared) or not all(isinstance(agent, Agent) for agent in agents):
        return None
    listed: list[Tool | str] = [*shared]
    for agent in agents:
        assert isinstance(agent, Agent)
        listed += agent.tools
    for kind in kinds:
        listed += kind.tools
    own = {given if isinstance(given, str) else given.name for given in listed}
    return {*own, *BUILTIN_TOOLS, *ELSEWHERE}
