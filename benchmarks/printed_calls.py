"""How many calls that models printed as text are read as what was meant, by shape.

    python benchmarks/printed_calls.py

The corpus (tests/models/text_calls) holds answers in the shapes that models and chat templates are
known to print; each says what was meant. `torn` are calls that were cut and must not be run,
`benign` is prose and code that looks like a call and is none. The second column is the floor: what
a reader finds that takes an answer for a call when all of it is one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "models"))

from corpus import CALLS, TOOLS, cases  # noqa: E402 - beside the tests

from bridle.models.printed_calls import find_calls  # noqa: E402


def read(text: str) -> list[list[object]]:
    """What is found: tool and arguments of each call, None for one that is torn."""
    printed = find_calls(text, TOOLS)
    return [
        [call.tool, None if call.torn else json.loads(call.arguments)]
        for call in (printed.calls if printed else ())
    ]


def floor(text: str) -> list[list[object]]:
    """The simplest reader."""
    try:
        found = json.loads(text)
        return [[found["name"], found["arguments"]]]
    except (ValueError, KeyError, TypeError):
        return []


def main() -> None:
    """Print the rates."""
    print(f"{'shape':<10}{'cases':>7}{'read':>8}{'floor':>8}")
    total = hits = low = 0
    began = time.process_time()
    for name in (*CALLS, "field", "torn", "benign"):
        rows = cases(name)
        right = sum(read(row["text"]) == row["calls"] for row in rows)
        naive = sum(floor(row["text"]) == row["calls"] for row in rows)
        total, hits, low = total + len(rows), hits + right, low + naive
        print(f"{name:<10}{len(rows):>7}{right / len(rows):>8.0%}{naive / len(rows):>8.0%}")
    spent = (time.process_time() - began) / total * 1e3
    print(f"{'all':<10}{total:>7}{hits / total:>8.0%}{low / total:>8.0%}")
    print(f"{spent:.2f} ms CPU a case, both readers")


if __name__ == "__main__":
    main()
