"""Programs that read, and how they write or run nevertheless."""

from __future__ import annotations

import pytest

from bridle.permissions.shell.analyse import analyse
from bridle.permissions.shell.effects_text import sed_is_harmless
from bridle.permissions.shell.programs import extra_effects
from permissions.support import bash, policy, prefixes, rule

READING = prefixes(
    "git diff", "git log", "git status", "git grep", "git ls-remote", "git fetch", "git config",
    "find", "sed", "awk",
    "sort", "uniq", "xxd", "tar", "rg", "man", "less", "npm test", "curl", "tree", "fd", "date",
    "shuf", "ls", "cat",
    "grep", "echo", "head", "pytest", "file", "jq", "wc", "git show",
)  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "git diff --output=x", "git diff --outp x", "git log --output x", "git diff --ext-diff",
        "git grep -Oless x",
        "git grep --open-files-in-pager=x y", "git grep --open x",
        "git ls-remote --upload-pack=x .",
        "git ls-remote --upload-pa=x .", "git fetch ext::sh", "git -c core.pager=x log",
        "git --exec-path=/x status",
        "git -C /x status", "git -p log", "git --config-env=a=B log", "git config core.hooksPath x",
        "git diff $x",
        "find . -delete", "find . -fprint f", "find . -fprintf f %p", "find . -fls f",
        "find . -exec rm {} +",
        "find . -ok rm {} \\;", "find $x", "find . $x -name y", "sed -i s/a/b/ f",
        "sed --in-place=.b s/a/b/ f",
        "sed 's/a/b/e' f", "sed 's/a/b/w f' g", "sed '1e x' f", "sed 'w f' g", "sed -n '/x/w f' g",
        "sed -f s g",
        "sed \"$x\" f", "sed -e p -e 'e x' f", "sed --expression='w f' g", "sed 's/a/b/;w f' g",
        "sed -s -i p f",
        "awk 'BEGIN{system(\"x\")}'", "awk '{print > \"f\"}' g", "awk '{print | \"x\"}' g",
        "awk '\"x\" | getline'",
        "awk -f s g", "awk \"$x\" g", "awk '{printf(\"a\") >> \"f\"}' g", "sort -o f g",
        "sort --output=f g",
        "sort --compress-program=x g", "sort -uo f g", "sort --outpu f g", "uniq a b", "xxd a b",
        "xxd -r a b",
        "tar xf a", "tar -x -f a", "tar --extract -f a", "tar tf a --to-command=x",
        "tar -tf a -I x",
        "tar tf a --checkpoint-action=exec=x", "tar cf a b", "rg --pre x y",
        "rg --hostname-bin x y", "man -P x ls",
        "man --pager=x ls", "less +!x f", "less -o f g", "npm test -- --config=x",
        "npm test --script-shell=x",
        "npm test -- $x", "npm test --prefix /x", "curl -o f http://x", "curl -O http://x",
        "curl -sSLo f http://x",
        "curl --outp f http://x", "curl -K f", "curl -D f http://x", "tree -o f", "fd x -x rm",
        "fd x --exec-batch rm",
        "date -s 1", "shuf -o f g", "pytest -p x", "pytest -c x", "pytest --basetemp=x",
        "file -C -m x",
        "cat /etc/hosts", "cat ../../x", "head ~/x", "grep x /etc/passwd", "cat $HOME/x*",
        "wc -l /var/log/x",
        "for PATH in /x; do ls; done", "read PATH; ls", "((PATH=1)); ls", "echo ${PATH:=x}; ls",
        "printf -v PATH x; ls", "BASH_CMDS[ls]=/x; ls", "exec {PATH}>/dev/null; ls", "ls ~",
        "ls ~root/x",
        "git diff --no-index /etc/hosts x", "cat $'/etc/hosts'", "select PATH in a; do ls; done",
        "ls > f", "cat a >> b", "PAGER=x git log", "LD_PRELOAD=x ls", "FOO=1 ls",
        "GIT_DIR=x git log", "NODE_OPTIONS=x npm test",
        "PYTHONSTARTUP=x cat a", "BASH_ENV=x ls", "PATH=x ls", "export PAGER=x; git log",
        "export A=1; ls", "IFS=x A=b ls",
    ],
)  # fmt: skip
def test_an_allowed_prefix_does_not_allow_it(command):
    found = bash(command, policy(*READING))
    assert found.effect in ("ask", "deny"), found


