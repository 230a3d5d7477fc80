"""CPU of a cold command, beside an interpreter that does nothing, and what its imports cost.

`run` is one step of a scripted model with the durable log, without a sandbox. The bytecode is
cached, as after an installation.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from common import BRIDLE, PYTHON, Cost, best, command, scratch, table, verdict

REPEAT = 15
TOP = 12
COMMANDS: dict[str, tuple[list[str], float | None]] = {
    "--version": (["--version"], 30.0),
    "--help": (["--help"], 80.0),
    "run --help": (["run", "--help"], None),
    "run (scripted, one step)": (
        ["run", "hello", "--model", "scripted/script.yaml", "--sandbox", "none"],
        300.0,
    ),
}


def costs(directory: Path, env: Mapping[str, str]) -> list[list[object]]:
    def measured(*argv: str) -> Cost:
        return best(lambda: command(*argv, env=env, cwd=directory), REPEAT)

    floor = measured(PYTHON, "-c", "pass")
    rows: list[list[object]] = [["python -c pass", floor.cpu, 1.0, floor.rss, "", ""]]
    for name, (arguments, target) in COMMANDS.items():
        cost = measured(BRIDLE, *arguments)
        aim = f"≤ {target:g} ms" if target else ""
        met = verdict(cost.cpu, target) if target else ""
        rows.append([f"bridle {name}", cost.cpu, cost.cpu / floor.cpu, cost.rss, aim, met])
    return rows


def imports(arguments: list[str], directory: Path, env: Mapping[str, str]) -> list[list[object]]:
    """The imports with the most time of their own, without what they import in turn."""
    done = subprocess.run(
        [PYTHON, "-X", "importtime", BRIDLE, *arguments],
        cwd=directory,
        env=dict(env),
        capture_output=True,
        text=True,
        check=True,
    )
    own: dict[str, float] = {}
    for line in done.stderr.splitlines():
        fields = line.removeprefix("import time:").split("|")
        if line.startswith("import time:") and fields[0].strip().isdigit():
            own[fields[2].strip()] = int(fields[0]) / 1000
    packages: dict[str, tuple[float, int]] = {}
    for name, spent in own.items():
        package = name.partition(".")[0]
        before, count = packages.get(package, (0.0, 0))
        packages[package] = before + spent, count + 1
    order = sorted(packages.items(), key=lambda item: -item[1][0])[:TOP]
    rows: list[list[object]] = [[name, spent, count] for name, (spent, count) in order]
    return [*rows, ["all", sum(own.values()), len(own)]]


def main() -> None:
    with scratch() as directory:
        (directory / "script.yaml").write_text("- says: hello\n")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "TMPDIR": str(directory),
            "BRIDLE_HOME": str(directory / "b"),
        }
        heads = ["CPU", "ms", "× python", "RSS MB", "target", ""]
        table(f"Cold start, least of {REPEAT}", heads, costs(directory, env))
        for name, (arguments, _) in COMMANDS.items():
            rows = imports(arguments, directory, env)
            title = f"Imports of `bridle {name}` by package (wall ms while traced)"
            table(title, ["package", "ms", "modules"], rows)


if __name__ == "__main__":
    main()
