"""Programs that run other programs: how to find the command that they run.

A wrapper that only runs its command in a slightly different way (`timeout`, `nice`) needs no
permission of its own. Those that change who runs it, where, or from what input (`sudo`, `ssh`,
`find`) count as commands beside the one they run. Those that are not read here at all are a
problem: they may run anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.permissions.shell.facts import HOLE, Assignment, Word, names
from bridle.permissions.shell.options import Options, skip
from bridle.permissions.shell.reading import Inner, Reading, unread
from bridle.permissions.shell.runners import SHELLS, SPECIAL, assignment, is_assignment, read_shell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.permissions.shell.facts import Role

PLACES = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/")

OTHER_SHELLS = names("zsh ksh mksh fish csh tcsh nu elvish xonsh pwsh powershell osh yash")

TRANSPARENT = {
    "nohup": Options(),
    "setsid": Options(flags="cfw", long=names("ctty fork wait")),
    "nice": Options(values="n", long=names("adjustment="), numbers=True),
    "ionice": Options(
        values="cn", flags="t", long=names("class= classdata= ignore"), refused=names("p P u")
    ),
    "timeout": Options(
        values="ks",
        flags="vfp",
        long=names("kill-after= signal= verbose foreground preserve-status"),
        operands=1,
    ),
    "stdbuf": Options(values="ioe", long=names("input= output= error=")),
    "time": Options(flags="pv", long=names("portability verbose"), values="f"),
    "builtin": Options(),
    "exec": Options(flags="cl", values="a"),
}

COUNTED = {
    "sudo": Options(
        flags="ABbEHKkNnPSV",
        values="CDghprtTuU",
        long=names(
            "askpass background bell preserve-env set-home non-interactive stdin "
            "reset-timestamp chdir= group= host= prompt= role= type= command-timeout= "
            "user= other-user= close-from="
        ),
        refused=names("s i e R l v shell login edit list validate chroot"),
    ),
    "doas": Options(flags="Ln", values="Cau", refused=names("s")),
    "chroot": Options(long=names("userspec= groups= skip-chdir"), operands=1),
    "flock": Options(
        flags="sxeunoFv",
        values="wE",
        long=names(
            "shared exclusive unlock nonblock nb close no-fork verbose wait= timeout= "
            "conflict-exit-code="
        ),
        operands=1,
    ),
}

UNREAD = names(
    "parallel strace ltrace perf valgrind unshare nsenter setpriv capsh systemd-run runcon sg su "
    "runuser pkexec gosu su-exec tini dumb-init fakeroot fakechroot proot firejail bwrap tmux "
    "screen dtach abduco entr watchexec rlwrap expect unbuffer socat at batch crontab busybox "
    "toybox start-stop-daemon run-parts xvfb-run dbus-run-session dbus-launch cgexec prlimit "
    "numactl chrt taskset setarch linux32 linux64 chpst softlimit envdir torify torsocks "
    "proxychains proxychains4 faketime eatmydata caffeinate script sem setuidgid daemonize "
    "ssh-agent aa-exec catchsegv chronic hyperfine multitime cpulimit trickle ld.so xterm "
    "gnome-terminal konsole x-terminal-emulator choom ccache sccache"
)
"""Programs that run others in ways that are not read here."""


def unwrap(words: Sequence[Word], stdin: str | None) -> Reading | None:
    """What this command runs besides itself; None where it is not known to run others.

    `stdin` is what the command reads, where that is written down in the command line.
    """
    path = words[0].text
    name = path.rsplit("/", 1)[-1]
    reading = _unwrap(name, words, stdin)
    if reading and "/" in path and path not in [place + name for place in PLACES]:
        return reading.counted()
    return reading


def _unwrap(name: str, words: Sequence[Word], stdin: str | None) -> Reading | None:
    if name in SHELLS:
        return read_shell(name, words, stdin)
    if name in UNREAD or name in OTHER_SHELLS or name.startswith("ld-linux"):
        return unread(words, f"{name} runs other commands")
    if name in TRANSPARENT:
        return _plain(name, words, TRANSPARENT[name], kind="wrapper")
    if name in COUNTED:
        return _plain(name, words, COUNTED[name], kind="command")
    special = SPECIAL.get(name)
    return special(words) if special else None


def _plain(name: str, words: Sequence[Word], options: Options, *, kind: Role) -> Reading:
    skipped = skip(words, options)
    if skipped.problem:
        return unread(words, f"{name} with {skipped.problem}")
    at = skipped.at + options.operands
    if any(word.splits for word in words[skipped.at : at]):
        return unread(words, "computed operands")
    assigned: list[Assignment] = []
    while name in ("sudo", "doas") and at < len(words) and is_assignment(words[at]):
        assigned.append(assignment(words[at]))
        at += 1
    if at >= len(words):
        if name in ("exec", "builtin"):
            return Reading(kind="neutral")
        shell = name in ("chroot", "sudo", "doas")
        return Reading(problems=(f"{name} without a command",) if shell else ())
    if name == "flock" and words[at].text in ("-c", "--command"):
        rest = words[at + 1 :]
        if len(rest) != 1 or not rest[0].literal:
            return unread(words, "a computed text")
        return Reading(scripts=((rest[0].text, "sh"),))
    if not words[at].literal and words[at].text.startswith(HOLE) and assigned:
        return unread(words, "a computed command")
    return Reading(kind=kind, inner=(Inner(tuple(words[at:]), at),), environment=tuple(assigned))
