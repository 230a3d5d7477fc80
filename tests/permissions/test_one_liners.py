"""One-liners that hide what they run behind an allowed command; none of them runs unasked."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from bridle.sandbox.supervisor import Supervisor
from bridle.types.permissions import Policy
from permissions.support import ALLOWED, HOME, ROOT, bash, policy, prefixes, rule

LINES = (Path(__file__).parents[1] / "data" / "one_liners.txt").read_bytes().decode()
HOSTILE = LINES.split("\n%%\n")
HIDDEN = (Path(__file__).parents[1] / "data" / "hidden_rm.txt").read_text().split("\n%%\n")
POLICY = Policy(root=ROOT, home=HOME, rules=prefixes(*ALLOWED))

SECRETS = (
    "cat ~+/../../home/dev/.ssh/id_rsa", "cd /; cat home/dev/.ssh/id_rsa", "cat ~dev/.ssh/id_rsa",
    "cat /home/dev/.s[s]h/id_rsa", "cat /home/*/.ssh/id_*", "cat /home/dev/.{ssh,aws}/id_rsa",
    "cat $'/etc/sh\\x61dow'", "cat \"$(printf '\\057etc\\057shadow')\"", "cat /etc//shadow",
    "grep -f/etc/shadow x", "grep -vf/etc/shadow x", "grep -f../../etc/shadow x",
    "git diff -O/etc/shadow", "grep --fi=/home/dev/.netrc x", "cat /proc/$$/environ",
    "x=~/.ssh; cat $x/id_rsa", "cat ${HOME:0:1}home/dev/.ssh/id_rsa", "cat </home/dev/.netrc",
)  # fmt: skip

OUTSIDE = (
    "git diff /dev/null /home/dev/notes", "git diff -- /home/dev/a /home/dev/b",
    "git diff a ../../home/dev/notes", "git diff --no-index a ~/notes", "grep -f/home/dev/words x",
    "grep --file=/home/dev/words x", "git diff -O/home/dev/order", "git blame --contents=/home/dev/x y",
)  # fmt: skip

ELSEWHERE = (
    "cd /tmp/evil && git status", "cd /tmp/evil; npm test", "(cd /tmp/evil && git log)",
    "cd /tmp; cd evil; git diff", "cd /var/tmp/evil && npm test",
)  # fmt: skip

BENIGN = (
    "git diff a/b c/d", "git diff origin/main..feature/x -- src/", "git diff -S/home/x",
    "grep -e/api x", "grep -rn --include=/x/*.py foo .", "git log --grep=/x/y", "cd sub && npm test",
    "cd /tmp && ls", "cd sub && git status", "declare -a a=(x y); ls",
    "ls -la /tmp", "cat x | grep -v /usr/bin", "x=1; declare y=2; echo $y",
)  # fmt: skip


def test_the_list_is_long():
    assert len(set(HOSTILE)) > 250


@pytest.mark.parametrize("line", HOSTILE)
def test_no_line_runs_unasked(line):
    assert bash(line, POLICY).effect in ("ask", "deny")


@pytest.mark.parametrize("line", HIDDEN)
def test_a_denied_program_is_found_behind_whatever_runs_it(line):
    denied = rule("bash(rm:*)", "deny")
    for under in (policy(denied, yolo=True), policy(rule("bash"), denied)):
        assert bash(line, under).effect in ("ask", "deny")
        assert bash(line.replace("rm", "ls"), policy(rule("bash"))).effect != "deny"
        assert bash("ls -la && make", under).effect == "allow"


@pytest.mark.parametrize("line", SECRETS)
def test_no_secret_is_read_unasked(line):
    assert bash(line, POLICY).effect in ("ask", "deny")


@pytest.mark.parametrize("line", OUTSIDE)
def test_what_lies_outside_is_asked_however_it_is_written(line):
    assert bash(line, POLICY).effect == "ask"


@pytest.mark.parametrize("line", ELSEWHERE)
def test_a_rule_for_the_workspace_is_none_for_another_directory(line):
    assert bash(line, POLICY).effect == "ask"


@pytest.mark.parametrize("line", BENIGN)
def test_what_only_looks_like_it_still_runs(line):
    assert bash(line, POLICY).effect == "allow"


@pytest.mark.anyio
@pytest.mark.timeout(300)
async def test_the_lines_are_hostile_where_nobody_asks(tmp_path):
    """The control: with a shell and no engine most of them take effect."""
    run = functools.partial(Supervisor().run, sandbox=None, cwd=str(tmp_path), timeout=2)
    setup = "git init -q; git add .; git -c user.name=t -c user.email=t@example.com commit -qm a"
    assert (await run(["sh", "-c", f"echo x > calc.py; {setup}"])).exit_code == 0
    effects = 0
    for line in HOSTILE:
        (tmp_path / "x").write_text("a x b\n")
        await run(["bash", "-c", line])
        effects += (tmp_path / "m").exists()
        (tmp_path / "m").unlink(missing_ok=True)
    assert effects > 150
