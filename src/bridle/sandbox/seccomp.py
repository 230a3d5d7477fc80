"""A small seccomp filter: system calls that a confined command has no business with."""

from __future__ import annotations

import platform
import struct

NETWORK = ("socket", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""No socket of any family; pairs of sockets stay. io_uring could make one past the filter."""

ALWAYS = (
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "kexec_load",
    "kexec_file_load", "init_module", "finit_module", "delete_module", "open_by_handle_at",
    "reboot", "swapon", "swapoff", "acct", "settimeofday", "clock_settime", "pivot_root", "setns",
    "sethostname", "setdomainname", "syslog", "vhangup",
)  # fmt: skip

_NUMBERS: dict[str, tuple[int, int]] = {  # x86-64, arm64
    "socket": (41, 198), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "open_by_handle_at": (304, 265), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "acct": (163, 89), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "pivot_root": (155, 41), "setns": (308, 268),
    "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116),
    "vhangup": (153, 58),
}  # fmt: skip
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "arm64": (0xC00000B7, 1)}

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _DENY = 0x7FFF0000, 0x00050000 | 1  # EPERM
_X32 = 0x40000000


def supported() -> bool:
    """Whether the filter knows this machine's system calls."""
    return platform.machine() in _MACHINES


def compile_filter(*, network: bool) -> bytes:
    """The filter as the kernel takes it; other architectures' calls are refused altogether."""
    architecture, column = _MACHINES[platform.machine()]
    names = ALWAYS if network else ALWAYS + NETWORK
    numbers = sorted(_NUMBERS[name][column] for name in names)
    body = [(_EQUAL, 0, 1, number) for number in numbers]
    code: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _DENY),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _DENY),
    ]
    for step in body:
        code += [step, (_RETURN, 0, 0, _DENY)]
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
