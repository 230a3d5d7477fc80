"""The default policy: the workspace and a private temp writable, secrets hidden, settings kept."""

from __future__ import annotations

import glob
import os
import tempfile
from typing import TYPE_CHECKING

from bridle.ports.sandbox import ResourceLimits, SandboxPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.ports.sandbox import Network

SECRETS = (
    ".ssh/", ".gnupg/", ".aws/", ".azure/", ".config/gcloud/", ".kube/", ".docker/", ".oci/",
    ".config/gh/", ".config/hub", ".config/glab-cli/", ".config/op/", ".config/doctl/",
    ".config/rclone/", ".config/git/credentials", ".config/github-copilot/", ".config/heroku/",
    ".config/netlify/", ".config/configstore/", ".config/wandb/", ".config/anthropic/",
    ".config/openai/", ".config/containers/auth.json", ".password-store/", ".terraform.d/",
    ".terraformrc", ".vault-token", ".netrc", ".git-credentials", ".npmrc", ".yarnrc.yml",
    ".pypirc", ".config/pypoetry/auth.toml", ".cargo/credentials", ".cargo/credentials.toml",
    ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml",
    ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config", ".composer/auth.json", ".s3cfg",
    ".boto", ".pgpass", ".my.cnf", ".databrickscfg", ".snowflake/", ".kaggle/", ".fly/",
    ".vercel/", ".huggingface/", ".cache/huggingface/token", ".local/share/keyrings/",
    ".local/share/opencode/auth.json", ".claude.json", ".claude/.credentials.json",
    ".codex/auth.json", ".gemini/", ".bash_history", ".zsh_history", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history",
    ".local/share/fish/fish_history", ".mozilla/", ".thunderbird/", ".config/google-chrome/",
    ".config/chromium/", ".config/BraveSoftware/", ".config/microsoft-edge/",
    "Library/Keychains/", "Library/Cookies/", "Library/Application Support/Google/Chrome/",
    "Library/Application Support/Firefox/", "Library/Application Support/com.apple.TCC/",
)  # fmt: skip
"""Credentials, histories and browser profiles, under the home directory."""

SYSTEM_SECRETS = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
    "/etc/sudoers.d/", "/etc/krb5.keytab", "/etc/docker/key.json", "/etc/kubernetes/",
    "/var/lib/kubelet/", "/var/run/secrets/", "/run/secrets/", "/etc/ssl/private/",
)  # fmt: skip
"""What root could read; key files of the SSH server are added as they are found."""

STARTUP_FILES = (
    ".ssh/", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
    ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".inputrc",
    ".config/fish/", ".gitconfig", ".config/git/", ".pam_environment", ".xprofile", ".xinitrc",
    ".login", ".cshrc", ".tcshrc", ".kshrc", ".config/systemd/", ".config/autostart/",
    ".vimrc", ".config/nvim/", ".emacs", ".emacs.d/", ".tmux.conf", ".direnvrc", ".config/direnv/",
    ".pythonrc", ".local/bin/", "Library/LaunchAgents/",
)  # fmt: skip
"""What a user's programs run by themselves, under the home directory."""

SETTINGS = (".mcp.json", "harness.yaml", ".bridle/", ".claude/")
"""What a harness reads from a project, under the workspace."""


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
) -> SandboxPolicy:
    """The policy for a workspace; `state` are our own directories, hidden like secrets.

    A `temp` that is not given is made: private, mode 0700, and the caller's to remove.
    """
    root = os.path.realpath(root)
    home = os.path.realpath(home or os.path.expanduser("~"))
    temp = os.path.realpath(temp or tempfile.mkdtemp(prefix="bridle-"))
    git_writable, git_read_only = git_paths(root)
    secrets = [*_under(home, SECRETS), *SYSTEM_SECRETS, *glob.glob("/etc/ssh/ssh_host_*_key")]
    return SandboxPolicy(
        root=root,
        temp=temp,
        writable=(*writable, *git_writable),
        readable=tuple(readable),
        hidden=(*secrets, *_directories(state), *hidden),
        read_only=(*_under(root, SETTINGS), *git_read_only, *_under(home, STARTUP_FILES)),
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
