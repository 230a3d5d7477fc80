"""A process that confines itself: Landlock, seccomp, no capabilities; runs before exec.

It imports only what starts fast. Whatever fails here fails the command: nothing runs half confined.
"""

from __future__ import annotations

import ctypes
import os
import stat

TYPE_CHECKING = False  # typing itself costs more than this module
if TYPE_CHECKING:
    from collections.abc import Sequence

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 24, 38, 22
CAP_LAST = 63
FILE_RIGHTS = 1 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""Execute, write, read, truncate, ioctl: what a rule for a file, not a directory, may hold."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def landlock_version() -> int:
    """The version of Landlock in this kernel; 0 without it."""
    version: int = _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    return max(0, version)


def apply(handled: tuple[int, int, int], rules: Sequence[tuple[int, str]], seccomp: bytes) -> None:
    """Give up everything that the rules do not grant; there is no way back."""
    _drop_capabilities()
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if handled[0]:
        _restrict(handled, rules)
    if seccomp:
        code = ctypes.create_string_buffer(seccomp, len(seccomp))
        program = _Program(len(seccomp) // 8, ctypes.addressof(code))
        _check(_libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "seccomp")


def _restrict(handled: tuple[int, int, int], rules: Sequence[tuple[int, str]]) -> None:
    attributes = _Ruleset(*handled)
    size = 24 if handled[2] else 16 if handled[1] else 8
    ruleset = _check(
        _libc.syscall(CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0),
        "Landlock ruleset",
    )
    for access, path in rules:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # gone, or not ours to see: not granted
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= FILE_RIGHTS
        beneath = _Beneath(access, fd)
        _check(_libc.syscall(ADD_RULE, ruleset, 1, ctypes.byref(beneath), 0), f"rule for {path}")
        os.close(fd)
    _check(_libc.syscall(RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _drop_capabilities() -> None:
    """Root without its powers: what it owns it may touch, as far as the rules go."""
    for number in range(CAP_LAST + 1):
        if _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(ctypes.byref(header), ctypes.byref(nothing)), "capabilities")


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot confine the command ({what}): {os.strerror(number)}")
    return result
