"""Cards, explanations, flips, learning, coverage and back-testing."""

from __future__ import annotations

import msgspec
import pytest

from bridle.errors import ConfigError
from bridle.permissions.calls import facts_of, parse_call
from bridle.permissions.card import card
from bridle.permissions.evaluate import evaluate
from bridle.permissions.explain import describe, flip, text, why
from bridle.permissions.learn import Case, compare, coverage, learn
from bridle.permissions.within import child_policy
from bridle.types.permissions import Grants, Policy
from permissions.support import policy, prefixes, rule


def card_of(call_text: str, under: Policy, **more):
    tool, facts = parse_call(call_text)
    return card(tool, facts, evaluate(tool, facts, under), under, **more)


def test_a_card_says_what_a_command_would_do():
    made = card_of("bash(git add . && git commit -m 'a b' > log.txt)", policy())
    assert made.title == "run git"
    assert made.command == "git add . && git commit -m 'a b' > log.txt"
    assert made.commands == ("git add .", "git commit -m 'a b'")
    assert made.files == ("log.txt",)
    assert not made.reversible
    assert [(a.scope, a.grants) for a in made.always] == [
        ("pattern", ("bash(git add:*)", "bash(git commit:*)", "write_file:log.txt")),
        ("tool", ("bash",)),
        ("category", ("execute",)),
    ]
    assert msgspec.json.decode(msgspec.json.encode(made), type=type(made)) == made


def test_always_means_exactly_what_it_says():
    for call_text in ("bash(make all)", "bash(ls | sort -u)", "write_file(src/a.py)",
                      "bash(FOO=1 npm test)",
                      "bash(sed -i s/a/b/ f)", "web_fetch(https://a.io/x)",
                      "mcp__gh__create(x)"):  # fmt: skip
        tool, facts = parse_call(call_text)
        made = card_of(call_text, policy())
        assert made.always, call_text
        for option in made.always:
            granted = Grants(**{
                {"pattern": "patterns", "tool": "tools", "category": "categories"}[option.scope]:
                frozenset(option.grants)
            })  # fmt: skip
            assert evaluate(tool, facts, policy(), granted).effect == "allow"


@pytest.mark.parametrize("call_text", ["bash($X y)", "write_file(.mcp.json)", 'bash(bash -c "$X")'])
def test_always_is_not_offered_where_it_would_not_hold(call_text):
    assert card_of(call_text, policy()).always == ()


def test_always_is_not_offered_for_a_shell_as_a_whole():
    scopes = [o.grants for o in card_of("bash(sudo apt update)", policy()).always]
    assert ("bash(sudo:*)", "bash(apt update:*)") not in scopes


def test_a_card_of_an_edit_shows_the_change():
    tool, facts = (
        "edit_file",
        facts_of("edit_file", {"path": "a.py", "old": "x = 1\ny", "new": "x = 2\ny"}),
    )
    made = card(tool, facts, evaluate(tool, facts, policy()), policy())
    assert made.diff.splitlines()[1:] == ["-x = 1", "+x = 2", " y"]
    assert made.reversible
    facts = facts_of("write_file", {"path": "a.py", "content": "new\n" * 100})
    made = card(
        "write_file", facts, evaluate("write_file", facts, policy()), policy(), before="old\n"
    )
    assert "-old" in made.diff
    assert made.diff.endswith("more lines")


def test_a_policy_explains_itself():
    under = policy(
        rule("bash(rm:*)", "deny", source="harness.yaml:4", reason="no"),
        rule("bash(ls:*)", max_depth=1),
        hosts=("a.io",),
        removed={"web_search": "flavor"},
        only_commands=("ls",),
    )
    lines = {(line.step, line.effect, line.what) for line in describe(under)}
    assert ("deny", "deny", "bash(rm:*)") in lines
    assert ("pattern", "allow", "bash(ls:*) (to depth 1)") in lines
    assert ("scope", "deny", "web_search") in lines
    printed = text(under)
    assert "bash(rm:*) — no  [harness · harness.yaml:4]" in printed
    assert "hosts other than a.io" in printed
    assert "parent" in text(child_policy(under, policy()))


def test_why_shows_the_way():
    tool, facts = parse_call("bash(ls; rm x)")
    printed = why(evaluate(tool, facts, policy(rule("bash(rm:*)", "deny", source="h.yaml:4"))))
    assert printed.startswith("deny: deny bash(rm:*) (harness) at h.yaml:4")
    assert "scope · pass" in printed


