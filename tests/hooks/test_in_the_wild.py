"""A project with the hooks that people have for another tool, as they are written for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import SpecError
from bridle.hooks.claude import read_claude
from bridle.hooks.content import content_of
from bridle.hooks.define import Hook, bind
from support.cli import Bridle
from support.hooks import events

VALIDATOR = """#!/usr/bin/env python3
import json, re, sys
data = json.load(sys.stdin)
if data["tool_name"] != "Bash":
    sys.exit(0)
if re.search(r"^grep\\b", data["tool_input"]["command"]):
    print("use rg instead of grep", file=sys.stderr)
    sys.exit(2)
"""
PROTECT = (
    'python3 -c "import json, sys; data=json.load(sys.stdin); '
    "path=data.get('tool_input',{}).get('file_path',''); "
    "sys.exit(2 if any(p in path for p in ['.env', 'package-lock.json', '.git/']) else 0)\""
)
ONLY_DOCS = (
    """python3 -c 'import json, sys; path = json.load(sys.stdin)["tool_input"]["file_path"]; """
    """print(json.dumps({"suppressOutput": True, "hookSpecificOutput": {"hookEventName": """
    """"PreToolUse", "permissionDecision": "allow" if path.endswith(".md") else "deny", """
    """"permissionDecisionReason": "only docs are read here, and this is a long enough """
    """line that no name of a file could ever be as long as it is: the limit is 255 bytes"}}))'"""
)
LOG = """#!/bin/bash
INPUT=$(cat)
python3 -c 'import json, sys; data = json.loads(sys.argv[1]); print(data["hook_event_name"],
data.get("tool_name", "-"), data.get("tool_input", {}).get("file_path", "-"))' "$INPUT" \\
  >> "$CLAUDE_PROJECT_DIR"/hook.log
"""
PROMPT = """import json, sys
data = json.load(sys.stdin)
if "password" in data["prompt"]:
    print(json.dumps({"decision": "block", "reason": "no passwords"}))
else:
    print("It is noon.")
"""
STOP = """import json, sys
if not json.load(sys.stdin).get("stop_hook_active"):
    print(json.dumps({"decision": "block", "reason": "run the tests before you stop"}))
"""
ANSWERS = """
- calls: [{tool: bash, args: {command: grep x a.py}}, {tool: bash, args: {command: echo hi}}]
- calls: [{tool: read_file, args: {path: a.md}}, {tool: read_file, args: {path: a.py}}]
- calls:
  - {tool: write_file, args: {path: package-lock.json, content: x}}
  - {tool: write_file, args: {path: b.txt, content: x}}
- {says: done}
- {says: the tests ran}
"""


def command(text: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "command", "command": text, **more}]


def said(text: str) -> str:
    inner = {"hookEventName": "SessionStart", "additionalContext": text}
    return f"echo '{json.dumps({'hookSpecificOutput': inner})}'"


SETTINGS = {
    "hooks": {
        "SessionStart": [
            {"matcher": "startup|resume", "hooks": command(said("be brief"))},
            {"matcher": "compact", "hooks": command(said("never said"))},
        ],
        "UserPromptSubmit": [
            {"hooks": command("python3 $CLAUDE_PROJECT_DIR/.claude/hooks/prompt.py")}
        ],
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": command('"$CLAUDE_PROJECT_DIR"/.claude/hooks/validator.py', timeout=10),
            },
            {"matcher": "Edit|MultiEdit|Write", "hooks": command(PROTECT)},
            {"matcher": "Read", "hooks": command(ONLY_DOCS)},
            {"matcher": "mcp__.*|Notebook.*", "hooks": command("exit 2")},
        ],
        "PostToolUse": [
            {"matcher": "*", "hooks": command("$CLAUDE_PROJECT_DIR/.claude/hooks/log.sh")}
        ],
        "Stop": [{"hooks": command('python3 "$CLAUDE_PROJECT_DIR"/.claude/hooks/stop.py')}],
        "SessionEnd": [
            {"matcher": "clear", "hooks": command("touch never")},
            {"hooks": command("$CLAUDE_PROJECT_DIR/.claude/hooks/log.sh")},
        ],
        "PreCompact": [{"matcher": "manual", "hooks": command("true")}],
    }
}