@pytest.mark.parametrize(
    "command",
    [
        "git diff", "git diff --stat HEAD~1", "git log -n 5 --oneline --format=%h",
        "git status -sb", "git grep -n x",
        "git --no-pager diff", "git config user.name", "git config --get a.b", "git diff -- $x",
        "git diff -- *.py",
        "find . -name '*.py' -type f", "find . -maxdepth 2 -name \"$x\"", "sed -n 1,5p f",
        "sed 's/a/b/g' f",
        "sed -e 's|a|b|' -e '/x/d' f", "sed -n '/a/,/b/p' f", "sed '$d' f", "awk '{print $1}' f",
        "awk -F: '$3>5' f",
        "awk '{print $1 || $2}' f", "sort -rn -k2 f", "uniq -c f", "tar tf a.tar", "tar -tvf a",
        "rg -n x src",
        "npm test", "npm test -- src/a.test.js", "npm test --silent", "curl -s http://x",
        "tree -L 2", "ls -la src",
        "cat a b", "cat $x", "cat *.py", "grep -rn 'a && b' .", "grep x $f", "echo $x $(date)",
        "ls | sort | uniq -c",
        "cat < in.txt", "ls > /dev/null 2>&1", "ls 2>/dev/null", "LANG=C sort f", "TZ=UTC date",
        "GIT_PAGER=cat git log",
        "NO_COLOR=1 npm test", "cd src && ls", "cd . && git diff", "true && ls",
        "[ -f a ] && cat a", "x=1; echo $x",
        "for f in a b; do cat $f; done", "if [ -n \"$x\" ]; then ls; fi", "head -5 /tmp/x",
        "git show HEAD:a.py",
        "jq . a.json", "ls; :", "timeout 10 npm test", "nice ls", "echo a | xargs cat",
        "bash -c 'ls -la'",
    ],
)  # fmt: skip
def test_plain_reading_is_not_in_the_way(command):
    rules = (*READING, *prefixes("date", "jq"))
    found = bash(command, policy(*rules))
    assert found.effect == "allow", found


def test_a_rule_that_spells_it_out_means_it():
    assert bash("sed -i s/a/b/ f", policy(*prefixes("sed -i"))).effect == "allow"
    assert bash("find . -delete", policy(rule("bash(find . -delete)"))).effect == "allow"
    assert bash("git -c a.b=c log", policy(*prefixes("git -c a.b=c log"))).effect == "allow"
    assert bash("FOO=1 npm test", policy(*prefixes("FOO=1 npm test"))).effect == "allow"
    assert bash("rm a", policy(*prefixes("rm"))).effect == "allow"
    assert bash("tee a", policy(*prefixes("tee"))).effect == "allow"
    assert bash("uv run pytest -q", policy(*prefixes("uv run pytest"))).effect == "allow"
    assert bash("uv run pytest -q", policy(*prefixes("uv run"))).effect == "ask"
    assert bash("sudo apt update", policy(*prefixes("sudo apt"))).effect == "allow"
    assert bash("sudo rm x", policy(*prefixes("sudo", "ls"))).effect == "ask"
    assert bash("find . -exec grep x {} +", policy(*prefixes("find", "grep"))).effect == "allow"


def test_a_file_that_is_written_is_an_edit():
    allowed = policy(*prefixes("echo", "sort"), rule("write_file:out/**"))
    assert bash("echo a > out/x", allowed).effect == "allow"
    assert bash("sort -o out/x in", allowed).effect == "allow"
    assert bash("echo a > other", allowed).effect == "ask"
    assert bash("echo a > $x", allowed).effect == "ask"
    auto = policy(*prefixes("echo"), profile="auto-edit")
    assert bash("echo a > other", auto).effect == "allow"
    assert bash("echo a > /tmp/x", auto).effect == "ask"
    assert bash("touch a", auto).effect == "ask"


@pytest.mark.parametrize(
    ("script", "harmless"),
    [
        ("p", True), ("1,5p", True), ("$!N;P;D", True), ("s/a/b/", True), ("s,a,b,2g", True),
        ("y/ab/cd/", True),
        ("/x/{p;q}", True), ("a\\\ntext", True), ("s/w/e/", True), ("/e/d", True), ("\\,x,d", True),
        ("e", False), ("1e ls", False), ("w f", False), ("W f", False), ("s/a/b/e", False),
        ("s/a/b/w f", False),
        ("s/a/b/gew", False), ("/x/w f", False), ("p;w f", False), ("{e ls\n}", False), ("s/a",
        False), ("v", False),
    ],
)  # fmt: skip
def test_sed_scripts_are_read(script, harmless):
    assert sed_is_harmless(script) is harmless


def test_effects_name_their_file_and_place():
    (effect,) = extra_effects(analyse("sort -u -o out in").commands[0].words)
    assert (effect.kind, effect.trigger, effect.path.text) == ("write", 2, "out")
    paths = [e.path.text for e in extra_effects(analyse("rm -rf a b").commands[0].words)]
    assert paths == ["a", "b"]
