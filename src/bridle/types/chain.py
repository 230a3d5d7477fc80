"""The hash chain of a log: each record is bound to all records before it."""

from __future__ import annotations

import hashlib

GENESIS = "0" * 64


def link(previous: str, body: bytes) -> str:
    """Hash a record together with the hash of the record before it."""
    return hashlib.sha256(previous.encode() + body).hexdigest()


def digest(body: bytes) -> str:
    """Name a blob by its content."""
    return hashlib.sha256(body).hexdigest()
