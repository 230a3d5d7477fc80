"""Patterns in their written forms, and rules made of what people write."""

from __future__ import annotations

import pytest

from bridle.errors import ConfigError
from bridle.permissions.compile import (
    from_execution_policy,
    from_rules,
    from_settings,
    policy_of,
)
from bridle.permissions.patterns import canonical, parse
from bridle.types.permissions import Permission, Policy, Rules
from permissions.support import HOME, ROOT, bash, call, policy, rule


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("bash(git status:*)", ["git status", "git status -s"], ["git", "git statusx",
        "git 'status x'", "git stash"]),
        ("Bash(npm test)", ["npm test", "npm 'test'"], ["npm test a", "npm tests"]),
        ("Bash(git commit *)", ["git commit", "git commit -m 'a b'"], ["git commitx",
        "git 'commit x'"]),
        ("execute_command:make *", ["make", "make all"], ["makex", "cmake"]),
        ("shell(make)", ["make"], ["make all"]),
        ("bash(* --version)", ["node --version", "a b --version"], ["node --versions"]),
        ("bash(npm run *:test)", ["npm run a:test"], ["npm run a:build"]),
        ("bash", ["anything at all"], []),
        ("bash(*)", ["anything at all"], []),
        ("b*h", ["anything"], []),
    ],
)  # fmt: skip
def test_forms_for_commands(pattern, matching, others):
    for command in matching:
        assert bash(command, policy(rule(pattern))).effect == "allow", command
    for command in others:
        assert bash(command, policy(rule(pattern))).effect == "ask", command


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("write_file:src/**", ["src/a", "src/b/c.py", f"{ROOT}/src/a"], ["srcx/a", "a/src/b"]),
        ("write_file:src/*", ["src/a"], ["src/a/b"]),
        ("write_file:*.md", ["a.md"], ["docs/a.md", "a.mdx"]),
        ("write_file:**/*.md", ["a.md", "docs/x/a.md"], ["a.txt"]),
        ("Write(docs/)", ["docs/a", "docs/b/c"], ["docsx"]),
        ("write_file(./a.py)", ["a.py"], ["b.py"]),
        ("Edit(src/**)", ["src/a"], ["b"]),
        (f"write_file:{ROOT}/a?", ["ab"], ["a", "abc"]),
    ],
)  # fmt: skip
def test_forms_for_paths(pattern, matching, others):
    for path in matching:
        assert call("write_file", policy(rule(pattern)), path=path).effect == "allow", path
    for path in others:
        assert call("write_file", policy(rule(pattern)), path=path).effect == "ask", path


def test_forms_for_hosts_tools_and_servers():
    assert (
        call("web_fetch", policy(rule("WebFetch(domain:a.io)")), url="https://a.io/x").effect
        == "allow"
    )
    assert (
        call("web_fetch", policy(rule("web_fetch(domain:a.io)")), url="https://b.io/x").effect
        == "ask"
    )
    for pattern in (
        "mcp__gh__create",
        "mcp__gh__*",
        "mcp://gh/issues/create",
        "mcp://gh",
        "mcp://gh/*/*",
    ):
        assert call("mcp__gh__create", policy(rule(pattern)), a="b").effect == "allow", pattern
        assert call("mcp__other__create", policy(rule(pattern)), a="b").effect == "ask", pattern
    assert call("mcp__gh__create", policy(rule("mcp://gh/issues/*")), a="b").effect == "ask"
    assert (
        call("mcp__gh__create", policy(rule("*"), rule("mcp://gh/issues/*", "deny")), a="b").effect
        == "deny"
    )
    assert call("mcp__gh__create", policy(rule("mcp__gh__create(x*)")), a="xy").effect == "allow"
    assert (
        call("mcp__gh__create", policy(rule("mcp__gh__create(x*)")), a="xy", b="z").effect == "ask"
    )


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("execute_command", "bash"), ("shell", "bash"), ("Bash", "bash"), ("search_files", "grep"),
        ("Read", "read_file"),
        ("todo_write", "task_write"), ("todo_read", "task_check"), ("Write", "write_file"), ("Edit",
        "edit_file"),
        ("mcp://s/c/t", "mcp__s__t"), ("other", "other"),
    ],
)  # fmt: skip
def test_other_names_of_our_tools(name, ours):
    assert canonical(name) == ours


