"""The ten steps, in their order, and what each of them may decide."""

from __future__ import annotations

import itertools

import pytest

from bridle.permissions.evaluate import evaluate
from bridle.permissions.profiles import EFFECTS
from bridle.types.permissions import (
    PROFILES,
    Classified,
    Grants,
    HookVerdict,
    Scope,
)
from bridle.types.tools import CATEGORIES, CallFacts
from permissions.support import ROOT, bash, call, policy, prefixes, rule

READ = CallFacts(args={"path": "a"}, category="read", read_only=True, paths=("a",))
EDIT = CallFacts(args={"path": "a"}, category="edit", paths=("a",))


def stages(decision) -> list[str]:
    return [f"{step.stage} {step.verdict}" for step in decision.trace]


def test_an_allowed_call_shows_every_step():
    found = call("write_file", policy(rule("write_file", source="harness.yaml:7")), path="a")
    assert stages(found) == [
        "scope pass", "safety pass", "deny pass", "hook pass", "yolo pass", "tool allow",
    ]  # fmt: skip
    assert (found.rule, found.layer, found.source) == (
        "allow write_file",
        "harness",
        "harness.yaml:7",
    )
    assert found.trace[-1].source == "harness.yaml:7"


def test_1_scope_comes_first_and_names_its_layer():
    scopes = (Scope(layer="platform"), Scope(layer="org", removed={"bash*": "not for this org"}))
    found = bash("ls", policy(rule("bash"), scope=scopes, yolo=True))
    assert (found.effect, found.layer, found.reason) == ("deny", "org", "not for this org")
    assert stages(found) == ["scope deny"]
    only = Scope(layer="agent", tools=("read_file", "mcp__gh__*"))
    assert call("read_file", policy(scope=(only,)), path="a").effect == "allow"
    assert call("write_file", policy(rule("write_file"), scope=(only,)), path="a").layer == "agent"
    assert evaluate("mcp://gh/x/y", READ, policy(rule("*"), scope=(only,))).effect == "allow"
    named = Scope(layer="agent", tools=("Bash", "mcp://gh/x/y"))
    assert bash("ls", policy(rule("bash"), scope=(named,))).effect == "allow"
    assert evaluate("mcp__gh__y", READ, policy(rule("*"), scope=(named,))).effect == "allow"
    removed = policy(rule("bash"), removed={"bash": "no_tool has no tools"})
    assert bash("ls", removed).reason == "no_tool has no tools"
    assert evaluate("execute_command", CallFacts(args={"command": "ls"}), removed).effect == "deny"


def test_2_safety_denies_before_any_rule():
    wide = policy(rule("*"), yolo=True)
    assert call("read_file", wide, path="../x").rule == "safety:escape"
    assert call("read_file", wide, path="/home/dev/.ssh/id_ed25519").rule == "safety:secret"
    assert call("read_file", wide, path="~/.aws/credentials").rule == "safety:secret"
    assert (
        call("read_file", wide, path="/home/dev/.local/state/bridle/bridle.db").rule
        == "safety:secret"
    )
    assert (
        call("read_file", policy(rule("*"), secrets=("**/.env",)), path="a/.env").effect == "deny"
    )


def test_2_protected_files_are_asked_whatever_follows():
    for under in (
        policy(rule("*"), yolo=True),
        policy(profile="yolo"),
        policy(rule("write_file:.mcp.json")),
        policy(profile="auto-edit"),
    ):
        found = call("write_file", under, path=".mcp.json")
        assert (found.effect, found.rule) == ("ask", "safety:protected")
        assert not found.classifiable
    allowing = HookVerdict(effect="allow", hook="h")
    facts = CallFacts(args={}, category="edit", paths=(".git/config",))
    assert evaluate("edit_file", facts, policy(yolo=True), hook=allowing).effect == "ask"
    assert call("write_file", policy(rule("*"), answerable=False), path=".bashrc").effect == "deny"
    assert call("read_file", policy(), path=".mcp.json").effect == "allow"
    denied = call("write_file", policy(rule("write_file", "deny")), path=".mcp.json")
    assert denied.rule == "deny write_file"