@pytest.mark.parametrize(
    ("call_text", "under", "removes", "adds"),
    [
        ("bash(make)", policy(), (), ["bash(make)"]),
        ("bash(make | wc)", policy(*prefixes("wc")), (), ["bash(make)"]),
        ("bash(rm x)", policy(rule("bash"), rule("bash(rm:*)", "deny")), ("deny bash(rm:*)",), []),
        ("bash(rm x)", policy(rule("bash(rm:*)", "deny")), ("deny bash(rm:*)",), ["bash(rm x)"]),
        ("bash(rm x)", policy(rule("bash"), rule("bash(rm:*)", "deny"), rule("bash(rm x)", "deny")),
         ("deny bash(rm:*)", "deny bash(rm x)"), []),
        ("write_file(a)", policy(rule("write_file", "ask")), (), ["write_file:a"]),
        ("write_file(a)", policy(rule("edit", "ask", by_category=True)), (), ["write_file:a"]),
        ("bash(make)", policy(answerable=False), (), ["bash(make)"]),
    ],
)  # fmt: skip
def test_the_smallest_change_that_flips_a_decision(call_text, under, removes, adds):
    tool, facts = parse_call(call_text)
    found = flip(evaluate(tool, facts, under), tool, facts, under)
    assert found is not None
    assert found.remove == removes
    assert [entry.matches for entry in found.add] == adds
    kept = tuple(r for r in under.rules if r.id not in found.remove)
    changed = msgspec.structs.replace(under, rules=(*kept, *found.add))
    assert evaluate(tool, facts, changed).effect == found.gives == "allow"


def test_an_allowed_call_flips_to_denied():
    tool, facts = parse_call("bash(ls -la)")
    found = flip(evaluate(tool, facts, policy(rule("bash"))), tool, facts, policy(rule("bash")))
    assert (found.gives, [r.matches for r in found.add]) == ("deny", ["bash(ls -la)"])


def test_what_no_rule_can_flip_is_said():
    for call_text in ("read_file(~/.ssh/id_rsa)", "bash($X)", "write_file(.git/config)"):
        tool, facts = parse_call(call_text)
        assert flip(evaluate(tool, facts, policy()), tool, facts, policy()) is None


def test_learning_gives_the_least_rules():
    calls = [
        parse_call(c)
        for c in ("bash(git status)", "bash(git status -s)", "bash(git log -3 | head -5)",
                  "read_file(a)",
                  "write_file(src/a.py)", "write_file(src/b.py)", "write_file(docs/c.md)",
                  "bash(npm test)",
                  "bash($X)", "read_file(/etc/passwd)", "bash(ls)", "bash(echo hi > out.txt)")
    ]  # fmt: skip
    under = policy(*prefixes("ls"))
    found = learn(calls, under)
    assert {r.matches for r in found.rules} == {
        "bash(git status:*)", "bash(git log -3)", "bash(head -5)", "write_file:src/**",
        "write_file:docs/c.md",
        "bash(npm test)", "bash(echo hi)", "write_file:out.txt",
    }  # fmt: skip
    assert [index for index, _ in found.uncovered] == [8, 9]
    learned = msgspec.structs.replace(under, rules=(*under.rules, *found.rules))
    for index, (tool, facts) in enumerate(calls):
        assert (evaluate(tool, facts, learned).effect == "allow") == (index not in (8, 9))
    for dropped in found.rules:
        less = msgspec.structs.replace(
            learned, rules=tuple(r for r in learned.rules if r is not dropped)
        )
        assert any(
            evaluate(*c, less).effect != "allow" for i, c in enumerate(calls) if i not in (8, 9)
        )


def test_coverage_tells_which_rules_no_test_touches():
    under = policy(*prefixes("ls"), rule("bash(rm:*)", "deny"), rule("write_file", "ask"))
    cases = [
        Case(*parse_call("bash(ls)"), "allow"),
        Case(*parse_call("bash(rm x)"), "allow", "it is only x"),
    ]
    found = coverage(under, cases)
    assert [o.passed for o in found.outcomes] == [True, False]
    assert (found.outcomes[1].rule, found.outcomes[1].because) == (
        "deny bash(rm:*)",
        "it is only x",
    )
    assert found.untouched == ("ask write_file",)
    assert not found.passed


def test_backtest_compares_two_policies():
    calls = [parse_call(c) for c in ("bash(ls)", "bash(rm x)", "bash(make)", "read_file(a)")]
    new = policy(*prefixes("ls"), rule("bash(rm:*)", "deny"))
    before, after = ([evaluate(*call, under).effect for call in calls] for under in (policy(), new))
    found = compare(before, after)
    assert (found.total, found.same) == (4, 2)
    assert found.newly_allowed == (0,)
    assert found.newly_blocked == (1,)
    assert found.newly_asked == ()
    assert found.prompts_saved == 2


def test_calls_of_other_harnesses_are_understood():
    assert facts_of("Bash", {"command": "ls"}).command == "ls"
    assert facts_of("Read", {"file_path": "/a"}).paths == ("/a",)
    assert facts_of("WebFetch", {"url": "https://A.io/x"}).hosts == ("a.io",)
    assert parse_call("bash: git push")[1].command == "git push"
    with pytest.raises(ConfigError):
        parse_call("what?")


def test_the_smallest_change_leaves_out_what_is_allowed_already():
    under = policy(rule("bash(git status:*)"), rule("bash(rm:*)", "deny"))
    facts = facts_of("bash", {"command": "git status && rm x && make"})
    change = flip(evaluate("bash", facts, under), "bash", facts, under)
    assert change.change == ("remove deny bash(rm:*); add: bash(rm x) → allow, bash(make) → allow")
    assert change.gives == "allow"