def test_specificity_orders_patterns():
    texts = [
        "bash(git push origin main)",
        "bash(git push:*)",
        "bash(git:*)",
        "bash(*)",
        "bash",
        "b*",
        "*",
    ]
    found = [parse(text).specificity for text in texts]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("text", ["", "bash(", "a b", "(x)", "1:2 3("])
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(ConfigError, match="not a pattern"):
        parse(text)


def test_rules_of_users_become_rules_with_places():
    made = from_rules(
        Rules(categories={"execute": "confirm"}, tools={"write_file": "auto"},
        patterns=(("bash(rm:*)", "reject"),)),
        layer="user",
        at=lambda key: f"config.yaml:{len(key)}",
    )  # fmt: skip
    assert [(r.id, r.effect, r.layer, r.by_category) for r in made] == [
        ("user:categories.execute", "ask", "user", True),
        ("user:tools.write_file", "allow", "user", False),
        ("user:patterns[0]", "deny", "user", False),
    ]
    assert made[0].source == "config.yaml:18"
    for bad in (
        Rules(categories={"exec": "ask"}),
        Rules(tools={"x": "alow"}),
        Rules(patterns=(("a b", "ask"),)),
    ):
        with pytest.raises(ConfigError):
            from_rules(bad)
    with pytest.raises(ConfigError, match="balanced"):
        from_rules(Rules(profile="balancd"))


def test_an_execution_policy_becomes_rules():
    made = from_execution_policy(
        allow_write=False,
        allow_shell=True,
        allow_network=False,
        allowed_commands=["ls", "npm test"],
        denied_commands=["rm"],
        categories={"mcp": "notify"},
        permissions=[
            Permission(pattern="bash(git push:*)", effect="deny", reason="review first"),
            Permission(tool="subagent", effect="allow", max_depth=1),
        ],
    )
    under = Policy(root=ROOT, home=HOME, rules=made, only_commands=("ls", "npm test"))
    assert call("write_file", under, path="a").reason == "allow_write is false"
    assert call("web_fetch", under, url="https://a.io").reason == "allow_network is false"
    assert bash("ls -la && npm test", under).effect == "allow"
    assert bash("rm x", under).effect == "deny"
    assert bash("git push", under).reason == "review first: git push"
    assert bash("make", under).effect == "ask"
    assert bash("ls > x", under).effect == "deny"
    assert call("mcp__a__b", under, x="y").effect == "notify"
    for bad in (Permission(effect="allow"), Permission(effect="allow", tool="a", pattern="b")):
        with pytest.raises(ConfigError):
            from_execution_policy(permissions=[bad])
    with pytest.raises(ConfigError):
        from_execution_policy(allowed_commands=[" "])


def test_settings_of_claude_become_rules():
    made = from_settings(
        {
            "allow": ["Bash(npm run test:*)", "Read(~/.zshrc)"],
            "deny": ["Read(./.env)", "Edit(/src/gen/**)"],
            "ask": ["Bash(git push:*)"],
        }
    )
    under = Policy(root=ROOT, home=HOME, rules=made)
    assert bash("npm run test -- a", under).effect == "allow"
    assert bash("cat .env", under).effect == "deny"
    assert call("write_file", under, path="src/gen/a").effect == "deny"
    assert bash("git push", under).effect == "ask"


def test_a_policy_of_rules_alone():
    under = policy_of(Rules(profile="auto-edit", tools={"bash": "deny"}), root=ROOT)
    assert call("write_file", under, path="a").effect == "allow"
    assert bash("ls", under).effect == "deny"
    assert call("bash_session", under, command="ls").effect == "deny"