@pytest.mark.parametrize(
    "denial",
    [
        rule("write_file", "deny"), rule("write_file:src/**", "deny"), rule("edit", "deny",
        by_category=True),
        rule("*", "deny"), rule("write_*", "deny"), rule("Edit(src/*)", "deny"), rule("Write",
        "deny"),
    ],
    ids=lambda r: r.matches,
)  # fmt: skip
@pytest.mark.parametrize("layer", ["platform", "session"])
def test_3_a_denial_is_absolute_at_any_layer(denial, layer):
    import msgspec

    denial = msgspec.structs.replace(denial, layer=layer, source="x.yaml:1", reason="because")
    facts = CallFacts(args={}, category="edit", paths=("src/a.py",))
    grants = Grants(tools=frozenset({"write_file"}), categories=frozenset({"edit"}))
    for rules in ((denial, rule("write_file:src/a.py")), (rule("write_file:src/a.py"), denial)):
        found = evaluate(
            "write_file", facts, policy(*rules, yolo=True), grants, HookVerdict(effect="allow")
        )
        assert (found.effect, found.layer, found.source) == ("deny", layer, "x.yaml:1")
        assert found.reason == "because"


def test_4_hooks_decide_before_yolo_and_rules():
    ask = HookVerdict(effect="ask", hook="lint", reason="look", source="hooks.yaml:2")
    found = evaluate("read_file", READ, policy(rule("*"), yolo=True), hook=ask)
    assert (found.effect, found.rule, found.source) == ("ask", "hook:lint", "hooks.yaml:2")
    assert (
        evaluate("write_file", EDIT, policy(), hook=HookVerdict(effect="allow")).effect == "allow"
    )
    assert evaluate("read_file", READ, policy(), hook=HookVerdict(effect="deny")).effect == "deny"
    failed = HookVerdict(failed=True)
    assert evaluate("read_file", READ, policy(yolo=True), hook=failed).effect == "deny"
    let_go = HookVerdict(failed=True, on_failure="allow")
    assert evaluate("write_file", EDIT, policy(), hook=let_go).effect == "ask"
    assert evaluate("read_file", READ, policy(), hook=HookVerdict()).effect == "allow"


def test_5_yolo_turns_ask_into_allow_and_nothing_else():
    assert (
        call("write_file", policy(rule("write_file", "ask"), yolo=True), path="a").effect == "allow"
    )
    assert bash("$X", policy(yolo=True)).effect == "allow"
    assert bash("curl x | sh", policy(profile="yolo")).effect == "allow"
    assert bash("rm x", policy(rule("bash(rm:*)", "deny"), yolo=True)).effect == "deny"
    with_denial = policy(rule("bash(rm:*)", "deny"), yolo=True)
    for command in ("$X y", 'bash -c "$X"', "curl x | sh", "PAGER='rm x' git log", "find . $X",
                    "git -c core.pager='rm x' log", "sed '1e rm x' f",
                    "tar tf a --to-command='rm x'",
                    "x='a[$(rm y)]'; echo $((x))", "alias l=rm",
                    "awk 'BEGIN{system(\"rm x\")}'"):  # fmt: skip
        assert bash(command, with_denial).effect in ("ask", "deny"), command
    assert bash("ls $X", with_denial).effect == "allow"
    assert bash("git push", policy(rule("bash(git push:*)", "deny"), yolo=True)).effect == "deny"
    assert bash("git $X", policy(rule("bash(git push:*)", "deny"), yolo=True)).effect == "ask"


def test_6_the_most_specific_pattern_wins_and_then_the_tool():
    under = policy(
        rule("bash(git push:*)", "ask"), rule("bash(git:*)"), rule("bash(git push origin main)"),
        rule("bash", "ask"), rule("bash(npm test)", "notify"),
    )  # fmt: skip
    assert bash("git diff", under).rule == "allow bash(git:*)"
    assert bash("git push -f", under).rule == "ask bash(git push:*)"
    assert bash("git push origin main", under).effect == "allow"
    assert bash("npm test", under).effect == "notify"
    assert bash("ls", under).rule == "ask bash"
    same = policy(rule("bash(ls:*)"), rule("bash(ls *)", "ask"))
    assert bash("ls a", same).effect in ("ask", "allow")
    twice = policy(rule("bash(ls:*)"), rule("bash(ls:*)", "ask"))
    assert bash("ls", twice).effect == "ask"


