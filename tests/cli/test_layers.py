"""Configuration in layers: the nearest to the user wins, a deny stays, values have origins."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Bridle

LOCAL = ".bridle/local/config.yaml"


@pytest.fixture
def layered(bridle: Bridle) -> Bridle:
    write(bridle.home / "b" / "config.yaml", "limits: {max_steps: 5, timeout: 50}\n")
    (bridle.cwd / "harness.yaml").write_text(
        "version: 1\nname: demo\nexecution_policy: {sandbox: none}\nlimits:\n  max_steps: 9\n"
    )
    return bridle


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def explained(bridle: Bridle, key: str) -> dict[str, object]:
    (row,) = bridle("config", "--explain", key, "--json").json
    return row


def test_each_layer_goes_before_those_below_it(layered: Bridle) -> None:
    row = explained(layered, "limits.max_steps")
    assert (row["value"], row["layer"]) == (9, "harness.yaml")
    assert str(row["source"]).endswith("harness.yaml:5")
    assert [(o["layer"], o["value"]) for o in row["overrode"]] == [("user", 5)]
    assert row["overrode"][0]["source"].endswith("config.yaml:1")

    write(layered.cwd / LOCAL, "# mine\nlimits:\n  max_steps: 7\n")
    row = explained(layered, "limits.max_steps")
    assert (row["value"], row["layer"]) == (7, "local")
    assert str(row["source"]).endswith("config.yaml:3")

    layered.env = {"BRIDLE_LIMITS__MAX_STEPS": "3"}
    row = explained(layered, "limits.max_steps")
    assert (row["value"], row["layer"], row["source"]) == (
        3, "environment", "BRIDLE_LIMITS__MAX_STEPS",
    )  # fmt: skip
    assert [o["layer"] for o in row["overrode"]] == ["local", "harness.yaml", "user"]

    row = explained(layered, "limits.timeout")
    assert (row["value"], row["layer"]) == (50.0, "user")
    row = explained(layered, "limits.max_usd")
    assert (row["value"], row["layer"], row["overrode"]) == (None, "default", [])
    text = layered("config", "--explain", "limits.max_steps").out.splitlines()
    assert text[0] == "limits.max_steps = 3"
    assert text[1].endswith("environment, BRIDLE_LIMITS__MAX_STEPS")


def test_the_layers_hold_for_a_run(layered: Bridle) -> None:
    (layered.cwd / "script.yaml").write_text(
        "\n".join(f"- calls: [{{tool: glob, args: {{pattern: '{n}*'}}}}]" for n in range(12))
    )
    words = ("run", "go", "--model", "scripted/script.yaml", "--output-format", "json")
    assert layered(*words).json["steps"] == 9
    layered.env = {"BRIDLE_LIMITS__MAX_STEPS": "3"}
    assert layered(*words).json["steps"] == 3
    assert layered(*words, "--max-steps", "2").json["steps"] == 2


def test_a_model_of_the_users_own(bridle: Bridle) -> None:
    (bridle.cwd / "harness.yaml").unlink()
    write(bridle.home / "b" / "config.yaml", "model_policy: {primary: scripted/script.yaml}\n")
    (bridle.cwd / "script.yaml").write_text("- says: from the user's file\n")
    done = bridle("run", "go")
    assert (done.code, done.out) == (0, "from the user's file\n"), done.err


def test_a_deny_is_not_taken_away(bridle: Bridle) -> None:
    write(
        bridle.home / "b" / "config.yaml",
        "execution_policy:\n"
        "  denied_commands: [rm]\n"
        "  allow_network: false\n"
        "  permissions:\n"
        "    - {pattern: 'bash(dd:*)', effect: deny}\n",
    )
    (bridle.cwd / "harness.yaml").write_text(
        "version: 1\nname: x\nexecution_policy:\n"
        "  denied_commands: [git push]\n"
        "  allow_network: true\n"
        "  permissions: [{pattern: 'bash(rm:*)', effect: allow}, {tool: bash, effect: allow}]\n"
    )
    for call in ("bash(rm x)", "bash(dd if=a)", "bash(git push)"):
        (row,) = bridle("policy", "explain", call, "--json").json
        assert row["effect"] == "deny", call
    assert row["source"].endswith("harness.yaml:4")
    (row,) = bridle("policy", "explain", "bash(dd if=a)", "--json").json
    assert row["source"].endswith("b/config.yaml:5")
    (row,) = bridle("policy", "explain", "bash(ls)", "--json").json
    assert row["effect"] == "allow"
    assert explained(bridle, "execution_policy.allow_network")["value"] is False


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("user", "limits:\n  max_stepz: 1\n", "config.yaml:2: Unknown field in limits 'max_stepz'"),
        ("user", "limits:\n  max_steps: many\n", "config.yaml:2: limits.max_steps"),
        ("local", "a: [\n", "config.yaml:2: is not valid YAML"),
        ("local", "hookz: []\n", "config.yaml:1: Unknown field 'hookz'"),
    ],
)
def test_mistakes_have_a_line(layered: Bridle, file: str, text: str, told: str) -> None:
    place = layered.home / "b" / "config.yaml" if file == "user" else layered.cwd / LOCAL
    write(place, text)
    for words in (["config"], ["run", "go"]):
        done = layered(*words)
        assert done.code == 2
        assert told in done.err


def test_a_wrong_variable_is_named(layered: Bridle) -> None:
    layered.env = {"BRIDLE_LIMITS__MAX_STEPZ": "3"}
    done = layered("config")
    assert done.code == 2
    assert "BRIDLE_LIMITS__MAX_STEPZ" in done.err
    assert "Did you mean 'max_steps'?" in done.err


@pytest.mark.parametrize("file", ["harness.yaml", LOCAL])
def test_a_project_says_where_models_are_only_with_trust(bridle: Bridle, file: str) -> None:
    (bridle.cwd / "harness.yaml").write_text("version: 1\nname: x\n")
    section = "model_policy: {base_url: 'http://127.0.0.1:9', primary: openai/x}\n"
    head = "version: 1\nname: x\n" if file == "harness.yaml" else ""
    write(bridle.cwd / file, head + section)
    (bridle.cwd / "script.yaml").write_text("- says: ok\n")
    assert bridle("run", "go", "--model", "scripted/script.yaml").code == 4


@pytest.mark.parametrize("field", ["inherits: x", "mcp: {}", "workflow: {mode: chain}"])
def test_what_is_not_enforced_is_refused(bridle: Bridle, field: str) -> None:
    (bridle.cwd / "harness.yaml").write_text(f"version: 1\nname: x\n{field}\n")
    done = bridle("run", "go")
    assert done.code == 2
    assert "harness.yaml:3" in done.err
    assert "not enforced" in done.err


def test_the_record_goes_where_the_spec_says(bridle: Bridle) -> None:
    base = "version: 1\nname: x\nobservability:\n"
    (bridle.cwd / "script.yaml").write_text("- says: ok\n")
    go = ("run", "go", "--model", "scripted/script.yaml")
    spec = bridle.cwd / "harness.yaml"

    spec.write_text(base + "  store_url: sqlite:///runs/own.db\n")
    assert bridle(*go).code == 0
    assert (bridle.cwd / "runs" / "own.db").exists()
    assert len(bridle("runs", "--json").json) == 1
    assert bridle("replay", "last").code == 0
    assert bridle("runs", "--json", "--store", "sqlite").json == []

    spec.write_text(base + "  run_store: memory\n")
    assert bridle(*go).code == 0
    done = bridle("runs")
    assert done.code == 2
    assert "memory" in done.err

    for kind in ("postgres", "file"):
        spec.write_text(base + f"  run_store: {kind}\n")
        done = bridle(*go)
        assert done.code == 2
        assert "not available" in done.err
        assert "harness.yaml:" in done.err
    spec.write_text(base + "  run_store: memory\n  store_url: sqlite:///x.db\n")
    assert bridle(*go).code == 2


def test_instruction_files_are_those_that_are_named(bridle: Bridle) -> None:
    (bridle.cwd / "AGENTS.md").write_text("the usual file\n")
    (bridle.cwd / "docs").mkdir()
    (bridle.cwd / "docs" / "rules.md").write_text("the named file\n")
    (bridle.cwd / "script.yaml").write_text("- says: ok\n")
    go = ("run", "go", "--model", "scripted/script.yaml")
    spec = bridle.cwd / "harness.yaml"
    base = "version: 1\nname: x\n"

    spec.write_text(base)
    assert "instructions: AGENTS.md" in bridle(*go).err
    spec.write_text(base + "context: {instruction_files: [docs/rules.md]}\n")
    assert "instructions: docs/rules.md" in bridle(*go).err
    spec.write_text(base + "context: {instruction_files: []}\n")
    assert "instructions" not in bridle(*go).err
    for name in ("nosuch.md", "../x.md"):
        spec.write_text(base + f"context:\n  instruction_files: [{name}]\n")
        assert bridle(*go).code == 2
