"""The base of every fact."""

from __future__ import annotations

import msgspec


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen value with named fields; facts are compared by value."""
