"""The environment that a command gets: what is named, never what happens to be set."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM",
    "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "CI", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT",
    "NVM_DIR", "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "SDKMAN_DIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "PIP_INDEX_URL", "UV_INDEX_URL", "SOURCE_DATE_EPOCH",
)  # fmt: skip
"""What a command inherits unless the policy names more."""

DANGEROUS = (
    "LD_*", "DYLD_*", "GLIBC_TUNABLES", "GCONV_PATH", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS",
    "BASHOPTS", "PROMPT_COMMAND", "PS4", "IFS", "ZDOTDIR", "CDPATH", "GLOBIGNORE", "GIT_*", "PAGER",
    "MANPAGER", "LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER", "SSH_ASKPASS",
    "SUDO_ASKPASS", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
    "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT",
    "PYTHONWARNINGS", "PYTHONEXECUTABLE", "PYTHONUSERBASE", "NODE_OPTIONS", "NODE_PATH",
    "PERL5LIB", "PERL5OPT", "PERL5DB", "PERLLIB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "RUSTC_WRAPPER", "RUSTFLAGS", "MAKEFLAGS",
    "GOFLAGS", "CARGO_BUILD_RUSTC_WRAPPER", "npm_config_*", "NPM_CONFIG_*", "PIP_CONFIG_FILE",
    "TCLLIBPATH", "AWKPATH", "LUA_INIT", "LUA_PATH", "R_PROFILE*", "PROMPT", "HISTFILE", "INPUTRC",
    "TERMINFO", "TERMINFO_DIRS", "XDG_RUNTIME_DIR",
)  # fmt: skip
"""Variables that make programs load or run something; never inherited, whatever a policy names."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def clean(
    source: Mapping[str, str],
    *,
    allow: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """A fresh environment: the inherited names, those of the policy, and `extra` on top.

    A trailing `*` matches the rest of a name. Dangerous variables come through none of the three
    ways, and pagers are off because nobody could leave one.
    """
    inherited = _Names((*INHERITED, *allow))
    found = {name: value for name, value in source.items() if name in inherited}
    found |= extra or {}
    found = {name: value for name, value in found.items() if name not in _DANGEROUS}
    found.setdefault("PATH", DEFAULT_PATH)
    found.setdefault("LANG", "C.UTF-8")
    found.setdefault("TERM", "dumb")
    return found | {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


class _Names:
    """A set of names, some of which stand for all that begin like them."""

    def __init__(self, patterns: Iterable[str]) -> None:
        patterns = tuple(patterns)
        self._exact = frozenset(patterns)
        self._prefixes = tuple(name[:-1] for name in patterns if name.endswith("*"))

    def __contains__(self, name: str) -> bool:
        return name in self._exact or name.startswith(self._prefixes)


_DANGEROUS = _Names(DANGEROUS)
