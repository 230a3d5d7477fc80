"""Which variables are known to hold numbers.

Bash evaluates the text of a variable when it stands in arithmetic, and a subscript in that text can
run commands: `x='a[$(rm y)]'; echo $((x))`. So arithmetic is only harmless on variables that
get nothing but numbers everywhere in the command line.
"""

from __future__ import annotations

from bridle.permissions.shell.variables import WHOLE_NUMBERS
from bridle.types.regex import lazy

_TOKEN = lazy(
    r"0[xX][0-9a-fA-F]+|[0-9]+#[0-9A-Za-z@_]+|[0-9]+|\$?([A-Za-z_][A-Za-z0-9_]*)|\$([0-9@*?#$!-])"
)
_SETS = lazy(r"([A-Za-z_][A-Za-z0-9_]*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_NUMBER = lazy(r"[-+]?[0-9]+")
_SPECIAL_NUMBERS = frozenset("?#$!")


class Numbers:
    """What was assigned to which variable, and where arithmetic needs a number.

    `computed` are the variables that arithmetic itself sets.
    """

    def __init__(self) -> None:
        self._numbers: set[str] = set()
        self._others: set[str] = set()
        self._uses: list[tuple[str, str]] = []
        self.anything = False
        self.computed: set[str] = set()

    def sets(self, name: str, *, number: bool) -> None:
        """Note that this variable gets a number, or something else."""
        (self._numbers if number else self._others).add(name)

    def uses(self, expression: str, raw: str) -> None:
        """Note that this expression is evaluated."""
        for found in _SETS.finditer(expression):
            self._numbers.add(found[1])
            self.computed.add(found[1])
        for found in _TOKEN.finditer(expression):
            name = found[1] or found[2]
            if name:
                self._uses.append((name, raw))

    def unsafe(self) -> list[tuple[str, str]]:
        """The variables that stand in arithmetic and may hold anything, with the place."""
        return [(name, raw) for name, raw in self._uses if not self._is_number(name)]

    def _is_number(self, name: str) -> bool:
        if name in _SPECIAL_NUMBERS:
            return True
        if self.anything or name in self._others:
            return False
        return name in self._numbers or name in WHOLE_NUMBERS


def is_number(text: str) -> bool:
    """Is this text a plain integer?"""
    return _NUMBER.fullmatch(text) is not None
