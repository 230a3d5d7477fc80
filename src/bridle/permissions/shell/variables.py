"""Which variables change what a program does, and which only how it looks."""

from __future__ import annotations

from typing import Literal

from bridle.permissions.shell.facts import names
from bridle.types.regex import lazy

Danger = Literal["safe", "unknown", "runs"]

SAFE = names(
    "LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME TZ TERM COLORTERM "
    "NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES CI DEBUG VERBOSE NODE_ENV "
    "RUST_BACKTRACE RUST_LOG PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED "
    "PYTHONIOENCODING PYTHONUTF8 IFS OPTIND SOURCE_DATE_EPOCH TIMEFORMAT"
)
"""Variables that a command may be given without a rule that says so."""

_RUNS = lazy(
    r"""(?x)
    PATH | IFS_ | SHELL | ENV | PS[0-4] | PROMPT_COMMAND | SHELLOPTS | BASHOPTS | BASH_.* | CDPATH
    | POSIXLY_CORRECT | EXECIGNORE | GLOBIGNORE | INPUTRC | TMOUT | HISTFILE
    | LD_.* | DYLD_.* | GCONV_PATH | LOCPATH | NLSPATH | GLIBC_TUNABLES | MALLOC_.*
    | GIT_.* | .*PAGER | .*EDITOR | VISUAL | BROWSER | .*_ASKPASS | .*_RSH | LESS.* | MANOPT | MORE
    | PYTHON(?:STARTUP|PATH|HOME|INSPECT|BREAKPOINT|USERBASE|WARNINGS|EXECUTABLE|PLATLIBDIR)
    | PYTEST_.* | TOX_.* | PIP_.* | UV_.* | POETRY_.* | VIRTUAL_ENV | CONDA_.*
    | NODE_(?:OPTIONS|PATH|REPL.*|EXTRA_CA.*) | (?i:npm_config_.*|yarn_.*|pnpm_.*|bun_.*)
    | PERL5.* | PERLLIB | RUBY(?:OPT|LIB|SHELL) | BUNDLE_.* | GEM_.* | LUA_.* | R_.* | JULIA_.*
    | .*JAVA.*_?OPT.* | CLASSPATH | MAVEN_.* | GRADLE_.* | SBT_.* | ANT_.*
    | RUSTC.* | RUSTFLAGS | RUSTDOC.* | CARGO_.* | GO[A-Z]*FLAGS | GOTOOLCHAIN | GOPROXY | GOENV
    | CC | CXX | CPP | LD | AR | AS | MAKE.* | C[A-Z]*FLAGS | LDFLAGS | CMAKE_.* | CCACHE_.*
    | RIPGREP_CONFIG_PATH | FZF_.* | BAT_.* | TAR_OPTIONS | GZIP | XZ_OPT | ZIPOPT | UNZIP.*
    | HGRCPATH | HGEDITOR | SVN_.* | RSYNC_.* | CURL_HOME | WGETRC | OPENSSL_.* | SSL_.*
    | DOCKER_.* | KUBE.* | HELM_.* | TF_.* | AWS_.* | AZURE_.* | GOOGLE_.* | ANSIBLE_.*
    | XDG_.* | TMPDIR | TEMP | TMP | HOME | (?i:https?_proxy|all_proxy|ftp_proxy|no_proxy)
    """
)

WHOLE_NUMBERS = names("RANDOM SECONDS LINENO UID EUID PPID BASHPID SRANDOM EPOCHSECONDS SHLVL")
EVALUATED = WHOLE_NUMBERS | names("OPTIND HISTCMD BASH_SUBSHELL EPOCHREALTIME")
"""Variables of the shell whose new value it evaluates as arithmetic."""


def danger(name: str, *, exported: bool) -> Danger:
    """What setting this variable can do to the commands that see it.

    A variable that stays inside the shell can only matter if the shell itself uses it, or if it
    was exported before, so names that nobody knows are harmless there.
    """
    if name in SAFE:
        return "safe"
    if _RUNS.fullmatch(name) or not name.isidentifier():
        return "runs"
    return "unknown" if exported else "safe"
