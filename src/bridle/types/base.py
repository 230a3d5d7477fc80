"""What classes with named fields are made from.

Defining a dataclass compiles its methods when the module is imported, about a millisecond each; a
struct costs a thirtieth of that. A command imports a hundred of them, so all are structs.
"""

from __future__ import annotations

import msgspec


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen value with named fields; facts are compared by value and can be written as JSON."""


class Fixed(msgspec.Struct, frozen=True):
    """A part that does things and holds what it needs to; its hints are never evaluated."""


class Moving(msgspec.Struct):
    """A part whose fields change while it works; its hints are never evaluated."""
