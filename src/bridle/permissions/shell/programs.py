"""Programs that are known for reading, and how they write or run nevertheless.

`extra_effects` says what a command does that its first words do not say, so that a rule which
allows a prefix does not allow that too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.permissions.shell import effects_text as text
from bridle.permissions.shell.effects import Effect, Spec, operands, option_effects
from bridle.permissions.shell.effects_git import QUIET, git_effects, subcommand
from bridle.permissions.shell.facts import Word, names
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_OPTIONS = {
    "sort": Spec("kStT", names("-o --output"), names("--compress-program")),
    "shuf": Spec("in", names("-o --output")),
    "split": Spec("abClnt", runs=names("--filter")),
    "tree": Spec("LPIHT", names("-o")),
    "iconv": Spec("ft", names("-o --output")),
    "rg": Spec("eABCgmtTfrMjE", runs=names("--pre --hostname-bin --search-zip -z")),
    "ag": Spec("ABCGmpW", runs=names("--pager")),
    "ack": Spec("ABCm", runs=names("--pager")),
    "fd": Spec("edtEpcgjSo", runs=names("-x -X --exec --exec-batch")),
    "bat": Spec("lHrm", runs=names("--pager")),
    "man": Spec("LmMsSeEprR", runs=names("-P --pager -H --html -C --config-file")),
    "less": Spec("bhjPptTxyz", names("-o -O --log-file --LOG-FILE"), names("-k --lesskey-file")),
    "zip": Spec("bitnPx", runs=names("--unzip-command")),
    "sdiff": Spec("w", names("-o --output"), names("--diff-program")),
    "diff3": Spec("", runs=names("--diff-program")),
    "curl": Spec(
        "AbdeFHmPQrtuUwxXyYzCE",
        names(
            "-o -O -D -c --output --remote-name --remote-name-all --dump-header --cookie-jar "
            "--trace --trace-ascii --libcurl --stderr --etag-save --hsts --alt-svc --output-dir"
        ),
        names("-K --config"),
        names("-O --remote-name --remote-name-all"),
    ),
    "yq": Spec("", names("-i --inplace")),
    "date": Spec("dfrI", names("-s --set")),
    "file": Spec("mfFPe", names("-C --compile")),
    "cargo": Spec("", runs=names("--config")),
    "pytest": Spec(
        "kmnrW",
        names("--basetemp --junitxml --junit-xml --resultlog --report-log"),
        names("-p -c -o --override-ini --rootdir --confcutdir --pdbcls"),
    ),
    "ssh": Spec("BbcDeiJLlmOpQRSWw", names("-E"), names("-o -F -I")),
    "scp": Spec("cDilP", runs=names("-o -F -S")),
    "sftp": Spec("aBcDilPR", runs=names("-o -F -S -b")),
    "rsync": Spec("Mf", names("--log-file"), names("-e --rsh --rsync-path -M --daemon")),
    "tcpdump": Spec("cirsFGWCyZ", names("-w"), names("-z")),
    "time": Spec("f", names("-o --output")),
    "strings": Spec("net"),
    "nm": Spec("", runs=names("--plugin")),
    "wget": Spec(
        "tTwQUd",
        names("-O -o -a -P --output-document --output-file --append-output --directory-prefix"),
        names("--use-askpass -e --execute --config"),
    ),
    "ls": Spec(),
    "gh": Spec(),
}
_OPTIONS["fdfind"] = _OPTIONS["fd"]
_OPTIONS["batcat"] = _OPTIONS["bat"]
_ATTACHED = lazy(
    r"-(?:-(?!regexp|include|exclude|label)[\w-]+=|[A-Za-z0-9]*?([A-Za-z0-9]))((?:\.\.?|~)?/+[\w.].*)"
)
_NO_COMPUTED_OPTIONS = names("ls strings gh date file tree")

_EDITORS = names("vi vim nvim view ex vimdiff gvim emacs nano ed dc gdb ldd sqlite3 psql mysql")

WRITERS = names(
    "rm rmdir unlink shred mv touch truncate mkdir mknod mkfifo chmod chown chgrp tee unzip gzip "
    "gunzip bzip2 bunzip2 xz unxz zstd csplit patch cp ln install rsync scp"
)
"""Programs that write their operands: a rule that names them means that."""

_TO_LAST = names("cp ln install rsync scp")
_TARGET_NAMES = names(
    "--target-directory --backup-dir --partial-dir --temp-dir --log-file --write-batch --output "
    "--directory --output-dir-flat --output-dir-mirror --prefix"
)
_TARGET_LETTERS = {
    "cp": "t", "mv": "t", "ln": "t", "install": "t", "unzip": "d", "patch": "dor", "zstd": "o",
    "csplit": "f", "rsync": "T",
}  # fmt: skip

READERS = names(
    "cat head tail wc nl tac rev od xxd hexdump strings file stat ls du diff cmp cut sort uniq "
    "base64 base32 md5sum sha1sum sha256sum sha512sum less more bat tree readlink realpath comm "
    "paste join fold fmt pr column"
)
PATTERN_READERS = names("grep egrep fgrep rg ag ack jq sed awk gawk mawk yq")
"""Programs that read files; the first operand of the latter is a pattern."""

_SPECIAL: dict[str, Callable[[Sequence[Word]], Iterator[Effect]]] = {
    "git": git_effects,
    "sed": text.sed_effects,
    "gsed": text.sed_effects,
    "awk": text.awk_effects,
    "gawk": text.awk_effects,
    "mawk": text.awk_effects,
    "nawk": text.awk_effects,
    "find": text.find_effects,
    "tar": text.tar_effects,
    "bsdtar": text.tar_effects,
    "npm": text.npm_effects,
    "pnpm": text.npm_effects,
    "yarn": text.npm_effects,
    "bun": text.npm_effects,
    "uniq": text.second_operand,
    "xxd": text.second_operand,
    "dd": text.dd_effects,
    "npx": text.package_run_effects,
    "uv": text.package_run_effects,
    "poetry": text.package_run_effects,
    "pipenv": text.package_run_effects,
    "pdm": text.package_run_effects,
    "hatch": text.package_run_effects,
}


def program(words: Sequence[Word]) -> str:
    """The name of the program without its directory."""
    return words[0].text.rsplit("/", 1)[-1]


def extra_effects(words: Sequence[Word]) -> tuple[Effect, ...]:
    """What this command writes or runs that its first words do not say."""
    name = program(words)
    found: list[Effect] = []
    if name in _SPECIAL:
        found.extend(_SPECIAL[name](words))
    if name in _OPTIONS:
        computed = name not in _NO_COMPUTED_OPTIONS
        found.extend(
            effect
            for effect in option_effects(words, _OPTIONS[name])
            if computed or "may be an option" not in effect.what
        )
    if name in WRITERS:
        found.extend(_operands_written(name, words))
    if name in _EDITORS:
        found.append(Effect("run", f"{name} can run commands", 0))
        found.extend(_commands_of_editor(words))
    if name in ("less", "more", "most"):
        for index, word in enumerate(words[1:], 1):
            if word.text.startswith("+"):
                found.append(Effect("run", f"{word.text} is a command of {name}", index))
    if name == "perl" and any(word.text.startswith(("-i", "-pi", "-ni")) for word in words[1:]):
        found.append(Effect("write", "perl -i changes files", 0))
    return tuple(found)


def _operands_written(name: str, words: Sequence[Word]) -> Iterator[Effect]:
    found = operands(words)
    targets = list(_targets(name, words))
    if name in _TO_LAST and not targets:
        found = found[-1:]
    found += [(index, word) for index, word in targets if word is not None]
    if name in ("chmod", "chown", "chgrp"):
        found = found[1:]
    for _, word in found:
        yield Effect("write", f"{name} writes {word.raw or word.text}", 0, word)


def _targets(name: str, words: Sequence[Word]) -> Iterator[tuple[int, Word | None]]:
    """Options that say where to write; None where that is a word of its own, so an operand."""
    letters = _TARGET_LETTERS.get(name, "")
    for index, word in enumerate(words[1:], 1):
        option, equals, given = word.text.partition("=")
        if len(option) > 2 and any(long.startswith(option) for long in _TARGET_NAMES):
            yield index, Word(given, given, word.holes) if equals else None
        elif option.startswith("-") and not option.startswith("--"):
            at = next((at for at, char in enumerate(word.text) if char in letters), None)
            if at is not None:
                rest = word.text[at + 1 :]
                yield index, Word(rest, rest, word.holes) if rest else None


def _commands_of_editor(words: Sequence[Word]) -> Iterator[Effect]:
    for index, word in enumerate(words[1:], 1):
        if word.text.startswith(("-c", "--cmd", "-S", "-s", "+", "-e", "--eval", "-l", "-x", "-u")):
            yield Effect("run", f"{word.text} runs commands", index)
        elif not word.literal and word.may_be_option:
            yield Effect("run", f"{word.raw} may be an option", index)


def matched_words(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words that rules are matched with: git without the options that change nothing."""
    if words[0].text == "git" and len(words) > 1 and words[1].text in QUIET:
        return (words[0], *(word for word in words[1:] if word.text not in QUIET))
    return words


