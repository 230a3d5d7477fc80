"""The default policy: the workspace and a private temp writable, secrets hidden, settings kept."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

from bridle.ports.sandbox import ResourceLimits, SandboxPolicy
from bridle.types.places import OF_PROJECT, OF_SHELLS, OF_USER, SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.ports.sandbox import Network

SYSTEM_SECRETS = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
    "/etc/sudoers.d/", "/etc/krb5.keytab", "/etc/docker/key.json", "/etc/kubernetes/",
    "/var/lib/kubelet/", "/var/run/secrets/", "/run/secrets/", "/etc/ssl/private/",
)  # fmt: skip
"""What root could read; key files of the SSH server are added as they are found."""


def default_policy(
    root: str,
    *,
    temp: str | None = None,
    home: str | None = None,
    state: Iterable[str] = (),
    writable: Iterable[str] = (),
    readable: Iterable[str] = (),
    hidden: Iterable[str] = (),
    network: Network = "off",
    allowed_hosts: Iterable[str] = (),
    env: Iterable[str] = (),
    limits: ResourceLimits | None = None,
    throwaway: bool = False,
) -> SandboxPolicy:
    """The policy for a workspace; `state` are our own directories, hidden like secrets.

    A `throwaway` root has no settings that would have to stay as they are.
    Without a `temp` (see `temps`) each command has one of its own, where the sandbox can do that.
    """
    root = os.path.realpath(root)
    home = os.path.realpath(home or os.path.expanduser("~"))
    git_writable, git_read_only = ((), ()) if throwaway else git_paths(root)
    kept = () if throwaway else (*_under(root, (*OF_PROJECT, *OF_SHELLS)), *git_read_only)
    secrets = [*_under(home, SECRETS), *SYSTEM_SECRETS, *glob.glob("/etc/ssh/ssh_host_*_key")]
    return SandboxPolicy(
        root=root,
        temp=os.path.realpath(temp) if temp else None,
        writable=(*writable, *git_writable),
        readable=tuple(readable),
        hidden=(*secrets, *_directories(state), *hidden),
        read_only=(*kept, *_under(home, (*OF_SHELLS, *OF_USER))),
        network=network,
        allowed_hosts=tuple(allowed_hosts),
        env=tuple(env),
        limits=limits if limits is not None else default_limits(),
    )


def default_limits() -> ResourceLimits:
    """A thousand processes, half of the machine's memory, files of at most 8 GiB."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (OSError, ValueError):
        memory = 4 << 30
    return ResourceLimits(memory_bytes=memory, pids=1024, file_bytes=8 << 30)


def git_paths(root: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What git needs writable outside the workspace, and what of it must stay as it is.

    The repository of a linked worktree is writable only when it names this worktree as its own:
    a `.git` file alone may point anywhere.
    """
    dot_git = os.path.join(root, ".git")
    if os.path.isdir(dot_git):
        return (), protected_in_git(dot_git)
    if not os.path.isfile(dot_git):
        return (), (dot_git + "/",)
    directory = os.path.join(root, _line(dot_git).removeprefix("gitdir:").strip())
    back = _line(os.path.join(directory, "gitdir"))
    if not back or os.path.realpath(os.path.join(directory, back)) != os.path.realpath(dot_git):
        return (), (dot_git,)
    common = os.path.realpath(os.path.join(directory, _line(os.path.join(directory, "commondir"))))
    protected = [os.path.join(directory, name) for name in ("commondir", "gitdir")]
    return (common,), (dot_git, *protected, *protected_in_git(common))


def protected_in_git(git_directory: str) -> tuple[str, ...]:
    """What of a repository makes git run something, or read another configuration."""
    found = [os.path.join(git_directory, "hooks") + "/", os.path.join(git_directory, "config")]
    for name in ("config.worktree", "commondir"):
        path = os.path.join(git_directory, name)
        if os.path.lexists(path):
            found.append(path)
    modules = os.path.join(glob.escape(git_directory), "modules")
    for depth in ("*", "*/*"):
        for module in glob.glob(os.path.join(modules, depth, "HEAD")):
            found += protected_in_git(os.path.dirname(module))
    return tuple(found)


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(4096).strip()
    except OSError:
        return ""


def _under(base: str, names: Iterable[str]) -> list[str]:
    return [os.path.join(base, name) for name in names]


def _directories(paths: Iterable[str]) -> list[str]:
    return [path.rstrip("/") + "/" for path in paths]
