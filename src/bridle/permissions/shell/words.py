"""Reading one word the way bash does: quotes, expansions and what is nested in them.

Where two readings are possible, or the text is of a kind that is rare and easy to misread, the
reader stops with `Unreadable` instead of guessing: what is not read is asked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.permissions.shell.tree import Piece, RawWord, Unreadable
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from bridle.permissions.shell.tree import Dialect, Node

MAX_DEPTH = 24
CONTINUATION = "\\\n"

_PLAIN = lazy(r"[^ \t\n|&;()<>'\"\\$`]+")
_IN_QUOTES = lazy(r"[^\"\\$`]+")
_IN_HEREDOC = lazy(r"[^\\$`]+")
_IN_OPERAND = lazy(r"[^}'\"\\$`{<>]+")
_IN_ARITHMETIC = lazy(r"[\w \t\n+\-*/%=!&|^~?:,<>\[\]#]+")
_NAME = lazy(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_PARAMETER = lazy(
    r"\$\{(?P<pre>[#!]?)(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])"
    r"(?P<sub>\[[$\w@*+\- ]*\])?"
)
_OPERATOR = lazy(r":?[-=?+]|##?|%%?|//?|\^\^?|,,?|:|@")
_ANSI = lazy(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_SINGLE = lazy(r"'[^']*'")
_BACKTICKS = lazy(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_UNESCAPE = lazy(r"\\([$`\\])")
_UNESCAPE_QUOTED = lazy(r"\\([$`\\\"])")


class Words:
    """A position in a text, and the readers of words from there on."""

    def __init__(self, text: str, *, dialect: Dialect = "bash", depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self.dialect = dialect
        self.depth = depth
        self.opaque: list[tuple[int, int]] = []
        if depth > MAX_DEPTH:
            raise Unreadable("nested too deeply", 0)

    if TYPE_CHECKING:

        def nested_commands(self, *, substitution: bool) -> tuple[Node, ...]:
            """See Reader."""

        def commands_of(self, text: str) -> tuple[Node, ...]:
            """See Reader."""

        def fresh(self, text: str) -> Words:
            """See Reader."""

    def deeper(self) -> None:
        """Go one level down; whoever comes back takes one from `depth`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("nested too deeply", self.at)

    def looking_at(self, text: str) -> bool:
        """Is this text next?"""
        return self.text.startswith(text, self.at)

    def word(self) -> RawWord:
        """Read one word; the position must be on its first character."""
        start = self.at
        pieces: list[Piece] = []
        while self.at < len(self.text):
            found = _PLAIN.match(self.text, self.at)
            if found:
                pieces.append(Piece("text", found[0]))
                self.at = found.end()
                continue
            piece = self._special()
            if piece is None:
                break
            pieces.append(piece)
        return RawWord(tuple(pieces), self.text[start : self.at], start)

    def _special(self) -> Piece | None:
        char = self.text[self.at]
        if char == "\\":
            return self._backslash()
        if char == "'":
            return self._single()
        if char == '"':
            return Piece("quoted", "", inner=self.double_quoted())
        if char == "$":
            return self.dollar(quoted=False)
        if char == "`":
            return self.backquotes(quoted=False)
        if char in "<>" and self._next_is("("):
            return self._process()
        return None

    def _next_is(self, char: str) -> bool:
        after = self.at + 1
        if self.text.startswith(CONTINUATION, after):
            while self.text.startswith(CONTINUATION, after):
                after += 2
            if self.text[after : after + 1] in ("(", "{", "[", "<", ">", "&", "|", ";"):
                raise Unreadable("an operator is broken over two lines", self.at)
        return self.text[after : after + 1] == char

    def _backslash(self) -> Piece:
        if self.at + 1 >= len(self.text):
            raise Unreadable("a backslash at the end", self.at)
        char = self.text[self.at + 1]
        self.at += 2
        return Piece("text", "") if char == "\n" else Piece("quoted", char)

    def _single(self) -> Piece:
        found = _SINGLE.match(self.text, self.at)
        if not found:
            raise Unreadable("a quote is not closed", self.at)
        self.at = found.end()
        return Piece("quoted", found[0][1:-1])

    def _process(self) -> Piece:
        start = self.at
        self.at += 2
        problem = "process substitution outside bash" if self.dialect == "sh" else None
        body = self.nested_commands(substitution=True)
        return Piece("process", self.text[start : self.at], body=body, problem=problem)

    def double_quoted(self) -> tuple[Piece, ...]:
        """Read from one double quote over the next."""
        start = self.at
        self.at += 1
        pieces = self._expanded(_IN_QUOTES, escapes='$`"\\', end='"')
        if not self.looking_at('"'):
            raise Unreadable("a quote is not closed", start)
        self.at += 1
        return pieces

    def heredoc_pieces(self) -> tuple[Piece, ...]:
        """Read the whole text as the body of a here-document that expands."""
        return self._expanded(_IN_HEREDOC, escapes="$`\\", end="")

    def _expanded(self, run: re.Pattern[str], *, escapes: str, end: str) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        while self.at < len(self.text) and self.text[self.at] != end:
            char = self.text[self.at]
            found = run.match(self.text, self.at)
            if found:
                pieces.append(Piece("quoted", found[0], quoted=True))
                self.at = found.end()
            elif char == "\\":
                after = self.text[self.at + 1 : self.at + 2]
                if after != "\n":
                    kept = after if after and after in escapes else "\\" + after
                    pieces.append(Piece("quoted", kept, quoted=True))
                self.at += 2
            elif char == "$":
                pieces.append(self.dollar(quoted=True))
            else:
                pieces.append(self.backquotes(quoted=bool(end)))
        return tuple(pieces)

    def backquotes(self, *, quoted: bool) -> Piece:
        """Read from one backquote over the next; the inside is unescaped once, then read."""
        found = _BACKTICKS.match(self.text, self.at)
        if not found:
            raise Unreadable("a backquote is not closed", self.at)
        self.opaque.append(found.span())
        self.at = found.end()
        unescape = _UNESCAPE_QUOTED if quoted else _UNESCAPE
        inside = unescape.sub(r"\1", found[0][1:-1])
        return Piece("command", found[0], quoted=quoted, body=self.commands_of(inside))

    def dollar(self, *, quoted: bool) -> Piece:
        """Read what a dollar sign begins, or the dollar sign alone."""
        if self.text.startswith(CONTINUATION, self.at + 1):
            raise Unreadable("a dollar sign before a line break", self.at)
        self.deeper()
        piece = self._dollar(self.text[self.at + 1 : self.at + 2], quoted=quoted)
        self.depth -= 1
        return piece

    def _dollar(self, after: str, *, quoted: bool) -> Piece:
        start = self.at
        if after == "(":
            if self.text.startswith("((", start + 1):
                self.at += 3
                return self.arithmetic(quoted=quoted)
            self.at += 2
            body = self.nested_commands(substitution=True)
            return Piece("command", self.text[start : self.at], quoted=quoted, body=body)
        if after == "{":
            return self._parameter(quoted=quoted)
        if after == "[":
            raise Unreadable("arithmetic in square brackets", start)
        if after in ("'", '"') and not quoted:
            return self._dollar_quotes(after)
        name = _NAME.match(self.text, start + 1)
        if name:
            self.at = name.end()
            return Piece("variable", name[0], quoted=quoted)
        self.at += 1
        return Piece("quoted", "$", quoted=quoted)

    def _dollar_quotes(self, quote: str) -> Piece:
        if quote == '"':
            self.at += 1
            return Piece("locale", "", inner=self.double_quoted())
        found = _ANSI.match(self.text, self.at)
        if not found or self.dialect == "sh":
            raise Unreadable("a dollar sign before a quote", self.at)
        self.at = found.end()
        return Piece("ansi", found[0])

    def arithmetic(self, *, quoted: bool) -> Piece:
        """Read an expression up to its two closing parentheses; the position is inside them.

        The text of the piece is the expression without the expansions in it, which are `inner`.
        """
        start = self.at
        level = 0
        texts: list[str] = []
        inner: list[Piece] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            found = _IN_ARITHMETIC.match(self.text, self.at)
            if found:
                texts.append(found[0])
                self.at = found.end()
            elif char == "$":
                inner.append(self.dollar(quoted=True))
                texts.append(" 0 ")
            elif char == "`":
                inner.append(self.backquotes(quoted=True))
            elif char == "(" or (char == ")" and level):
                level += 1 if char == "(" else -1
                self.at += 1
            elif self.looking_at("))"):
                self.at += 2
                return Piece("arithmetic", "".join(texts), quoted=quoted, inner=tuple(inner))
            else:
                break
        raise Unreadable("two opening parentheses that are not plain arithmetic", start)

    def _parameter(self, *, quoted: bool) -> Piece:
        start = self.at
        found = _PARAMETER.match(self.text, start)
        if not found:
            raise Unreadable("an expansion of an unknown form", start)
        self.at = found.end()
        pre, name, subscript = found["pre"], found["name"], (found["sub"] or "")[1:-1]
        if self.looking_at("}"):
            self.at += 1
            indirect = pre == "!" and subscript not in ("@", "*")
            problem = "an indirect expansion" if indirect else None
            name = "#" if pre == "#" else name
            return Piece("variable", name, quoted=quoted, subscript=subscript, problem=problem)
        if pre == "!" and self.text[self.at : self.at + 2] in ("*}", "@}"):
            self.at += 2
            return Piece("variable", name, quoted=quoted, subscript="@")
        operator = _OPERATOR.match(self.text, self.at)
        if not operator or pre:
            raise Unreadable("an expansion of an unknown form", start)
        self.at = operator.end()
        began = self.at
        inner = self._operand(quoted=quoted)
        operand = self.text[began : self.at - 1]
        return Piece(
            "variable",
            name,
            quoted=quoted,
            inner=inner,
            operator=operator[0],
            operand=operand,
            subscript=subscript,
            problem=_problem(operator[0], operand),
        )

    def _operand(self, *, quoted: bool) -> tuple[Piece, ...]:
        start = self.at
        pieces: list[Piece] = []
        while self.at < len(self.text):
            if self.looking_at("}"):
                self.at += 1
                return tuple(pieces)
            found = _IN_OPERAND.match(self.text, self.at)
            if found:
                pieces.append(Piece("text", found[0], quoted=quoted))
                self.at = found.end()
                continue
            char = self.text[self.at]
            if char not in '\\"$`' and (quoted or char != "'"):
                break
            if quoted and char in '\\"':
                pieces.extend(self._quoted_in_operand(char))
            else:
                pieces.append(self._special() or Piece("text", ""))
        raise Unreadable("an expansion that is hard to read", start)

    def _quoted_in_operand(self, char: str) -> tuple[Piece, ...]:
        return self.double_quoted() if char == '"' else (self._backslash(),)


def _problem(operator: str, operand: str) -> str | None:
    if operator != "@":
        return None
    return None if operand in set("QULuaAKkE") else "an expansion that runs its value (@P)"
