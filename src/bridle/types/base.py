"""What classes with named fields are made from.

Defining a dataclass compiles its methods when the module is imported, about a millisecond each; a
struct costs a thirtieth of that. A command imports a hundred of them, so all are structs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from inspect import Signature


class Described(msgspec.StructMeta):
    """Tells the signature of a class as it is written, without its hints being evaluated.

    `help()` and editors ask for it; the names in the hints are imported for the type checker only.
    """

    @property
    def __signature__(cls) -> Signature:
        from inspect import Parameter, Signature

        fields, defaults = cls.__struct_fields__, cls.__struct_defaults__
        hints = {name: hint for one in reversed(cls.__mro__) for name, hint in _hints(one)}
        missing = [Parameter.empty] * (len(fields) - len(defaults))
        parameters = [
            Parameter(
                name,
                Parameter.POSITIONAL_OR_KEYWORD
                if name in cls.__match_args__
                else Parameter.KEYWORD_ONLY,
                default=Parameter.empty if default is msgspec.NODEFAULT else default,
                annotation=hints.get(name, Parameter.empty),
            )
            for name, default in zip(fields, [*missing, *defaults], strict=True)
        ]
        return Signature(sorted(parameters, key=lambda parameter: parameter.kind))


def _hints(one: type) -> list[tuple[str, object]]:
    return list(vars(one).get("__annotations__", {}).items())


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen value with named fields; facts are compared by value and can be written as JSON."""


class Fixed(msgspec.Struct, metaclass=Described, frozen=True):
    """A part that does things and holds what it needs to; its hints are never evaluated."""


class Moving(msgspec.Struct, metaclass=Described):
    """A part whose fields change while it works; its hints are never evaluated."""
