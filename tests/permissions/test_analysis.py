"""What the analyser names, and what it refuses to name."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.permissions.shell.analyse import MAX_LENGTH, analyse
from bridle.permissions.shell.facts import HOLE


def named(command: str) -> list[str]:
    """The commands that need a permission, holes shown as an underscore."""
    found = analyse(command)
    assert not found.unnamed, found.unnamed
    return [c.text.replace(HOLE, "_") for c in found.commands if c.role == "command"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status", ["git status"]),
        ("a; b & c && d || e | f |& g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("a 'x y' \"z\" \\;", ["a x y z ;"]),
        ("r''m x; r\\m y; \"rm\" z; \\rm w", ["rm x", "rm y", "rm z", "rm w"]),
        ("echo $(rm x) `rm y`", ["rm x", "rm y", "echo _ _"]),
        ("echo \"a $(rm x) b\"", ["rm x", "echo a _ b"]),
        ("echo `a \\`b\\``", ["b", "a _", "echo _"]),
        ("cat <(rm x) > >(rm y)", ["rm y", "rm x", "cat /dev/fd/_"]),
        ("cat <<E\n$(rm x)\nE\nls", ["rm x", "cat", "ls"]),
        ("cat <<'E'\n$(rm x)\nE\nls", ["cat", "ls"]),
        ("cat <<-E | sort\n\t`rm x`\n\tE\nls", ["rm x", "cat", "sort", "ls"]),
        ("git commit -m \"$(cat <<'E'\nit's $(a)\nE\n)\"", ["cat", "git commit -m _"]),
        ("cat <<A <<B\n$(one)\nA\n$(two)\nB", ["one", "two", "cat"]),
        ("ls 2>&1 >/dev/null <<< \"$(cat s)\"", ["cat s", "ls"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done < f; until c; do d; done", ["a", "b", "c", "d"]),
        ("for x in $(a) b; do c $x; done", ["a", "c _"]),
        ("for ((i=0; i<3; i++)); do a $i; done", ["a _"]),
        ("select x in a; do b; done", ["b"]),
        ("case $(a) in b|c) d;; (*) e;; esac", ["a", "d", "e"]),
        ("f() { a; }; function g { b; }; h () ( c )", ["a", "b", "c"]),
        ("coproc a b; coproc N { c; }", ["a b", "c"]),
        ("time -p a; ! b; time { c; }", ["a", "b", "c"]),
        ("[[ -n $(a) && b == c ]]; (( 1 + 2 )); [ -f x ]", ["a"]),
        ("x=(1 $(a) 2); declare -a y=($(b)); z[1]=$(c)", ["a", "b", "c"]),
        ("x=$(a) b c", ["a", "b c"]),
        ("echo ${x:-$(a)} ${y//b/`c`}", ["a", "c", "echo _ _"]),
        ("a # b; c\nd", ["a", "d"]),
        ("a \\\n  b", ["a b"]),
        ("echo {a,b} *.py ~/x $'t'", ["echo _ _.py _/x _"]),
        ("trap 'rm x' EXIT", ["rm x"]),
        ("eval 'a; b' c", ["a", "b c"]),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done", []),
        ("n=5; echo $((n * 2)) ${#n}", ["echo _ _"]),
        ("exec a b; exec 3> f", ["a b"]),
    ],
)  # fmt: skip
def test_every_command_is_named(command, expected):
    assert named(command) == expected


@pytest.mark.parametrize(
    ("command", "inner"),
    [
        ("env A=1 -u B -i rm x".replace("A=1 -u B -i", "-i -u B A=1"), "rm x"),
        ("timeout -k 5 --signal=TERM 10s rm x", "rm x"),
        ("nice -n 5 nohup setsid -w stdbuf -oL rm x", "rm x"),
        ("command -p rm x", "rm x"),
        ("builtin echo x", "echo x"),
        ("exec -a n rm x", "rm x"),
        ("bash -c 'rm x'", "rm x"),
        ("sh -ec 'rm x' a b", "rm x"),
        ("bash -o pipefail -c 'rm x'", "rm x"),
        ("/bin/bash -c 'bash -c \"rm x\"'", "rm x"),
        ("bash <<< 'rm x'", "rm x"),
        ("bash <<'E'\nrm x\nE", "rm x"),
        ("ls | xargs -0 -n 1 rm", "rm _"),
        ("ls | xargs -I{} rm -f {}", "rm -f _"),
        ("find . -name x -exec rm {} +", "rm _"),
        ("find . -execdir rm -f {} \\;", "rm -f _"),
        ("sudo -u root -E A=1 rm x", "rm x"),
        ("doas -u root rm x", "rm x"),
        ("chroot /x rm y", "rm y"),
        ("flock -w 5 /tmp/l rm x", "rm x"),
        ("flock /tmp/l -c 'rm x'", "rm x"),
        ("watch -n 1 rm x", "rm x"),
        ("ssh -p 22 host rm x", "rm x"),
        ("uv run rm x", "rm x"),
        ("npx rm x", "rm x"),
        ("time rm x", "rm x"),
        ("env nice timeout 3 xargs rm", "rm _"),
    ],
)  # fmt: skip
def test_wrappers_are_unwrapped(command, inner):
    assert inner in named(command)


@pytest.mark.parametrize(
    "command",
    [
        "$x a", "${x} a", "`a` b", "$(a) b", "p? x", "{a,b} c", "$'rm' x", '$"rm" x', "~/bin/x",
        "'' x",
        "eval $x", 'eval "a $x"', 'bash -c "$x"', 'bash -c "rm $x"', "bash", "echo rm x | bash",
        "bash < f",
        "source <(a)", ". $x", "trap \"$x\" EXIT", "xargs -I% sh -c 'a %'", "bash -s < f",
        "bash -i",
        "parallel rm ::: x", "script -c 'rm x'", "busybox rm x", "su -c 'rm x'", "env -S 'rm x'",
        "zsh -c 'rm x'",
        "alias ls=rm", "hash -p /x ls", "enable -f x y", "shopt -s extglob", "set -o posix",
        "mapfile -C rm a",
        "complete -C rm x", "fc -s", "bind -x '\"a\": rm'", "jobs -x rm", "sudo -s", "sudo -i",
        "chroot /x",
        "echo ${x@P}", "echo ${!x}", "x='a[$(b)]'; echo $((x))", "echo $((x))", "echo $(( $(a) ))",
        "((x))",
        "[[ $x -eq 1 ]]", "[[ -v 'a[$(b)]' ]]", "[ -v 'a[$(b)]' ]", "test -v $x", "[ $x ]",
        '[ "$a" "$b" ]',
        "read 'a[$(b)]'", "printf -v 'a[$(b)]' 1", "unset 'a[$(b)]'", "declare -i x=y",
        "declare -n r=x",
        "declare 'a[$(b)]=1'", "let x=y", "echo ${x:$y}", "a[$(b)]=1", "export $x", "local \"$x\"",
        "wait -p $x",
        "if a; then", "a &&", "a | | b", "(a", "a)", "'a", '"a', "`a", "cat <<E\nx", "a ;; b",
        "case x in a",
        "for x in a; b", "}", "then a", "a (b)", "f() a", "echo $[1+1]", "echo $((1) )",
        "a\\\nb=1 c", "i\\\nf a",
        "a &\\\n& b", "$\\\n(a) b", "sh -c '[[ a && rm x ]]'", "sh -c '((rm x))'", "a=(1)#;b",
        "echo a\x00b",
        "a >&'$(b)'", 'a >& "$x"', "a 1>&'`b`'", "a >(time case x in y) b;; esac)",
        "a $(time { b; })", "a $(time x=1 b)",
        "echo $(a <<E | b\nx\nE\n)", "echo $(a; b <<E\nx\nE\n)", "echo a\rb", "echo \x1b[0m",
        "time -o f a", "timeout $x a", "env $x a", "sudo $x a",
        "command $x a",
    ],
)  # fmt: skip
def test_what_cannot_be_named_is_said(command):
    assert analyse(command).unnamed, command


@pytest.mark.parametrize(
    ("command", "guess"),
    [
        ("x=rm; $x y", "rm y"),
        ("$'\\x72m' y", "rm y"),
        ("x='rm -f'; $x y", "rm -f y"),
        ('bash -c "rm $y"', "rm _"),
        ("eval \"rm $y\"", "rm _"),
        ("parallel rm ::: y", "rm ::: y"),
    ],
)  # fmt: skip
def test_a_guess_is_kept_for_denying(command, guess):
    found = analyse(command)
    assert found.unnamed
    assert guess in [entry.text for entry in found.guesses]


def test_redirections_are_files():
    found = analyse("a > x 2>> 'y z' < in &> all >| p <> rw 2>&1 3>&- {fd}> v <<< t > $d/f")
    assert [(r.mode, r.target.text) for r in found.redirects] == [
        ("write", "x"), ("append", "y z"), ("read", "in"), ("write", "all"), ("write", "p"),
        ("write", "rw"), ("write", "v"), ("write", f"{HOLE}/f"),
    ]  # fmt: skip


def test_directories_are_followed():
    found = analyse("cd a && cd b; echo x > f; cd /c; ls > g")
    assert found.redirects[0].cwds == ("", "a", "b", "a/b")
    assert "/c" in (found.redirects[1].cwds or ())
    assert analyse("cd $x; a > f").redirects[0].cwds is None
    assert analyse("for d in x y; do cd ..; done; a > f").redirects[0].cwds is None


def test_variables_that_are_set_are_kept():
    found = analyse("A=1 B=$x c; export D=2; E=3")
    assert [(a.name, a.exported) for a in found.commands[0].assignments] == [
        ("A", True),
        ("B", True),
    ]
    assert [(a.name, a.exported) for a in found.assignments] == [("D", True), ("E", False)]


def test_an_inner_command_knows_its_outer_one():
    found = analyse("timeout 5 sudo -u x rm y")
    sudo, rm = found.commands[-2:]
    assert (rm.outer, rm.offset) == (found.commands.index(sudo), 3)
    assert rm.via == ("timeout", "sudo")


@pytest.mark.parametrize(
    "text",
    ["(" * 30_000, "$(" * 20_000, "a;" * 30_000, "`" * 60_000, "{," * 30_000, "coproc " * 8000,
     "if " * 8000, "${a:-" * 10_000, "cat <<A " * 4000 + "\n", "x" * (MAX_LENGTH + 1)],
    ids=range(10),
)  # fmt: skip
def test_hostile_sizes_are_bounded_and_asked(text):
    began = time.process_time()
    found = analyse(text)
    assert found.unnamed or not found.commands or len(found.commands) == 1
    assert time.process_time() - began < 20


@given(st.text(alphabet="ab $(){}[]<>|&;'\"`\\\n#!~*?=-/x1", max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text_gets_an_answer(text):
    found = analyse(text)
    assert found == analyse.__wrapped__(text)
    assert all(command.words[0].literal for command in found.commands)


@given(
    st.lists(
        st.text(min_size=1, max_size=12).filter(lambda t: "\x00" not in t), min_size=1, max_size=5
    )
)
@settings(max_examples=200, deadline=None)
def test_quoted_words_are_exact(words):
    import shlex

    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        return
    found = analyse("prog " + " ".join(shlex.quote(word) for word in words))
    assert [word.text for word in found.commands[0].words] == ["prog", *words]
    assert all(word.literal for word in found.commands[0].words)
