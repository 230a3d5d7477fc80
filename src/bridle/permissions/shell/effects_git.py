"""git: which options and subcommands write files or run programs of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.permissions.shell.effects import Effect, Spec, computed_option, option_effects
from bridle.permissions.shell.facts import Word, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUIET = names("--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects")
"""Options before the subcommand that change nothing that matters."""

_VALUED = names("-C -c --git-dir --work-tree --namespace --config-env --exec-path --super-prefix")

_ANY = Spec(
    values="nSGUMCBlLsXe",
    writes=names("--output --output-directory"),
    runs=names(
        "--ext-diff --upload-pack --receive-pack --exec --extcmd --open-files-in-pager --template "
        "--config --pager --textconv --separate-git-dir --tool --show-signature --edit-description"
    ),
    valueless=names("--ext-diff --textconv --show-signature"),
)
_BY_SUBCOMMAND = {
    "grep": Spec(values="eABCmf", runs=names("-O")),
    "archive": Spec(writes=names("-o")),
    "format-patch": Spec(writes=names("-o")),
    "clone": Spec(values="boj", runs=names("-c -u")),
    "rebase": Spec(values="sXC", runs=names("-x")),
    "difftool": Spec(runs=names("-x -t")),
    "bundle": Spec(),
}
_RUNS_WORDS = {
    "bisect": names("run"),
    "submodule": names("foreach"),
}
_RUNS = names("filter-branch send-email daemon instaweb web--browse difftool mergetool shell")
_CONFIG_READS = names(
    "--get --get-all --get-regexp --get-urlmatch --list -l get list --show-origin --show-scope"
)


def subcommand(words: Sequence[Word]) -> int:
    """The index of the subcommand, behind the options that stand before it."""
    index = 1
    while index < len(words) and words[index].text.startswith("-"):
        index += 2 if words[index].text in _VALUED else 1
    return index


def git_effects(words: Sequence[Word]) -> Iterator[Effect]:
    """What this git command writes or runs besides what its subcommand says."""
    at = subcommand(words)
    for index in range(1, min(at, len(words))):
        text = words[index].text
        if text.startswith("-") and text not in QUIET:
            yield Effect("run", f"git {text.partition('=')[0]} changes what git runs", index)
    if at >= len(words):
        return
    yield from computed_option(words[:at])
    name = words[at].text
    if not words[at].literal:
        yield Effect("run", "a computed subcommand of git", at)
    if name in _RUNS:
        yield Effect("run", f"git {name} runs other programs", at)
    for index, word in enumerate(words[at + 1 :], at + 1):
        if word.text in _RUNS_WORDS.get(name, frozenset()):
            yield Effect("run", f"git {name} {word.text} runs other programs", index)
        if len(word.text) > 6 and "--no-index".startswith(word.text):
            yield Effect("read", "--no-index reads files outside of the repository", index)
        if word.text.startswith("ext::"):
            yield Effect("run", "an ext:: address runs a program", index)
    yield from option_effects(words, _ANY, at + 1)
    if name in _BY_SUBCOMMAND:
        yield from option_effects(words, _BY_SUBCOMMAND[name], at + 1)
    if name == "config":
        yield from _config(words, at)


def _config(words: Sequence[Word], at: int) -> Iterator[Effect]:
    rest = words[at + 1 :]
    reads = any(word.text in _CONFIG_READS for word in rest)
    plain = [word for word in rest if not word.text.startswith("-")]
    if reads or (len(plain) == 1 and len(rest) == 1 and plain[0].literal):
        return
    path = "~/.gitconfig" if any(word.text == "--global" for word in rest) else ".git/config"
    yield Effect("write", "git config changes what git runs", at, Word(path, path))
