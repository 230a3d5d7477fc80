"""How many random bugs `try_edits` repairs, on packages that it was and was not tuned on.

    python benchmarks/repair_rate.py --tools PYTHON --work DIR [--set held_out] [--only NAME]

PYTHON is an interpreter of an environment with the requirements of `repair_packages.json` and both
mutation tools (`pip install pytest==… cosmic-ray==… mutmut==…`); it makes the mutants and runs the
packages' tests. Packages come from the package index as source archives. Every mutant that the
package's own tests kill counts; a repair counts when a separate, ordinary run of the whole suite
passes with the patch applied and no test is missing. Rows are appended to DIR/results.jsonl, and
a later run goes on after them.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import anyio
import msgspec

from bridle.repair.tool import try_edits
from bridle.repair.workspace import copy_project

HERE = Path(__file__).parent
CONFIG = json.loads(
    Path(os.environ.get("REPAIR_PACKAGES") or HERE / "repair_packages.json").read_text()
)
"""`REPAIR_PACKAGES` names another list, for the development of the engine on other code."""


def fetch(package: dict, work: Path) -> Path:
    """Download and unpack the source archive, once."""
    place = work / "src" / f"{package['name']}-{package['version']}"
    if not place.exists():
        archives = work / "archives"
        name = f"{package['name']}=={package['version']}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-binary", package["name"], "-d", str(archives), name]
        subprocess.run(command, check=True)
        stem = re.sub(r"[-_.]+", "[-_.]+", package["name"])
        archive = next(
            p for p in archives.iterdir() if re.fullmatch(rf"(?i){stem}-[\d.]+\.tar\.gz", p.name)
        )
        target = work / "unpacked" / package["name"]
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
        place.parent.mkdir(parents=True, exist_ok=True)
        next(target.iterdir()).rename(place)
    return place


def suite(python: str, root: Path, *, timeout: float, first: bool = False) -> tuple[bool, int]:
    """Run the suite the ordinary way; tells whether it passed and how many tests did."""
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]
    command += ["-x"] if first else []
    try:
        done = subprocess.run(
            command, cwd=root, env=env, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return False, 0
    passed = re.search(r"(\d+) passed", done.stdout)
    return done.returncode == 0, int(passed.group(1)) if passed else 0


@functools.cache
def as_shipped(python: str, place: Path) -> int:
    """How many tests of the package pass as it was published."""
    return suite(python, place, timeout=300)[1]


def killed_mutants(package: dict, place: Path, args: argparse.Namespace) -> list[dict]:
    """The first mutants that the package's own tests notice; kept for the next run."""
    cache = args.work / "mutants" / f"{package['name']}.json"
    if cache.exists():
        return json.loads(cache.read_text())
    began = time.monotonic()
    passed, _ = suite(args.tools, place, timeout=300)
    if not passed:
        raise SystemExit(f"{package['name']}: the suite does not pass as shipped")
    limit = 20 + 4 * (time.monotonic() - began)
    command = [args.tools, str(HERE / "repair_mutants.py"), str(place), str(CONFIG["seed"]), "60"]
    listing = subprocess.run(
        [*command, *package["sources"]], check=True, capture_output=True, text=True
    )
    found = []
    for row in map(json.loads, listing.stdout.splitlines()):
        if len(found) >= min(package["mutants"], args.mutants):
            break
        root = args.work / "mutating" / package["name"]
        shutil.rmtree(root, ignore_errors=True)
        copy_project(place, root)
        (root / row["path"]).write_text(row["code"], encoding="utf-8")
        if not suite(args.tools, root, timeout=limit, first=True)[0]:
            found.append(row)
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps(found))
    return found


