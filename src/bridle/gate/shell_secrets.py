"""A command line with references to variables where placeholders stand.

A value in the environment is seen by the user's own processes only, one on a command line by
everybody; and a reference in quotes is data, whatever characters the value has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ToolError
from bridle.types.base import Moving

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPEN = "{{secret:"
_HINT = (
    "Write it as a word of its own, or inside of single or double quotes; for other places, "
    "first put it into a variable: TOKEN={{secret:NAME}}."
)


def refer(command: str, variables: Mapping[str, str]) -> str:
    """Replace every placeholder of a known name; raises `ToolError` where that is not possible."""
    return _Scan(command, variables).result()


class _Scan(Moving):
    """Reads a command from left to right and knows in which quotes it is.

    `stack` holds what is open: `'` and `"` for quotes, `(` for a substitution, in which quoting
    begins anew, `{` for a parameter in braces.
    """

    command: str
    variables: Mapping[str, str]
    at: int = 0

    def result(self) -> str:
        text, stack, out = self.command, [""], []
        while self.at < len(text):
            char, where = text[self.at], stack[-1]
            if text.startswith(_OPEN, self.at) and (done := self._placeholder(where)):
                out.append(done)
                continue
            size = self._step(char, stack)
            out.append(text[self.at : self.at + size])
            self.at += size
        return "".join(out)

    def _placeholder(self, where: str) -> str | None:
        end = self.command.find("}}", self.at)
        name = self.command[self.at + len(_OPEN) : end] if end >= 0 else ""
        variable = self.variables.get(name)
        if variable is None:
            return None
        if where in ("`", "$'", "<<", "{") or "<<" in self.command.replace("<<<", ""):
            place = {"`": "backticks", "$'": "$'…'", "{": "${…}"}.get(where, "a here-document")
            raise ToolError(f"The secret {name} cannot be put into {place}.", hint=_HINT)
        self.at = end + 2
        if where == "'":
            return f"'\"${{{variable}}}\"'"
        return f"${{{variable}}}" if where == '"' else f'"${{{variable}}}"'

    def _step(self, char: str, stack: list[str]) -> int:
        """Take one character, or two that belong together; returns how many."""
        where, following = stack[-1], self.command[self.at + 1 : self.at + 2]
        if where in ("'", "$'"):
            if where == "$'" and char == "\\":
                return 2
            if char == "'":
                stack.pop()
            return 1
        if char == "\\":
            return 2
        if where == "`" and char != "`":
            return 1
        return self._plain(char, following, stack)

    def _plain(self, char: str, following: str, stack: list[str]) -> int:
        where = stack[-1]
        if char == "#" and where in ("", "(") and self._begins_word():
            end = self.command.find("\n", self.at)
            return (len(self.command) if end < 0 else end) - self.at
        if char == "$" and following in ("(", "{"):
            stack.append(following)
            return 2
        if char == "$" and following == "'" and where != '"':
            stack.append("$'")
            return 2
        if char in ('"', "`"):
            if where == char:
                stack.pop()
            else:
                stack.append(char)
        elif char == "'" and where != '"':
            stack.append(char)
        elif char == "(" and where in ("", "("):
            stack.append("(")
        elif (where, char) in (("(", ")"), ("{", "}")):
            stack.pop()
        return 1

    def _begins_word(self) -> bool:
        return self.at == 0 or self.command[self.at - 1] in " \t\n;&|()"
