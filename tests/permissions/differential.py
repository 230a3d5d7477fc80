"""What bash really runs must be within what the analyser names.

`python tests/permissions/differential.py COUNT [SEED]` runs the whole campaign. Every command runs
in bubblewrap without network on a read-only root; PATH holds nothing but stubs that write down how
they were called, and a few real wrappers.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bridle.permissions.shell.analyse import analyse
from bridle.permissions.shell.facts import HOLE, Analysis, Word
from bridle.permissions.shell.variables import danger
from permissions.grammar import STUBS, WRAPPERS, Grammar, soup
from permissions.quirks import quirks

BWRAP = "/usr/bin/bwrap"
NOBODY = 61234
"""A user of its own: the limit on processes does not hold for root, and a generated function may
call itself."""
LIMITS = 'ulimit -u 120 -v 2000000 -f 20000; exec "$@"'
STUB = """#!/bin/dash
printf '%s\\0' "${0##*/}" "$@" > "/log/$$" 2>/dev/null
echo p2
"""
DRIVER = """
cd /tmp/w
{ /real/timeout -s KILL 2 /stubs/bash -c "$1" bash one two 9>&1 >/dev/null 2>&1 </dev/null
} | /real/timeout -s KILL 3 /real/cat >/dev/null
"""


@dataclass
class Result:
    command: str
    calls: list[list[str]]
    files: list[str]


@dataclass
class Tally:
    total: int = 0
    ran: int = 0
    calls: int = 0
    unnamed: int = 0
    missed: list[tuple[str, list[str]]] = field(default_factory=list)
    naive_missed: int = 0
    files: int = 0


class Stage:
    """A directory with the stubs, and a way to run one command among them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        base.chmod(0o755)
        stubs, real = base / "stubs", base / "real"
        for directory in (stubs, real):
            directory.mkdir(parents=True)
        for stub in STUBS:
            (stubs / stub).write_text(STUB)
            (stubs / stub).chmod(0o755)
        for wrapper in WRAPPERS:
            target = "/bin/dash" if wrapper == "sh" else shutil.which(wrapper, path="/usr/bin:/bin")
            (stubs / wrapper).symlink_to(str(target))
        for tool in ("timeout", "cat"):
            (real / tool).symlink_to(str(shutil.which(tool, path="/usr/bin:/bin")))
        self.prefix = [
            BWRAP, "--unshare-all", "--die-with-parent", "--new-session", "--dev", "/dev",
            "--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", str(stubs), "/stubs",
            "--ro-bind", str(real), "/real", "--clearenv", "--setenv", "PATH", "/stubs",
            "--setenv", "HOME", "/tmp/home", "--setenv", "LC_ALL", "C.UTF-8",
            "--setenv", "FUNCNEST", "4",
        ]  # fmt: skip
        for path in ("/usr", "/bin", "/lib", "/lib64", "/sbin"):
            if os.path.islink(path):
                self.prefix += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                self.prefix += ["--ro-bind", path, path]

    def run(self, command: str) -> Result:
        """Run one command in a sandbox of its own; everything that it left behind dies with it."""
        with tempfile.TemporaryDirectory(dir=self.base) as place:
            log, work = Path(place, "log"), Path(place, "work")
            for directory in (place, log, work):
                Path(directory).mkdir(exist_ok=True)
                os.chmod(directory, 0o777)
            arguments = [*self.prefix, "--bind", str(log), "/log", "--bind", str(work), "/tmp/w"]
            arguments += ["/bin/dash", "-c", DRIVER, "driver", command]
            nobody = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
            subprocess.run(
                ["/bin/bash", "-c", LIMITS, "limits", *arguments], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False,
                extra_groups=[] if nobody else None, **nobody,
            )  # fmt: skip
            calls = [
                entry.read_bytes().decode("utf-8", "replace").split("\0")[:-1]
                for entry in sorted(log.iterdir())
            ]
            files = [str(path.relative_to(work)) for path in work.rglob("*") if path.is_file()]
            return Result(command, [call for call in calls if call], files)


def run(commands: list[str]) -> list[Result]:
    """Run the commands in the sandbox, and give back how the stubs were called."""
    with tempfile.TemporaryDirectory(prefix="differential-") as base:
        stage = Stage(Path(base))
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(stage.run, commands))


def named(analysis: Analysis, call: list[str]) -> bool:
    return any(
        command.words[0].literal
        and command.words[0].text.rsplit("/", 1)[-1] == call[0]
        and fits(command.words[1:], call[1:])
        for command in analysis.commands
    )


