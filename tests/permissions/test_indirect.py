"""Paths that reach a command in a roundabout way: by loops, arrays, options, globs, directories.

Each case has a plain control that stays allowed under the same rules.
"""

from __future__ import annotations

import pytest

from permissions.support import bash, policy, prefixes, rule

RULES = prefixes("cat", "cp", "mv", "touch", "find", "echo", "grep", "ln", "unzip", "mkdir")

SECRET = [
    "for f in ~/.ssh/*; do cat $f; done",
    'for f in a ~/.ssh/id_rsa; do cat "$f"; done',
    "select f in ~/.ssh/id_rsa; do cat $f; done",
    "x=(~/.ssh/id_rsa); cat ${x[0]}",
    "x=(a [3]=/home/dev/.aws/credentials); cat ${x[@]}",
    "declare -a x=(~/.ssh/id_rsa); cat ${x[0]}",
    "cd ~ && cat .ssh/id_rsa",
    "cd; cat .ssh/id_rsa",
    "cd $HOME; cat .ssh/id_rsa",
    'cd "$HOME" && cat .ssh/id_rsa',
    "cd ~/x; cd ../.ssh; cat id_rsa",
]
OUTSIDE = [
    "cp --target-directory=/etc a",
    "cp --target=/etc a",
    "cp -rt /etc a",
    "cp -rt/etc a",
    "mv -t/etc a",
    "ln --target-dir=/etc -s a",
    "unzip a.zip -d/etc",
]
PROTECTED = [
    "touch .git/hoo*/x",
    "touch .git/*/x",
    "touch .g*/hooks/y",
    "touch .git/{hooks,x}/y",
    "touch .e?vrc",
    "echo x > .gi?/hooks/x",
    "X=.git; touch $X/hooks/y",
    "for f in .git/hooks/x; do touch $f; done",
    "ln -s .git/hooks h; cp a h/pre-commit",
    "ln .git/config c",
    "sed -n 'w .git/config' a",
    "awk '{print > \".git/config\"}' a",
    "tar -xf a.tar --directory=.git/hooks",
    "tar -xf a.tar -C .git/hooks",
]
UNNAMED = [
    "X=/etc; cp a $X",
    "for f in /etc/x; do touch $f; done",
    "touch {/etc/x,y}",
    "touch $(cat a)",
    "ln -s /etc e; cp a e/x",
    "ln -s / r; cat r/etc/shadow",
    "find / -name x",
    "find .. -type f",
    "find -L ~ -name x",
]
PLAIN = [
    "for f in a b*; do cat $f; done",
    "x=(a b); cat ${x[0]}",
    "cd src && cat x",
    "cp --target-directory=src a",
    "cp -rt src a",
    "mv -tsrc a",
    "unzip a.zip -dsrc",
    "touch src/*",
    "touch src/{a,b}.txt",
    "mkdir -p src/{a,b}/c",
    "cp a* b",
    "ln -s src/a b",
    "ln -s a b; cp c d",
    "find . -name x",
    "find src lib -type f",
]


@pytest.mark.parametrize("command", SECRET)
def test_a_secret_is_denied_however_it_is_reached(command: str) -> None:
    assert bash(command, policy(*RULES)).effect == "deny"
    assert bash(command, policy(yolo=True)).effect == "deny"


@pytest.mark.parametrize("command", OUTSIDE)
def test_an_option_does_not_lead_outside(command: str) -> None:
    assert bash(command, policy(*RULES)).effect == "deny"
    assert bash(command, policy(yolo=True)).effect == "deny"


@pytest.mark.parametrize("command", PROTECTED)
def test_a_protected_file_is_asked_under_other_spellings(command: str) -> None:
    assert bash(command, policy(*RULES)).effect == "ask"
    assert bash(command, policy(yolo=True)).effect == "ask"


@pytest.mark.parametrize("command", UNNAMED)
def test_what_is_not_known_to_stay_inside_is_asked(command: str) -> None:
    assert bash(command, policy(*RULES)).effect == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "mise exec -- rm x",
        "direnv exec . rm x",
        "uv run --with a rm x",
        "docker run -v .:/a image rm x",
        "choom -n 1 -- rm x",
        "ccache rm x",
    ],
)
def test_a_denied_command_is_found_behind_the_options_of_a_runner(command: str) -> None:
    denied = rule("bash(rm:*)", "deny")
    assert bash(command, policy(denied, yolo=True)).effect == "deny"
    assert bash(command, policy(yolo=True)).effect == "allow"


@pytest.mark.parametrize("command", PLAIN)
def test_the_plain_form_stays_allowed(command: str) -> None:
    assert bash(command, policy(*RULES)).effect == "allow"
