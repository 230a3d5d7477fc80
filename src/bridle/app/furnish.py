"""Fit a blueprint out with a workspace: its tools, its rules, its checks and its snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.app.cards import Cards
from bridle.app.paths import state_directory
from bridle.app.snapshots import WorkspaceSnapshots
from bridle.app.workspace import Workspace, file_tools, open_checkpoints, workspace_checks
from bridle.app.workspaces import Furnished
from bridle.permissions.compile import policy_of
from bridle.types.base import Fixed
from bridle.types.permissions import Policy, Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.app.blueprint import Blueprint
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool


class Furnisher(Fixed, frozen=True, kw_only=True):
    """Opens a workspace and makes the blueprint of the runs that work in it."""

    bare: Blueprint
    rules: Rules | Policy | None
    tools: Callable[[Workplace], Sequence[Tool]] | None
    disabled: frozenset[str]
    checks: bool

    def __call__(self, workspace: Workspace) -> Furnished:
        """Open it; raises `ConfigError` when it cannot be used."""
        place = workspace.place()
        checkpoints = open_checkpoints(place)
        inside = (*file_tools(place), *(self.tools(place) if self.tools is not None else ()))
        blueprint = msgspec.structs.replace(
            self.bare,
            builtin=(
                *(tool for tool in inside if tool.name not in self.disabled),
                *self.bare.builtin,
            ),
            policy=compiled_policy(self.rules, str(place.root)),
            checks=workspace_checks(place) if self.checks else None,
            card=Cards(place),
            snapshots=WorkspaceSnapshots(checkpoints) if checkpoints is not None else None,
        )
        return Furnished(workspace=workspace, blueprint=blueprint, checkpoints=checkpoints)


def compiled_policy(given: Rules | Policy | None, root: str | None) -> Policy:
    """The policy of a workspace, or of none."""
    if isinstance(given, Policy):
        return given
    return policy_of(
        given or Rules(), root=root, home=str(Path.home()), state_dir=str(state_directory())
    )
