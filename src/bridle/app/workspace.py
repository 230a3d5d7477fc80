"""A workspace: a directory, the tools that work in it, and the sandbox of its commands."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.app.paths import config_directory, data_directory, state_directory
from bridle.checks.run import ProjectChecks
from bridle.errors import ConfigError, TrustRefused
from bridle.ports.programs import which
from bridle.tools.builtin.workspace import Workplace
from bridle.types.base import Fixed

PACKAGE = str(Path(__file__).resolve().parent.parent)
"""Ourselves: what is installed editable may lie where commands see nothing, such as /tmp."""

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.checks.plan import CheckPlan
    from bridle.ports.sandbox import Network, Sandbox
    from bridle.sandbox.checkpoints import Checkpoints


class Workspace(Fixed, frozen=True):
    """A directory that an agent may read and, as the rules allow, change.

    `sandbox` confines its commands: auto, bubblewrap, landlock, seatbelt, read-only, no-shell or
    none. A kind that does not work here is refused, never silently replaced.
    """

    path: str | Path = "."
    sandbox: str = "auto"
    network: Network = "off"
    allowed_hosts: Sequence[str] = ()
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()

    @property
    def root(self) -> Path:
        """The real path of the directory."""
        root = Path(self.path).expanduser().resolve()
        if not root.is_dir():
            raise ConfigError(f"The workspace {str(self.path)!r} is not a directory.")
        return root

    @property
    def exists(self) -> bool:
        """Whether the directory is there."""
        return Path(self.path).expanduser().is_dir()

    def place(self) -> Workplace:
        """Open the workspace: probe its sandbox and get ready to run commands."""
        return _open(self)


def _open(space: Workspace, *, throwaway: bool = False) -> Workplace:
    from bridle.sandbox import temps
    from bridle.sandbox.files import file_access
    from bridle.sandbox.kinds import make_sandbox
    from bridle.sandbox.policy import default_policy
    from bridle.sandbox.supervisor import Supervisor

    root = space.root
    temp = temps.make()
    ours = (state_directory(), config_directory(), data_directory())
    policy = default_policy(
        str(root),
        temp=temp,
        state=[str(path) for path in ours],
        network=space.network,
        allowed_hosts=space.allowed_hosts,
        readable=(*space.readable, sys.prefix, sys.base_prefix, PACKAGE),
        writable=space.writable,
        throwaway=throwaway,
    )
    try:
        sandbox = make_sandbox(space.sandbox, policy)
    except ConfigError:
        temps.remove(temp)
        raise
    place = Workplace(root=root, files=file_access(policy), processes=Supervisor(), sandbox=sandbox)
    weakref.finalize(place, temps.remove, temp)
    return place


def open_checkpoints(place: Workplace) -> Checkpoints | None:
    """Snapshots of a workspace; None where there is no git to take them with."""
    if which("git") is None:
        return None
    from bridle.sandbox.checkpoints import Checkpoints

    return Checkpoints(str(place.root), state=str(state_directory()), processes=place.processes)


def output_checks(config: CheckPlan, *, sandbox: str) -> ProjectChecks:
    """The checks of an agent without a workspace: they see its answer and an empty directory."""
    from bridle.sandbox import temps

    root = temps.make()
    place = _open(Workspace(root, sandbox=sandbox), throwaway=True)
    weakref.finalize(place, temps.remove, root)
    return workspace_checks(place, config, hide=lambda text: text)


def workspace_checks(
    place: Workplace, config: CheckPlan, hide: Callable[[str], str]
) -> ProjectChecks:
    """The checks of a workspace; `hide` takes secrets out of what they say."""
    return ProjectChecks(
        root=place.root,
        processes=place.processes,
        sandbox=_confined(place.sandbox) if config.confined else place.sandbox,
        config=config,
        place=place,
        hide=hide,
    )


def _confined(sandbox: Sandbox) -> Sandbox:
    """A sandbox for what the project's own word does not let run without one."""
    from bridle.sandbox.kinds import make_sandbox

    try:
        return make_sandbox("auto", sandbox.policy)
    except ConfigError as error:
        raise TrustRefused(
            "This project turns the sandbox off and is not trusted, so its checks need one: "
            f"{error} Read the project, then run again with --trust, or with --no-checks."
        ) from error
