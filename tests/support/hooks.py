"""Projects with hooks, and what their runs left behind."""

from __future__ import annotations

import json
from typing import Any

from bridle import Harness
from support.cli import Bridle

SPEC = """\
version: 1
name: hooked
model_policy: {primary: scripted/answers.yaml}
execution_policy: {approval_profile: yolo}
"""
ANSWERS = """\
- calls: [{tool: bash, args: {command: "echo ran > effect.txt"}}]
- says: finished
"""


def write_project(bridle: Bridle, *hooks: dict[str, Any], answers: str = ANSWERS) -> None:
    (bridle.cwd / "answers.yaml").write_text(answers)
    (bridle.cwd / "harness.yaml").write_text(SPEC + f"hooks: {json.dumps(list(hooks))}\n")


def effect(bridle: Bridle) -> bool:
    return (bridle.cwd / "effect.txt").exists()


def events(bridle: Bridle, *types: str) -> list[dict[str, Any]]:
    done = bridle("events", "last", "--json")
    return [event for event in done.lines if event["type"] in types]


async def log_of(harness: Harness, *types: str) -> list[Any]:
    """The events of all threads, in order, those of some types if named."""
    found: list[Any] = []
    for thread in await harness.store.threads(hidden=True):
        found += await harness.store.events(thread.id)
    return [event for event in found if not types or event.type in types]
