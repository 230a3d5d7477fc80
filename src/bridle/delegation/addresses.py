"""Whom a message is for: one agent, a role, a capability, or all; pure functions.

An address is written `NAME` or an id, `role:NAME`, `capability:A,B` (all of them), `parent`,
`siblings` or `all`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bridle.errors import ToolError
from bridle.types.base import Fact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.types.agents import AgentInfo


class Direct(Fact, frozen=True, kw_only=True):
    """One agent, by its name or its id."""

    name: str


class Role(Fact, frozen=True, kw_only=True):
    """Every agent with a role."""

    role: str


class Capability(Fact, frozen=True, kw_only=True):
    """Every agent that can do all of these."""

    skills: tuple[str, ...]


class Broadcast(Fact, frozen=True, kw_only=True):
    """Every agent of the tree, or those with the same parent."""

    scope: Literal["all", "siblings"]


class Parent(Fact, frozen=True, kw_only=True):
    """The agent that started the sender."""


Address = Direct | Role | Capability | Broadcast | Parent


def parse_address(text: str) -> Address:
    """Read an address as it is written."""
    kind, colon, rest = text.strip().partition(":")
    if colon and kind == "role":
        return Role(role=rest.strip())
    if colon and kind == "capability":
        return Capability(skills=tuple(s.strip() for s in rest.split(",") if s.strip()))
    if kind in ("all", "siblings") and not colon:
        return Broadcast(scope="all" if kind == "all" else "siblings")
    return Parent() if text.strip() == "parent" else Direct(name=text.strip())


def resolve(address: Address, agents: Sequence[AgentInfo], sender: str) -> list[AgentInfo]:
    """The agents that an address means, without the sender and those that are over.

    Raises `ToolError` with the known names when there is none.
    """
    me = next((one for one in agents if one.id == sender), None)
    parent = me.parent if me is not None else None
    others = [one for one in agents if one.id != sender]
    match address:
        case Direct(name=name):
            meant = [one for one in others if name in (one.id, one.name)]
        case Role(role=role):
            meant = [one for one in others if one.role == role]
        case Capability(skills=skills):
            meant = [one for one in others if skills and set(skills) <= set(one.capabilities)]
        case Broadcast(scope="all"):
            meant = others
        case Broadcast():
            meant = [one for one in others if parent is not None and one.parent == parent]
        case Parent():
            meant = [one for one in others if one.id == parent]
    found = [one for one in meant if not one.is_over]
    if not found:
        raise ToolError(_nobody(meant, others), kind="unknown_address")
    return found


def _nobody(meant: Sequence[AgentInfo], others: Sequence[AgentInfo]) -> str:
    why = "Nobody has this address."
    if meant:
        why = f"{', '.join(one.name for one in meant)} ended and cannot be reached."
    working = [_described(one) for one in others if not one.is_over]
    return f"{why} Agents that work now: {'; '.join(working) or 'none'}."


def _described(agent: AgentInfo) -> str:
    told = [f"role {agent.role}"] if agent.role else []
    if agent.capabilities:
        told.append(f"can {', '.join(agent.capabilities)}")
    return f"{agent.name} ({'; '.join(told)})" if told else agent.name
