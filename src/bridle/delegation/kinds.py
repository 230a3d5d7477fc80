"""The kinds of agents that work can be given to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import UserError, suggest
from bridle.permissions.patterns import canonical
from bridle.types.base import Fixed
from bridle.types.limits import SUBAGENT_MAX_STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from bridle.tools.define import Tool
    from bridle.types.agents import StepView

COORDINATOR_TOOLS = ("fork_agent", "send_message", "wait_for_agent")
"""All that a coordinator has."""


class Subagent(Fixed, frozen=True):
    """A kind of agent that work can be given to.

    `tools` are its own; `allowed_tools` names the harness's tools that it may use too. Tools of
    the workspace follow `allowed_tools` like the others unless `allowed_workspace_tools` lists
    exactly which of them there are. `model` None means the model of the run that calls it.
    `stop_when` looks at each finished step and ends the run by returning True. `forked` begins
    with the conversation of the caller, its model and its list of tools; `allowed_tools` None
    then means whatever the caller may use. A `coordinator` holds nothing but the tools that start
    agents, speak to them and wait for them.
    """

    id: str
    name: str = ""
    description: str = ""
    instructions: str = ""
    tools: Sequence[Tool] = ()
    allowed_tools: Sequence[str] | None = None
    allowed_workspace_tools: Sequence[str] | None = None
    model: str | None = None
    max_steps: int = SUBAGENT_MAX_STEPS
    stop_when: Callable[[StepView], bool] | None = None
    forked: bool = False
    coordinator: bool = False
    capabilities: Sequence[str] = ()

    def may_use(self, name: str, workspace: Collection[str]) -> bool:
        """Whether it may use a tool of the harness; `workspace` are those of the workspace."""
        if name in workspace and self.allowed_workspace_tools is not None:
            return name in map(canonical, self.allowed_workspace_tools)
        return name in map(canonical, self.allowed_tools or ())

    def scope(self, workspace: Collection[str]) -> tuple[str, ...] | None:
        """The only tools that a fork of this kind may use; None for all that its caller may."""
        if self.allowed_tools is None and self.allowed_workspace_tools is None:
            return None
        named = {*(self.allowed_tools or ()), *(self.allowed_workspace_tools or ())}
        real = {canonical(name) for name in named}
        return tuple(sorted(name for name in real if self.may_use(name, workspace)))


def check_kinds(kinds: Sequence[Subagent]) -> None:
    """Refuse kinds that cannot be told apart or that contradict themselves."""
    ids = [kind.id for kind in kinds]
    twice = {name for name in ids if ids.count(name) > 1}
    if twice:
        raise UserError(f"There are two subagents named {', '.join(sorted(twice))}.")
    for kind in kinds:
        if kind.max_steps < 1:
            raise UserError(f"Subagent {kind.id!r} needs max_steps of at least 1.")
        if kind.coordinator and (
            kind.tools or kind.allowed_tools or kind.allowed_workspace_tools or kind.forked
        ):
            raise UserError(
                f"Subagent {kind.id!r} is a coordinator: it delegates and does nothing else, so it "
                "takes no tools and is not forked."
            )
        if kind.forked and kind.tools:
            raise UserError(
                f"Subagent {kind.id!r} is forked: it has the tools of its caller, so it cannot "
                "bring its own. Give them to the harness and name them in allowed_tools."
            )


def check_workspace_tools(kinds: Sequence[Subagent], workspace: Collection[str]) -> None:
    """Refuse names in `allowed_workspace_tools` that no tool of the workspace has."""
    for kind in kinds:
        for name in kind.allowed_workspace_tools or ():
            if canonical(name) not in workspace:
                raise UserError(suggest(name, workspace, what="workspace tool"))