def test_7_grants_come_after_rules():
    tool, category = Grants(tools=frozenset({"bash"})), Grants(categories=frozenset({"execute"}))
    pattern = Grants(patterns=frozenset({"bash(make:*)"}))
    assert bash("make", policy(), grants=tool).rule == "grant:bash"
    assert bash("make", policy(), grants=category).rule == "grant:category:execute"
    assert bash("make all", policy(), grants=pattern).rule == "grant:bash(make:*)"
    assert bash("make; rm x", policy(), grants=pattern).effect == "ask"
    assert bash("make", policy(rule("bash", "ask")), grants=tool).effect == "ask"
    assert bash("$X", policy(), grants=tool).effect == "ask"
    write = Grants(patterns=frozenset({"write_file:src/**"}))
    assert (
        evaluate(
            "write_file", CallFacts(args={}, category="edit", paths=("src/a",)), policy(), write
        ).effect
        == "allow"
    )
    assert evaluate("write_file", EDIT, policy(), write).effect == "ask"


def test_8_categories_and_profiles():
    for profile, category in itertools.product(PROFILES, CATEGORIES):
        read_only = category == "read"
        facts = CallFacts(args={}, category=category, read_only=read_only)
        assert (
            evaluate("some_tool", facts, policy(profile=profile)).effect
            == EFFECTS[profile][category]
        )
    assert (
        call("write_file", policy(rule("edit", "allow", by_category=True)), path="a").effect
        == "allow"
    )
    strict = policy(rule("read", "notify", by_category=True), profile="strict")
    assert call("read_file", strict, path="a").effect == "notify"
    asks = CallFacts(args={}, category="other", asks_user=True)
    for profile in PROFILES:
        assert evaluate("ask_user", asks, policy(profile=profile)).effect == "allow"
    assert (
        evaluate("fetch", CallFacts(args={}, category="read", hosts=("a.io",)), policy()).effect
        == "ask"
    )
    listed = policy(hosts=("a.io",))
    assert (
        evaluate("fetch", CallFacts(args={}, category="read", hosts=("a.io",)), listed).effect
        == "allow"
    )


def test_8_a_shell_call_is_never_a_read():
    facts = CallFacts(args={"command": "ls"}, category="read", read_only=True, command="ls")
    assert evaluate("bash", facts, policy()).effect == "ask"
    assert (
        evaluate("bash", CallFacts(args={}, category="read", read_only=True), policy()).effect
        == "ask"
    )
    assert evaluate("my_runner", facts, policy()).effect == "ask"
    assert evaluate("bash", facts, policy(profile="deny")).effect == "deny"
    denied = policy(rule("my_runner"), rule("bash(rm:*)", "deny"))
    assert evaluate("my_runner", CallFacts(args={}, command="rm x"), denied).effect == "deny"
    assert evaluate("bash_session", CallFacts(args={"command": "rm x"}), denied).effect == "deny"


def test_9_a_classifier_only_answers_for_defaults():
    low, unsure = Classified(risk="low", confidence=0.95), Classified(risk="low", confidence=0.9)
    assert bash("make", policy()).classifiable
    assert bash("make", policy(), classified=low).rule == "classifier"
    assert bash("make", policy(), classified=unsure).effect == "ask"
    assert bash("make", policy(), classified=Classified(risk="high", confidence=1)).effect == "ask"
    assert bash("make", policy(answerable=False), classified=low).effect == "allow"
    assert bash("make", policy(rule("bash", "ask")), classified=low).effect == "ask"
    assert bash("$X", policy(), classified=low).effect == "ask"
    assert call("write_file", policy(), path=".mcp.json").classifiable is False


def test_10_where_nobody_can_answer_it_is_denied():
    found = bash("make", policy(answerable=False))
    assert found.effect == "deny"
    assert "nobody can answer" in found.reason
    assert found.trace[-1].stage == "ask"


def test_every_part_must_be_allowed_and_one_denial_denies_all():
    under = policy(*prefixes("ls", "cat"), rule("bash(rm:*)", "deny"))
    assert bash("ls | cat", under).effect == "allow"
    assert bash("ls | cat | wc", under).effect == "ask"
    assert bash("ls; (cat; rm x)", under).effect == "deny"
    assert bash("ls $(rm x)", under).rule == "deny bash(rm:*)"
    assert [s.part for s in bash("ls a | cat", under).trace if s.part] == ["ls a", "cat"]
    assert bash("true", under).effect == "ask"
    assert bash("true; ls", under).effect == "allow"
    assert bash("cd ..; ls", under).effect == "ask"
    assert bash("cd src; ls", under).effect == "allow"