@pytest.fixture
def wild(project: Bridle) -> Bridle:
    hooks = project.cwd / ".claude/hooks"
    hooks.mkdir(parents=True)
    for name, text in (
        ("validator.py", VALIDATOR), ("log.sh", LOG), ("prompt.py", PROMPT), ("stop.py", STOP),
    ):  # fmt: skip
        (hooks / name).write_text(text)
        (hooks / name).chmod(0o755)
    (project.cwd / ".claude/settings.json").write_text(json.dumps(SETTINGS, indent=2))
    (project.cwd / "harness.yaml").write_text("version: 1\nname: wild\n")
    (project.cwd / "answers.yaml").write_text(ANSWERS)
    (project.cwd / "a.md").write_text("docs\n")
    (project.cwd / "a.py").write_text("code\n")
    return project


def run(wild: Bridle, task: str) -> Any:
    return wild("run", task, "--model", "scripted/answers.yaml", "--profile", "yolo", "--trust")


def test_each_hook_does_what_it_was_written_for(wild: Bridle) -> None:
    done = run(wild, "hello")
    assert done.code == 0, done.err
    assert "hooks on PreCompact are not run" in done.err
    ends = {str(event["result"]).strip(): event["denied"] for event in events(wild, "tool_end")}
    assert [denied for text, denied in ends.items() if "use rg instead of grep" in text] == [True]
    assert [denied for text, denied in ends.items() if "only docs are read here" in text] == [True]
    assert ends["hi"] is False
    assert not (wild.cwd / "package-lock.json").exists()
    assert (wild.cwd / "b.txt").exists()
    messages = [event["message"] for event in events(wild, "message_end")]
    texts = [part.get("text") or "" for message in messages for part in message["parts"]]
    assert any("be brief" in text for text in texts)
    assert any("It is noon." in text for text in texts)
    assert not any("never said" in text for text in texts)
    assert texts[-1] == "the tests ran"
    assert not (wild.cwd / "never").exists()
    logged = sorted((wild.cwd / "hook.log").read_text().splitlines())
    assert logged == [
        "PostToolUse Bash -",
        f"PostToolUse Read {wild.cwd}/a.md",
        f"PostToolUse Write {wild.cwd}/b.txt",
        "SessionEnd - -",
    ]
    assert wild("replay", "last").code == 0


def test_a_prompt_that_is_blocked_ends_the_run(wild: Bridle) -> None:
    done = run(wild, "my password is x")
    assert done.code == 4
    assert "no passwords" in done.err


@pytest.mark.parametrize(
    "text",
    [
        "jq '" + "x" * 5000 + "'",
        "python3 -c '" + "a/" * 3000 + "'",
        "echo " + "é" * 200,
        "cat /root/.profile/x /proc/1/root/x",
        "sh loop/x.sh",
        "echo '\\0' && sh x.sh",
    ],
)
def test_any_word_of_a_command_can_be_looked_up(tmp_path: Path, text: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "shut").mkdir(mode=0)
    bound = bind(Hook(event="PreToolUse", command=text + "; sh shut/x.sh"), 0, root=tmp_path)
    assert os.path.join("shut", "x.sh") in content_of(bound)


@pytest.mark.parametrize(
    ("event", "matcher", "told"),
    [
        ("SessionStart", "start.*", "is not a list of names"),
        ("PreToolUse", "(", "cannot be read"),
        ("PreToolUze", "Bash", "PreToolUse"),
    ],
)
def test_a_matcher_that_cannot_be_read_is_told_with_its_line(
    tmp_path: Path, event: str, matcher: str, told: str
) -> None:
    (tmp_path / ".claude").mkdir()
    groups = {event: [{"matcher": matcher, "hooks": command("true")}]}
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"hooks": groups}, indent=1))
    with pytest.raises(SpecError, match=told) as raised:
        read_claude(tmp_path)
    assert raised.value.line == 3
