"""What a project brings is used only after the user trusted that content."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from support.cli import Bridle
from support.hooks import ANSWERS, SPEC, effect, events, write_project
from support.terminal import converse

GUARD = "echo guarded > guarded.txt; exit 0\n"


def guarded(project: Bridle, command: str = "sh guard.sh") -> None:
    (project.cwd / "guard.sh").write_text(GUARD)
    write_project(project, {"event": "PreToolUse", "command": command})


def ran(project: Bridle) -> bool:
    return (project.cwd / "guarded.txt").exists()


def test_headless_is_refused_until_it_is_trusted_once(project: Bridle) -> None:
    guarded(project)
    refused = project("run", "go")
    assert refused.code == 4
    assert "on PreToolUse runs sh guard.sh" in refused.err
    assert "with guard.sh" in refused.err
    assert not ran(project)
    assert not effect(project)
    assert project("run", "go", "--trust").code == 0
    assert ran(project)
    assert effect(project)
    assert project("run", "go").code == 0


def test_the_store_is_outside_the_project_and_private(project: Bridle) -> None:
    guarded(project)
    before = {path.name for path in project.cwd.iterdir()}
    assert project("config", "trust", "add").code == 0
    store = project.home / "b" / "trust.json"
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    assert {path.name for path in project.cwd.iterdir()} == before
    assert str(project.cwd) in json.loads(store.read_text())["projects"]


def test_a_changed_script_is_asked_again_with_what_changed(project: Bridle) -> None:
    guarded(project)
    assert project("run", "go", "--trust").code == 0
    (project.cwd / "guard.sh").write_text("echo evil > evil.txt\n")
    refused = project("run", "go")
    assert refused.code == 4
    assert "(changed)" in refused.err
    assert "changed: guard.sh" in refused.err
    assert not (project.cwd / "evil.txt").exists()
    (project.cwd / "guard.sh").write_text(GUARD)
    assert project("run", "go").code == 0  # as it was trusted


def test_a_changed_hook_is_asked_again_with_what_it_was(project: Bridle) -> None:
    guarded(project)
    assert project("run", "go", "--trust").code == 0
    guarded(project, "sh guard.sh; true")
    refused = project("run", "go")
    assert refused.code == 4
    assert "was: on PreToolUse runs sh guard.sh (" in refused.err


def test_a_script_that_the_agent_rewrites_does_not_run(project: Bridle) -> None:
    guarded(project)
    (project.cwd / "answers.yaml").write_text(
        "- calls: [{tool: bash, args: {command: 'echo echo evil > guard.sh'}}]\n" + ANSWERS
    )
    assert project("run", "go", "--trust").code == 0
    assert not effect(project)
    ends = events(project, "tool_end")
    assert not ends[0]["is_error"]
    assert "guard.sh was changed after it was trusted" in ends[1]["result"]


def test_trust_can_be_looked_at_given_and_taken_back(project: Bridle) -> None:
    guarded(project)

    def states() -> list[str]:
        listed = project("config", "trust", "list", "--json").json
        return [one["state"] for one in listed if one["kind"] == "hook"]

    assert states() == ["untrusted"]
    added = project("config", "trust", "add")
    assert "trusted: hook harness.yaml #0" in added.err
    assert states() == ["trusted"]
    assert project("run", "go").code == 0
    (project.cwd / "guard.sh").write_text("true\n")
    assert states() == ["changed"]
    assert project("config", "trust", "remove").code == 0
    assert states() == ["untrusted"]
    assert project("run", "go").code == 4


def test_settings_that_reach_beyond_the_project_need_trust(project: Bridle) -> None:
    (project.cwd / "answers.yaml").write_text("- says: fine\n")
    spec = project.cwd / "harness.yaml"
    spec.write_text(SPEC)
    assert project("run", "go").code == 0  # nothing of it reaches beyond
    for added, told in (
        ("model_policy: {primary: scripted/answers.yaml, base_url: http://x/v1}", "http://x/v1"),
        ("execution_policy: {writable: [/srv/elsewhere]}", "makes /srv/elsewhere writable"),
    ):
        spec.write_text(f"version: 1\nname: hooked\n{added}\n")
        refused = project("run", "go", "--model", "scripted/answers.yaml")
        assert refused.code == 4
        assert told in refused.err
    inside = "execution_policy: {writable: [build]}"
    spec.write_text(f"version: 1\nname: hooked\n{inside}\n")
    assert project("run", "go", "--model", "scripted/answers.yaml").code == 0


def test_nothing_hides_in_what_is_shown(project: Bridle) -> None:
    write_project(project, {"event": "PreToolUse", "command": "evil\r\x1b[2K\u202etrue\nmore"})
    refused = project("run", "go")
    assert refused.code == 4
    assert r"runs evil\r\x1b[2K\u202etrue\nmore (" in refused.err
    assert "\x1b" not in refused.err


def test_a_damaged_store_is_told(project: Bridle) -> None:
    guarded(project)
    store = project.home / "b" / "trust.json"
    store.parent.mkdir()
    store.write_text("{")
    done = project("run", "go")
    assert done.code == 2
    assert "is damaged" in done.err


def on_a_terminal(project: Bridle, answer: str, *arguments: str) -> tuple[int, str]:
    """Run a command on a terminal and answer whether to trust."""
    return converse(project, *arguments, question="Trust it as it is now?", answers=[answer])


def test_a_person_is_asked_once(project: Bridle) -> None:
    guarded(project)
    code, shown = on_a_terminal(project, "n", "run", "go")
    assert code == 4
    assert "on PreToolUse runs sh guard.sh" in shown
    assert not ran(project)
    code, _ = on_a_terminal(project, "y", "run", "go")
    assert code == 0
    assert ran(project)
    assert project("run", "go").code == 0


def test_a_chat_asks_too(project: Bridle) -> None:
    guarded(project)
    code, shown = on_a_terminal(project, "n", "chat")
    assert code == 4
    assert "on PreToolUse runs sh guard.sh" in shown


def loose(project: Bridle, policy: str, answers: str, more: str = "") -> None:
    (project.cwd / "answers.yaml").write_text(answers)
    (project.cwd / "harness.yaml").write_text(
        "version: 1\nname: loose\nmodel_policy: {primary: scripted/answers.yaml}\n"
        f"execution_policy: {policy}\n{more}"
    )


ESCAPES = """\
- calls: [{tool: bash, args: {command: 'echo out > "$OUTSIDE"'}}]
- says: finished
"""


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("{sandbox: none, approval_profile: yolo}", "sandbox none, approval_profile yolo"),
        ("{sandbox: none, categories: {execute: notify}}", "execute notify"),
        ("{sandbox: none, allowed_commands: [echo, make all]}", "allowed make all"),
        ("{sandbox: none, permissions: [{tool: 'ba*', effect: auto}]}", "auto ba*"),
        (
            "{sandbox: none, permissions: [{pattern: 'Bash(sh:*)', effect: allow}]}",
            "allow Bash(sh:*)",
        ),
    ],
)
def test_a_project_that_would_run_commands_unconfined_and_unasked_is_refused(
    project: Bridle, tmp_path: Path, policy: str, told: str
) -> None:
    outside = tmp_path / "outside.txt"
    loose(project, policy, ESCAPES.replace("$OUTSIDE", str(outside)))
    refused = project("run", "go")
    assert refused.code == 4
    assert "runs commands unasked, with all your rights" in refused.err
    assert told in refused.err
    assert not outside.exists()
    assert project("run", "go", "--yolo", "--sandbox", "no-shell", "--no-checks").code != 4
    assert project("run", "go", "--trust", "--yolo", "--no-checks").code == 0
    assert outside.exists()  # the control: it was the refusal that kept it in
    assert project("run", "go", "--yolo", "--no-checks").code == 0  # trusted from now on


def test_a_profile_of_one_s_own_goes_before_that_of_the_project(project: Bridle) -> None:
    loose(project, "{sandbox: none, approval_profile: yolo}", ESCAPES.replace("$OUTSIDE", "x"))
    assert project("run", "go", "--profile", "balanced", "--no-checks").code == 6
    loose(project, "{sandbox: none}", "- says: fine\n")
    for own in (["--profile", "yolo"], ["--yolo"]):
        assert project("run", "go", *own, "--no-checks").code == 0


def test_rules_that_run_nothing_of_the_project_are_no_reason(project: Bridle) -> None:
    permissions = (
        "[{tool: bash, effect: ask}, {tool: write_file, effect: allow},"
        " {pattern: 'bash(echo:*)', effect: allow}, {pattern: 'bash(git diff)', effect: allow}]"
    )
    policy = f"{{sandbox: none, allowed_commands: [git log, ls], permissions: {permissions}}}"
    loose(project, policy, "- says: fine\n")
    assert project("run", "go", "--no-checks").code == 0


def test_commands_that_somebody_approves_need_no_trust_and_are_told_of(
    project: Bridle, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    loose(project, "{sandbox: none}", ESCAPES.replace("$OUTSIDE", str(outside)))
    parked = project("run", "go", "--no-checks")
    assert parked.code == 6
    assert "turns the sandbox off: what you approve runs with all your rights" in parked.err
    (card,) = project("approvals", "--json").json
    assert project("approve", card["id"]).code == 0
    assert project("run", "--continue", "--no-checks").code == 0
    assert outside.exists()
    flags = ("--sandbox", "no-shell", "--no-checks")
    assert "not trusted" not in project("run", "go", *flags).err
    assert project("config", "trust", "add").code == 0
    assert "not trusted" not in project("run", "go", "--no-checks").err


def test_checks_of_a_project_that_is_not_trusted_are_confined(
    project: Bridle, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    step = f"checks: {{custom_steps: [{{name: out, command: 'echo x > {outside}'}}]}}\n"
    loose(project, "{sandbox: none}", "- says: fine\n", step)
    kept = project("run", "go")
    assert "its checks are confined (not trusted)" in kept.err
    assert not outside.exists()
    assert project("run", "go", "--trust").code == 0
    assert outside.exists()


CLAUDE = {
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Edit|Write",
                "hooks": [
                    {
                        "type": "command",
                        "command": '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh',
                        "timeout": 20,
                    }
                ],
            }
        ],
        "PreCompact": [{"hooks": [{"type": "command", "command": "true"}]}],
    }
}
SCRIPT = """\
#!/bin/sh
cat > told.json
grep -q '"tool_name":"Write"' told.json || exit 0
echo 'no writing here' >&2
exit 2
"""
WRITES = """\
- calls: [{tool: write_file, args: {path: a.txt, content: x}}]
- calls: [{tool: bash, args: {command: "echo ran > effect.txt"}}]
- says: finished
"""


def claude_project(project: Bridle, settings: object) -> Path:
    directory = project.cwd / ".claude"
    (directory / "hooks").mkdir(parents=True, exist_ok=True)
    script = directory / "hooks" / "guard.sh"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    (directory / "settings.json").write_text(json.dumps(settings, indent=1))
    (project.cwd / "answers.yaml").write_text(WRITES)
    (project.cwd / "harness.yaml").write_text(SPEC)
    return script


def test_claude_settings_are_read_once_they_are_trusted(project: Bridle) -> None:
    script = claude_project(project, CLAUDE)
    assert project("run", "go").code == 4
    done = project("run", "go", "--trust")
    assert done.code == 0, done.err
    assert "PreCompact are not run" in done.err
    assert not (project.cwd / "a.txt").exists()
    assert effect(project)
    assert "no writing here" in events(project, "tool_end")[0]["result"]
    told = json.loads((project.cwd / "told.json").read_text())
    assert told["tool_input"] == {"file_path": f"{project.cwd}/a.txt", "content": "x"}
    script.write_text("#!/bin/sh\nexit 0\n")
    assert project("run", "go").code == 4


def test_a_claude_hook_that_cannot_be_run_is_not_skipped(project: Bridle) -> None:
    entry = {"type": "prompt", "prompt": "is this fine?"}
    claude_project(project, {"hooks": {"PreToolUse": [{"hooks": [entry]}]}})
    done = project("run", "go", "--trust")
    assert done.code == 2
    assert "type 'prompt' are not available yet" in done.err
    hooks = {"PreToolUse": [{"hooks": [entry]}]}
    claude_project(project, {"disableAllHooks": True, "hooks": hooks})
    assert project("run", "go").code == 0


@pytest.mark.parametrize(
    ("providers", "code"),
    [
        ("{openai: {wire: responses}}", 0),
        ("{openai: {wire: chat, base_url: 'http://127.0.0.1:9'}}", 4),
        ("{openai: {models: {gpt-4o: {price: {input: 0, output: 0}}}}}", 4),
    ],
)
def test_only_where_models_are_and_what_they_cost_needs_trust(
    project: Bridle, providers: str, code: int
) -> None:
    write_project(project)
    spec = project.cwd / "harness.yaml"
    text = spec.read_text().replace("model_policy: {", f"model_policy: {{providers: {providers}, ")
    assert providers in text
    spec.write_text(text)
    done = project("run", "go", "--no-checks")
    assert done.code == code, done.err
