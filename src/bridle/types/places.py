"""Places that matter by their name: for the rules of permissions and for the sandbox, one list.

A name that ends in a slash is a directory with all that is in it.
"""

from __future__ import annotations

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

OF_PROJECT = (
    ".mcp.json", "harness.yaml", "harness.yml", ".bridle/", ".claude/", ".codex/config.toml",
    ".gitmodules", ".envrc", ".vscode/", ".idea/",
)  # fmt: skip
"""What a harness, direnv or an editor takes from a project and may run, under the workspace.

Git's own (`.git/hooks`, `.git/config`) are not here: they depend on where the repository is.
"""

OF_SHELLS = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".login", ".cshrc", ".tcshrc",
    ".kshrc", ".inputrc", ".config/fish/",
)  # fmt: skip
"""What shells read when they start, under the home directory or where somebody keeps theirs."""

OF_USER = (
    ".ssh/", ".gitconfig", ".config/git/", ".pam_environment", ".xprofile", ".xinitrc",
    ".config/systemd/", ".config/autostart/", ".vimrc", ".config/nvim/", ".emacs", ".emacs.d/",
    ".tmux.conf", ".direnvrc", ".config/direnv/", ".pythonrc", ".local/bin/",
    "Library/LaunchAgents/",
)  # fmt: skip
"""What the user's other programs run by themselves, under the home directory."""
