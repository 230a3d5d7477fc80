"""Short ways to put a call before a policy."""

from __future__ import annotations

import json
from pathlib import Path

from bridle.permissions.calls import facts_of
from bridle.permissions.evaluate import evaluate
from bridle.types.permissions import Decision, Policy, Rule
from bridle.types.tools import CallFacts

ROOT = "/work/app"
HOME = "/home/dev"
CORPUS = json.loads((Path(__file__).parents[1] / "data" / "permissions.json").read_text())
ALLOWED = ("echo", "git status", "git diff", "git log", "ls", "cat", "grep", "npm test")


def rule(matches: str, effect: str = "allow", **more) -> Rule:
    return Rule(id=f"{effect} {matches}", matches=matches, effect=effect, **more)


def policy(*rules: Rule, **more) -> Policy:
    given = {"root": ROOT, "home": HOME, "state_dir": f"{HOME}/.local/state/bridle", **more}
    return Policy(rules=rules, **given)


def prefixes(*commands: str) -> tuple[Rule, ...]:
    return tuple(rule(f"bash({command}:*)") for command in commands)


def bash(command: str, under: Policy, *, classified=None, **more) -> Decision:
    facts = CallFacts(args={"command": command}, command=command, classified=classified)
    return evaluate("bash", facts, under, **more)


def call(tool: str, under: Policy, **args) -> Decision:
    return evaluate(tool, facts_of(tool, args), under)
