"""Ids: a short prefix and a ULID, sortable by time.

Ids that replay must reproduce are derived from other ids instead of drawn at random.
"""

from __future__ import annotations

import hashlib

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_LENGTH = 26
_TIME_LENGTH = 10


def ulid(at_ms: int, entropy: bytes) -> str:
    """Encode a 48-bit time and 80 bits of entropy in Crockford's base 32."""
    value = (at_ms & (2**48 - 1)) << 80 | int.from_bytes(entropy[:10], "big")
    digits = []
    for _ in range(_ULID_LENGTH):
        digits.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(digits))


def make_id(prefix: str, at_ms: int, entropy: bytes) -> str:
    """Build an id such as `run_01J…`."""
    return f"{prefix}_{ulid(at_ms, entropy)}"


def derive_id(prefix: str, source: str) -> str:
    """Build the id that follows from another id.

    The same source gives the same id, so a crash between the decision and its record cannot make
    two of one thing. The time part is taken from the first ULID in the source.
    """
    digest = hashlib.sha256(f"{prefix}:{source}".encode()).digest()
    time_part = _time_part(source)
    body = ulid(0, digest)[_TIME_LENGTH:]
    return f"{prefix}_{time_part}{body}"


def run_of_steer(input_id: str) -> str:
    """The run that a steer starts where there is none to steer."""
    return derive_id("run", input_id)


def call_id(run_id: str, step: int, index: int) -> str:
    """Name a tool call by its place in the run; the provider's id is kept beside it."""
    return f"{run_id}.{step}.{index}"


def message_id(run_id: str, step: int, part: str) -> str:
    """Name a message by its place in the run."""
    return f"{run_id}.{step}.{part}"


def event_id(thread_id: str, seq: int) -> str:
    """Name an event by its thread and its place in the log."""
    return f"{thread_id}.{seq}"


def _time_part(source: str) -> str:
    _, _, rest = source.partition("_")
    candidate = rest[:_TIME_LENGTH]
    if len(candidate) == _TIME_LENGTH and all(c in _ALPHABET for c in candidate):
        return candidate
    return "0" * _TIME_LENGTH
