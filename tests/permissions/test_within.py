"""A child's authority is within its parent's, for any rules and any calls."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.permissions.calls import parse_call
from bridle.permissions.evaluate import evaluate
from bridle.permissions.within import child_policy
from bridle.types.permissions import PROFILES, Grants, HookVerdict, Policy, Rule, Scope
from bridle.types.tools import CATEGORIES

OPENNESS = {"deny": 0, "ask": 1, "notify": 2, "allow": 2}

PATTERNS = (
    "bash", "bash(*)", "bash(ls:*)", "bash(git:*)", "bash(git push:*)", "bash(rm *)",
    "bash(git status)", "*",
    "write_file", "write_file:src/**", "write_file:/tmp/**", "Edit(src/a.py)", "read_file",
    "Read(secret/*)",
    "mcp__gh__*", "mcp://gh/x/create", "web_fetch(domain:a.io)", "bash(echo *)",
)  # fmt: skip
CALLS = tuple(
    parse_call(text)
    for text in (
        "bash(ls)", "bash(ls | git status)", "bash(git push -f)", "bash(rm -rf x)", "bash($X)",
        "bash(ls $(rm x))",
        "bash(echo a > src/a.py)", "bash(echo a > /tmp/x)", "bash(echo a > .git/hooks/x)",
        "bash(cat ~/.ssh/id_rsa)",
        "write_file(src/a.py)", "write_file(/tmp/x)", "write_file(.mcp.json)", "write_file(../x)",
        "edit_file(src/a.py)",
        "read_file(secret/a)", "read_file(a)", "mcp__gh__create()", "web_fetch(https://a.io/x)",
        "web_fetch(https://b.io)",
        "ask_user(x)", "bash(cd src && git status)", "bash(git $X)", "bash(sudo ls)",
    )
)  # fmt: skip

effects = st.sampled_from(["allow", "notify", "ask", "deny"])
rules = st.lists(
    st.one_of(
        st.builds(
            lambda m, e, d: Rule(id=f"{e} {m} {d}", matches=m, effect=e, max_depth=d),
            st.sampled_from(PATTERNS),
            effects,
            st.sampled_from([None, None, 0, 1, 2]),
        ),
        st.builds(
            lambda c, e: Rule(id=f"{e} {c}", matches=c, effect=e, by_category=True),
            st.sampled_from(CATEGORIES),
            effects,
        ),
    ),
    max_size=6,
).map(tuple)
policies = st.builds(
    Policy,
    profile=st.sampled_from(PROFILES),
    rules=rules,
    yolo=st.booleans(),
    answerable=st.booleans(),
    root=st.sampled_from(["/work/app", "/work/app/src", "/", "/tmp"]),
    home=st.just("/home/dev"),
    hosts=st.sampled_from([None, (), ("a.io",)]),
    writable=st.sampled_from([(), ("/tmp",)]),
    only_commands=st.sampled_from([(), ("ls",)]),
    removed=st.sampled_from([{}, {"mcp__*": "no"}]),
    scope=st.sampled_from([(), (Scope(layer="agent", tools=("bash", "read_file")),)]),
)
grants = st.builds(
    Grants,
    categories=st.sampled_from([frozenset(), frozenset({"execute"})]),
    tools=st.sampled_from([frozenset(), frozenset({"bash", "write_file"})]),
    patterns=st.sampled_from([frozenset(), frozenset({"bash(git:*)"})]),
)
hooks = st.sampled_from([None, None, HookVerdict(effect="allow"), HookVerdict(effect="ask")])


@given(policies, policies, st.sampled_from(CALLS), grants, hooks)
@settings(max_examples=500, deadline=None)
def test_what_a_child_may_do_its_parent_may_do(parent, child, call, granted, hook):
    inner = child_policy(parent, child)
    got = evaluate(*call, inner, granted, hook)
    above = evaluate(*call, parent, granted, hook)
    assert OPENNESS[got.effect] <= OPENNESS[above.effect]


@given(policies, policies, policies, st.sampled_from(CALLS), grants)
@settings(max_examples=150, deadline=None)
def test_grandchildren_too(parent, child, grandchild, call, granted):
    inner = child_policy(child_policy(parent, child), grandchild)
    got = evaluate(*call, inner, granted)
    assert OPENNESS[got.effect] <= OPENNESS[evaluate(*call, parent, granted).effect]


@given(policies, st.sampled_from(CALLS), grants)
@settings(max_examples=150, deadline=None)
def test_more_denials_never_open_anything(under, call, granted):
    import msgspec

    denial = Rule(id="more", matches="bash(rm:*)", effect="deny")
    stricter = msgspec.structs.replace(under, rules=(*under.rules, denial))
    before, after = evaluate(*call, under, granted), evaluate(*call, stricter, granted)
    assert OPENNESS[after.effect] <= OPENNESS[before.effect]


@given(policies, st.sampled_from(CALLS))
@settings(max_examples=150, deadline=None)
def test_without_anybody_to_answer_nothing_is_asked(under, call):
    import msgspec

    silent = msgspec.structs.replace(under, answerable=False)
    loud = msgspec.structs.replace(under, answerable=True)
    got, asked = evaluate(*call, silent).effect, evaluate(*call, loud).effect
    assert got == ("deny" if asked == "ask" else asked)