def test_a_denial_is_not_dodged_by_options_before_the_subcommand():
    under = policy(rule("bash(git push:*)", "deny"), rule("bash(npm publish:*)", "deny"), yolo=True)
    for command in ("git -C . push", "git --git-dir=.git push -f", "git -c a.b=c push",
                    "/usr/bin/git push",
                    "npm --silent publish", "git --no-pager push", "sudo git push",
                    "git -C $X push"):  # fmt: skip
        assert bash(command, under).effect == "deny", command
    assert bash("git stash push", under).effect == "allow"


def test_denials_of_file_tools_hold_for_commands():
    under = policy(
        rule("bash"), rule("Read(secret/**)", "deny"), rule("write_file:dist/**", "deny")
    )
    assert bash("cat secret/a", under).effect == "deny"
    assert bash("python x.py secret/a", under).effect == "deny"
    assert bash("cat < secret/a", under).effect == "deny"
    assert bash("echo a > dist/b", under).effect == "deny"
    assert bash("cd dist; cp ../a b", under).effect == "deny"
    assert bash("cat dist/b", under).effect == "allow"
    no_edits = policy(rule("bash"), rule("edit", "deny", by_category=True))
    assert bash("echo a > b", no_edits).effect == "deny"
    assert bash("rm b", no_edits).effect == "deny"
    assert bash("ls > /dev/null", no_edits).effect == "allow"


def test_listed_commands_are_the_only_ones_that_run_unasked():
    under = policy(rule("bash"), yolo=True, only_commands=("ls", "git status"))
    assert bash("ls -la && git status", under).effect == "allow"
    assert bash("cat x", under).rule == "policy:only-commands"
    assert bash("$X", under).effect == "ask"
    assert (
        bash("cat x", policy(yolo=True, only_commands=("ls",), answerable=False)).effect == "deny"
    )


def test_a_grant_can_be_limited_by_depth():
    limited = rule("bash(make:*)", max_depth=1)
    for depth, effect in ((0, "allow"), (1, "allow"), (2, "ask")):
        assert bash("make", policy(limited, depth=depth)).effect == effect
    assert bash("make", policy(rule("bash(make:*)", "deny", max_depth=0), depth=5)).effect == "deny"


def test_places_outside_are_named_by_rules_or_settings():
    assert call("write_file", policy(rule("write_file:/tmp/**")), path="/tmp/x").effect == "allow"
    assert call("write_file", policy(rule("write_file")), path="/tmp/x").effect == "deny"
    assert call("write_file", policy(rule("write_file:**")), path="/tmp/x").effect == "deny"
    assert (
        call("read_file", policy(readable=("/usr/include",)), path="/usr/include/a.h").effect
        == "allow"
    )
    assert (
        call("write_file", policy(rule("write_file"), readable=("/usr",)), path="/usr/a").effect
        == "deny"
    )
    assert (
        call("write_file", policy(rule("write_file"), writable=("/srv",)), path="/srv/a").effect
        == "allow"
    )
    assert bash("echo a > /etc/x", policy(rule("bash"))).effect == "deny"
    assert bash("echo a > /tmp/x", policy(rule("bash"))).effect == "allow"
    assert bash("rm -rf /", policy(rule("bash"), yolo=True)).effect == "deny"
    assert bash("rm -rf ~", policy(rule("bash"), yolo=True)).effect == "deny"
    assert bash(f"rm -rf {ROOT}/build", policy(rule("bash"), yolo=True)).effect == "allow"


def test_the_decision_is_a_pure_function():
    under = policy(*prefixes("ls"), rule("bash(rm:*)", "deny"))
    assert bash("ls; $X", under) == bash("ls; $X", under)


def test_a_line_without_effect_is_allowed_by_those_who_name_all_of_it():
    under = policy(rule("bash(true:*)"), rule("bash(pwd)"))
    assert bash("true && pwd", under).effect == "allow"
    assert bash("true; times", under).effect == "ask"
    assert bash("true $(rm x)", under).effect == "ask"
    assert bash("true > /etc/x", under).effect == "deny"
    assert bash("true", policy()).effect == "ask"
    assert bash("true", policy(rule("bash(true)", "ask"), rule("bash"))).effect == "ask"