def cpu_seconds() -> float:
    """CPU time of this process and of all that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def attempt(package: dict, place: Path, mutant: dict, args: argparse.Namespace) -> dict:
    """Repair one mutant and check the result independently."""
    root = args.work / "repairing" / package["name"]
    shutil.rmtree(root, ignore_errors=True)
    copy_project(place, root)
    (root / mutant["path"]).write_text(mutant["code"], encoding="utf-8")
    original = (place / mutant["path"]).read_text(encoding="utf-8")
    began, spent = time.monotonic(), cpu_seconds()
    report = anyio.run(
        lambda: try_edits(root, python=args.tools, time_budget=args.budget, workers=args.workers)
    )
    seconds, cpu = time.monotonic() - began, cpu_seconds() - spent
    status, same = report.status, False
    if status == "fixed":
        expected = as_shipped(args.tools, place)
        for part in report.patch:
            target = root / part.path
            text = target.read_text(encoding="utf-8")
            assert text.count(part.old) == 1
            target.write_text(text.replace(part.old, part.new), encoding="utf-8")
        passed, count = suite(args.tools, root, timeout=300)
        if not passed:  # a full machine fails tests too: once more before it is called wrong
            passed, count = suite(args.tools, root, timeout=300)
        same = (root / mutant["path"]).read_text(encoding="utf-8") == original
        if not passed or count < expected:
            status = "wrong"
    bug = difflib.unified_diff(original.splitlines(), mutant["code"].splitlines(), n=0, lineterm="")
    return {
        "package": package["name"],
        "set": package["set"],
        "tool": mutant["tool"],
        "operator": mutant["operator"],
        "status": status,
        "same_as_original": same,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "load": round(os.getloadavg()[0], 1),
        "tried": report.tried,
        "candidates": report.candidates,
        "failed": report.failed,
        "message": report.message[:300],
        "bug": [line for line in bug if not line.startswith(("---", "+++", "@@"))],
        "diff": report.diff,
        "suspicious": msgspec.to_builtins(report.suspicious),
    }


def summary(rows: list[dict]) -> None:
    print()
    for name in ("tuning", "held_out"):
        chosen = [row for row in rows if row["set"] == name]
        if not chosen:
            continue
        fixed = [row for row in chosen if row["status"] == "fixed"]
        in_time = [row for row in fixed if row["seconds"] <= 60]
        in_cpu = [row for row in fixed if row["cpu_seconds"] <= 60]
        wrong = sum(row["status"] == "wrong" for row in chosen)
        same = sum(row["same_as_original"] for row in fixed)
        middle = statistics.median(row["seconds"] for row in fixed) if fixed else 0
        print(
            f"{name}: {len(in_time)} of {len(chosen)} killed mutants fixed within 60 s "
            f"({100 * len(in_time) / len(chosen):.0f} %), {len(in_cpu)} within 60 CPU seconds "
            f"({100 * len(in_cpu) / len(chosen):.0f} %), {wrong} wrong, "
            f"{same} restored the original text, median {middle:.1f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--set", choices=["tuning", "held_out"])
    parser.add_argument("--only")
    parser.add_argument("--index", type=int)
    parser.add_argument("--mutants", type=int, default=99, help="at most so many per package")
    parser.add_argument("--budget", type=float, default=58.0)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    args.work = args.work.resolve()
    results = args.work / "results.jsonl"
    rows = [json.loads(line) for line in results.open()] if results.exists() else []
    done = {(row["package"], row["index"]) for row in rows}
    packages = [
        package
        for package in CONFIG["packages"]
        if args.set in {None, package["set"]} and args.only in {None, package["name"]}
    ]
    indexes = range(max(package["mutants"] for package in packages))
    for index in indexes if args.index is None else [args.index]:  # a prefix is a fair sample too
        for package in packages:
            place = fetch(package, args.work)
            mutants = killed_mutants(package, place, args)
            if index >= min(len(mutants), args.mutants) or (package["name"], index) in done:
                continue
            row = {"index": index, **attempt(package, place, mutants[index], args)}
            rows.append(row)
            with results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            bug = " / ".join(line.replace("  ", "") for line in row["bug"])[:150]
            print(
                f"{row['package']:15} {index} {row['status']:10} {row['seconds']:5.1f} s "
                f"{row['cpu_seconds']:5.1f} cpu s "
                f"{row['tried']:5} tried  {row['tool']}:{row['operator']}  {bug}",
                flush=True,
            )
    summary(rows)


if __name__ == "__main__":
    main()