def fits(words: tuple[Word, ...], args: list[str]) -> bool:
    """Could these words have become these arguments?"""
    if not words:
        return not args
    first, rest = words[0], words[1:]
    if first.splits:
        return any(fits(rest, args[count:]) for count in range(len(args) + 1))
    if not args:
        return False
    return text_fits(first.text, args[0]) and fits(rest, args[1:])


def text_fits(text: str, arg: str) -> bool:
    parts = text.split(HOLE)
    if len(parts) == 1:
        return text == arg
    if not arg.startswith(parts[0]) or not arg.endswith(parts[-1]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        at = arg.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return at <= len(arg) - len(parts[-1])


def written(analysis: Analysis, file: str) -> bool:
    return (
        any(
            redirect.mode != "read"
            and text_fits(redirect.target.text.rsplit("/", 1)[-1], file.rsplit("/", 1)[-1])
            for redirect in analysis.redirects
        )
        or file == "nohup.out"
    )


def naive(command: str) -> set[str]:
    """The commands that a splitter on operators sees: the control."""
    try:
        words = shlex.split(command.replace(";", " ; ").replace("|", " ; ").replace("&", " ; "))
    except ValueError:
        return set()
    return {words[i] for i in range(len(words)) if i == 0 or words[i - 1] == ";"}


def compare(results: list[Result], tally: Tally) -> None:
    for result in results:
        analysis = analyse(result.command)
        tally.total += 1
        tally.ran += bool(result.calls)
        tally.calls += len(result.calls)
        tally.files += len(result.files)
        seen = naive(result.command)
        tally.naive_missed += any(call[0] not in seen for call in result.calls)
        runs = any(
            danger(entry.name, exported=entry.exported) == "runs"
            for holder in (analysis, *analysis.commands)
            for entry in holder.assignments
        )
        if analysis.unnamed or runs:
            tally.unnamed += 1
            continue
        for call in result.calls:
            if not named(analysis, call):
                tally.missed.append((result.command, call))
        for file in result.files:
            if not written(analysis, file):
                tally.missed.append((result.command, ["> " + file]))


def generated(number: int) -> str:
    """The command of this number; every third is a soup of tokens that was read without a doubt."""
    if number % 3:
        return Grammar(number).line().replace("\0", "")
    for attempt in range(10_000):
        text = soup(number * 10_000 + attempt)
        found = analyse.__wrapped__(text)
        nested = any(sign in text for sign in ("$(", "`", '"', "'", "<<", "((", "{ ", "if ", "f()"))
        if nested and len(re.findall(r"p[0-3]", text)) > 1 and found.commands and not found.unnamed:
            return text
    return "p0"


def odd_places(step: int = 1, *, loud: bool = False) -> Tally:
    """Run the commands in which data may be code, as far as they were read without a doubt."""
    commands = [text for text in list(quirks())[::step] if not analyse(text).unnamed]
    tally = Tally()
    for start in range(0, len(commands), 200):
        compare(run(commands[start : start + 200]), tally)
        if loud:
            print(
                f"\r{tally.total} odd places, {len(tally.missed)} missed", end="", file=sys.stderr
            )
    return tally


def campaign(count: int, seed: int = 0, *, batch: int = 200, loud: bool = False) -> Tally:
    tally = Tally()
    for start in range(seed, seed + count, batch):
        numbers = range(start, min(start + batch, seed + count))
        commands = [generated(number) for number in numbers]
        before = len(tally.missed)
        compare(run(commands), tally)
        for command, call in tally.missed[before:] if loud else ():
            print(f"\n--- {call}\n{command}")
        if loud:
            print(f"\r{tally.total} commands, {len(tally.missed)} missed", end="", file=sys.stderr)
    return tally


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    tally = campaign(count, int(sys.argv[2]) if len(sys.argv) > 2 else 0, loud=True)
    print(
        f"\n{tally.total} commands; {tally.ran} ran stubs, {tally.calls} calls, "
        f"{tally.files} files written; "
        f"{tally.unnamed} unnamed (asked); {len(tally.missed)} calls outside what was named; "
        f"control (split at operators) missed in {tally.naive_missed} commands"
    )
    odd = odd_places(loud=True)
    print(
        f"\n{odd.total} odd places read without a doubt, of {len(list(quirks()))}; "
        f"{len(odd.missed)} calls outside what was named"
    )
    for command, call in odd.missed:
        print(f"--- {call}\n{command}")
    return 1 if tally.missed or odd.missed else 0


if __name__ == "__main__":
    sys.exit(main())
