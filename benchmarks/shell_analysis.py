"""What reading and deciding a shell command costs, beside a floor in the same run.

`python benchmarks/shell_analysis.py` prints CPU time: imports in fresh processes, microseconds per
command, and the ratio to `shlex.split`, which is the least that anybody would do.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {
    "one program": "git status",
    "a pipe": "ls -la | grep calc",
    "typical": "cd src && make -j4 2>&1 | tail -20",
    "quoted": "git commit -m 'fix: the thing' --author=\"A B <a@b>\"",
    "loop": 'for f in *.py; do if grep -q "x" "$f"; then sed -n 1,5p "$f"; fi; done',
    "here-document": "cat > notes.md <<'EOF'\n"
    + "line of text with $things and `others`\n" * 40
    + "EOF",
    "nested": "timeout 60 bash -c 'find . -name \"*.txt\" -exec grep -l x {} + | xargs wc -l'",
}

ANALYSE = "from bridle.permissions.shell.analyse import analyse"
IMPORTS = {
    "python -c pass": "pass",
    "msgspec": "import msgspec",
    "bridle.permissions.evaluate": "import bridle.permissions.evaluate",
    "… and one command": f"{ANALYSE}; analyse('git status')",
    "… and the second opinion": f"{ANALYSE}; analyse('a $(b)')",
    "tree_sitter + grammar alone": "import tree_sitter, tree_sitter_bash",
}


def cpu_of(code: str, runs: int = 7) -> float:
    """The least CPU milliseconds of a fresh interpreter that runs this code, byte code cached."""
    probe = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)\n"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(u.ru_utime + u.ru_stime)\n"
    )
    found = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(runs + 1):
            done = subprocess.run(
                [sys.executable, "-c", probe, code],
                capture_output=True, text=True, check=True, env=environment,
            )  # fmt: skip
            found.append(float(done.stdout) * 1000)
    return min(found[1:])


def per_call(function, argument: str, seconds: float = 0.3) -> float:
    """The least CPU microseconds of a call, over several rounds."""
    count = 1
    while True:
        began = time.process_time()
        for _ in range(count):
            function(argument)
        spent = time.process_time() - began
        if spent > seconds / 5:
            break
        count *= 2
    best = spent / count
    for _ in range(4):
        began = time.process_time()
        for _ in range(count):
            function(argument)
        best = min(best, (time.process_time() - began) / count)
    return best * 1e6


def main() -> None:
    print("CPU ms of a fresh process (least of 7)")
    floor = 0.0
    for name, code in IMPORTS.items():
        cost = cpu_of(code)
        floor = floor or cost
        print(f"  {name:<32} {cost:7.1f}   +{cost - floor:.1f}")

    from bridle.permissions.calls import facts_of
    from bridle.permissions.evaluate import evaluate
    from bridle.permissions.shell.analyse import analyse
    from bridle.types.permissions import Policy, Rule

    allowed = ("git status", "ls", "grep", "make", "tail", "cat", "wc", "sed", "find", "git commit")
    policy = Policy(
        root="/work/app",
        home="/home/dev",
        rules=(
            *(Rule(id=c, matches=f"bash({c}:*)", effect="allow") for c in allowed),
            Rule(id="rm", matches="bash(rm:*)", effect="deny"),
        ),
    )
    fresh = analyse.__wrapped__

    def decide(command: str) -> object:
        analyse.cache_clear()
        return evaluate("bash", facts_of("bash", {"command": command}), policy)

    print("CPU µs per command           chars  shlex.split  analyse  ratio   decide")
    corpus = Path(__file__).parents[1] / "tests" / "data" / "permissions.json"
    commands = dict(COMMANDS)
    totals = [0.0, 0.0, 0.0]
    for name, command in commands.items():
        times = [per_call(function, command) for function in (shlex.split, fresh, decide)]
        print(
            f"  {name:<24} {len(command):7} {times[0]:11.1f} {times[1]:9.1f} "
            f"{times[1] / times[0]:6.1f} {times[2]:8.1f}"
        )
        totals = [total + one for total, one in zip(totals, times, strict=True)]
    print(f"  {'mean':<32}{totals[0] / 7:11.1f} {totals[1] / 7:9.1f} {totals[1] / totals[0]:6.1f} "
          f"{totals[2] / 7:8.1f}")  # fmt: skip
    cases = json.loads(corpus.read_text())
    texts = [case["cmd"] for group in ("allow", "deny") for case in cases[group]]
    began = time.process_time()
    for text in texts * 20:
        fresh(text)
    print(f"  corpus, {len(texts)} hostile commands: "
          f"{(time.process_time() - began) / 20 / len(texts) * 1e6:.1f} µs each")  # fmt: skip


if __name__ == "__main__":
    main()