def read_operands(words: Sequence[Word]) -> list[tuple[int, Word]]:
    """The files that a known reader reads, as far as they look like paths."""
    name = program(words)
    if name == "find":
        return [(index, word) for index, word in _starting_points(words) if _is_path(word)]
    if name == "ln":
        return [(index, word) for index, word in operands(words) if _is_path(word)]
    if name == "git":
        return _git_operands(words)
    if name not in READERS and name not in PATTERN_READERS:
        return []
    found = operands(words, "" if name in READERS else "ABCmgtTFve")
    given = any(word.text.startswith(("-e", "-f", "--regexp", "--file")) for word in words[1:])
    if name in PATTERN_READERS and not given:
        found = found[1:]
    found += attached_paths(words, patterns="eF" if name in PATTERN_READERS else "")
    return [(index, word) for index, word in found if _is_path(word)]


def _git_operands(words: Sequence[Word]) -> list[tuple[int, Word]]:
    """What git reads as a file although it is in no repository: two paths are `--no-index`."""
    at = subcommand(words)
    if at >= len(words) or words[at].text not in ("diff", "grep", "blame"):
        return []
    found = operands(words, "", at + 1) + attached_paths(words[at:], at, patterns="eSG")
    return [(index, word) for index, word in found if _is_path(word)]


def attached_paths(
    words: Sequence[Word], first: int = 0, *, patterns: str = ""
) -> list[tuple[int, Word]]:
    """Paths written in one word with their option: `-f/a/b`, `--file=/a/b`, not `-d/`.

    What stands behind a letter of `patterns` is something to look for.
    """
    found: list[tuple[int, Word]] = []
    for index, word in enumerate(words[1:], first + 1):
        given = _ATTACHED.match(word.text)
        if given and (not given[1] or given[1] not in patterns):
            found.append((index, Word(given[2], word.raw, word.holes)))
    return found


def _is_path(word: Word) -> bool:
    return (
        "/" in (word.guess or word.text)
        or word.text == ".."
        or word.holes[:1] in (("HOME",), ("~",))
    )


def _starting_points(words: Sequence[Word]) -> Iterator[tuple[int, Word]]:
    """Where find begins: its words before the first test or action."""
    for index, word in enumerate(words[1:], 1):
        if word.text in ("-H", "-L", "-P"):
            continue
        if word.text.startswith(("-", "(", "!")):
            return
        yield index, word
