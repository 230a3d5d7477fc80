"""Fit a blueprint out with a workspace: its tools, its rules, its checks and its snapshots."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.app.builtin import Catalogue, catalogue
from bridle.app.cards import Cards
from bridle.app.outside import Outside
from bridle.app.paths import state_directory
from bridle.app.snapshots import WorkspaceSnapshots
from bridle.app.workspace import Workspace, open_checkpoints
from bridle.app.workspaces import Furnished
from bridle.permissions.compile import policy_of
from bridle.types.base import Fixed
from bridle.types.permissions import Policy, Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio.abc import TaskGroup

    from bridle.agent.setup import Checks
    from bridle.app.blueprint import Blueprint
    from bridle.hooks.running import HookSet
    from bridle.journal.bus import Listener
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool


class Stock(Fixed, frozen=True, kw_only=True):
    """Makes the built-in tools of a workspace, or of none."""

    search_url: str | None
    tasks: Callable[[], TaskGroup]
    disabled: tuple[str, ...]

    def __call__(
        self,
        place: Workplace | None,
        policy: Policy,
        more: Sequence[Tool] = (),
        *,
        later: bool = False,
    ) -> Catalogue:
        """The tools of a place; `later` when a workspace will bring its own."""
        outside = Outside(place, policy, search_url=self.search_url, tasks=self.tasks)
        return catalogue(
            place,
            tasks=self.tasks,
            outside=outside,
            more=more,
            disabled=self.disabled,
            later=later,
        )


class Furnisher(Fixed, frozen=True, kw_only=True):
    """Opens a workspace and makes the blueprint of the runs that work in it."""

    bare: Blueprint
    rules: Rules | Policy | None
    stock: Stock
    more: Callable[[Workplace], Sequence[Tool]] | None
    checks: Callable[[Workplace], Checks | None]
    hooks: Callable[[Workplace, Policy], HookSet] | None
    listen: Callable[[Listener], Callable[[], None]]

    def __call__(self, workspace: Workspace) -> Furnished:
        """Open it; raises `ConfigError` when it cannot be used."""
        place = workspace.place()
        checkpoints = open_checkpoints(place)
        policy = compiled_policy(self.rules, workspace)
        tools = self.stock(place, policy, self.more(place) if self.more is not None else ())
        blueprint = msgspec.structs.replace(
            self.bare,
            builtin=tools,
            policy=policy,
            checks=self.checks(place),
            hooks=self.hooks(place, policy) if self.hooks is not None else None,
            card=Cards(place),
            snapshots=WorkspaceSnapshots(checkpoints) if checkpoints is not None else None,
        )
        found = Furnished(workspace=workspace, blueprint=blueprint, checkpoints=checkpoints)
        for hear in tools.listeners:  # what they started ends with its run, whoever ends that
            weakref.finalize(found, self.listen(hear))
        return found


def compiled_policy(given: Rules | Policy | None, workspace: Workspace | None) -> Policy:
    """The policy of a workspace, or of none."""
    if isinstance(given, Policy):
        return given
    policy = policy_of(
        given or Rules(),
        root=str(workspace.root) if workspace is not None else None,
        home=str(Path.home()),
        state_dir=str(state_directory()),
    )
    if workspace is None or not workspace.allowed_hosts:
        return policy
    return msgspec.structs.replace(policy, hosts=tuple(workspace.allowed_hosts))
