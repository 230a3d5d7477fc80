"""Reading compound commands: loops, conditions, case, groups, functions, coprocesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.permissions.shell.redirects import Redirects
from bridle.permissions.shell.tree import Compound, Piece, RawWord, Unreadable
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from bridle.permissions.shell.tree import Node

_NAME = lazy(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;]|$)")
_FUNCTION_NAME = lazy(r"[A-Za-z0-9_.:/@+-]+(?=[ \t\n(]|$)")
_IN = lazy(r"in(?=[ \t\n;]|$)")
_CONDITION_END = lazy(r"\]\](?=[ \t\n;|&()<>]|$)")
_REGEX = lazy(r"(?:[^\s;&<>'\"\\$`()]|\\[^\n]|\$(?=[\s)|])|\([^\s;&<>'\"\\$`()]*\))+")
_COUNTING = lazy(r"\(\(([A-Za-z0-9_ \t+\-*/%=!&|^~?:,<>;$]*)\)\)")
_SPACE = lazy(r"(?:[ \t\n]|\\\n)+")
_VARIABLE = lazy(r"\$([A-Za-z_])")


class Compounds(Redirects):
    """The part of the reader that knows reserved words."""

    if TYPE_CHECKING:

        def commands(self, ends: frozenset[str]) -> tuple[Node, ...]:
            """See Reader."""

        def take(self, word: str) -> None:
            """See Reader."""

        def reserved(self) -> str | None:
            """See Reader."""

        def double_semicolon(self) -> bool:
            """See Reader."""

        def simple(self) -> Node:
            """See Reader."""

        def with_redirections(self, node: Compound) -> Compound:
            """See Reader."""

    def compound(self, word: str) -> Compound:
        """Read the compound command that this reserved word begins."""
        self.at += len(word)
        self.deeper()
        node = self._compound(word)
        self.depth -= 1
        return node

    def _compound(self, word: str) -> Compound:
        match word:
            case "{":
                body = self.commands(frozenset({"}"}))
                self.take("}")
                return Compound("group", body)
            case "if":
                return self._if()
            case "while" | "until":
                condition = self.commands(frozenset({"do"}))
                return Compound("while", condition + self._do())
            case "for" | "select":
                return self._for(word)
            case "case":
                return self._case()
            case "[[":
                return self._condition()
            case "function":
                return self._function_keyword()
            case "coproc":
                return self._coproc()
            case _:
                raise Unreadable("a reserved word out of place", self.at)

    def parenthesis(self) -> Compound:
        """Read a subshell, or an arithmetic command."""
        if self.text.startswith("((", self.at):
            start = self.at
            self.at += 2
            piece = self.arithmetic(quoted=True)
            word = RawWord((piece,), self.text[start : self.at], start)
            return Compound("arithmetic", words=(word,), only_bash=True)
        self.at += 1
        return Compound("subshell", self.nested_commands(substitution=False))

    def _if(self) -> Compound:
        body = self.commands(frozenset({"then"}))
        while True:
            self.take("then")
            body += self.commands(frozenset({"elif", "else", "fi"}))
            self.newlines()
            if self.reserved() != "elif":
                break
            self.take("elif")
            body += self.commands(frozenset({"then"}))
        if self.reserved() == "else":
            self.take("else")
            body += self.commands(frozenset({"fi"}))
        self.take("fi")
        return Compound("if", body)

    def _do(self) -> tuple[Node, ...]:
        self.take("do")
        body = self.commands(frozenset({"done"}))
        self.take("done")
        return body

    def _for(self, word: str) -> Compound:
        self.blanks()
        if self.text.startswith("((", self.at):
            return self._for_arithmetic(word)
        found = _NAME.match(self.text, self.at)
        if not found:
            raise Unreadable("a loop without a variable", self.at)
        self.at = found.end()
        words: tuple[RawWord, ...] = ()
        self.newlines()
        if _IN.match(self.text, self.at):
            self.at += 2
            words = self._loop_words()
        elif self.looking_at(";"):
            self.at += 1
        body = self._loop_body()
        return Compound("for", body, words, name=found[0], only_bash=word == "select")

    def _loop_words(self) -> tuple[RawWord, ...]:
        words: list[RawWord] = []
        while True:
            self.blanks()
            if self.at >= len(self.text):
                raise Unreadable("a loop without a body", self.at)
            if self.text[self.at] in "\n;":
                if self.double_semicolon():
                    raise Unreadable("a loop without a body", self.at)
                self.at += self.text[self.at] == ";"
                return tuple(words)
            before = self.at
            words.append(self.word())
            if self.at == before:
                raise Unreadable("an operator in the words of a loop", self.at)

    def _loop_body(self) -> tuple[Node, ...]:
        self.newlines()
        if self.reserved() == "{":
            self.take("{")
            body = self.commands(frozenset({"}"}))
            self.take("}")
            return body
        return self._do()

    def _for_arithmetic(self, word: str) -> Compound:
        start = self.at
        found = _COUNTING.match(self.text, start)
        text = _VARIABLE.sub(r"\1", found[1]) if found else "$"
        if not found or word != "for" or "$" in text:
            raise Unreadable("a loop that counts in an odd way", start)
        self.at = found.end()
        piece = Piece("arithmetic", text.replace(";", ","), quoted=True)
        self.blanks()
        if self.looking_at(";"):
            self.at += 1
        head = RawWord((piece,), found[0], start)
        return Compound("for", self._loop_body(), (head,), only_bash=True)

    def _case(self) -> Compound:
        self.blanks()
        words = [self._some_word()]
        body: tuple[Node, ...] = ()
        self.newlines()
        if not _IN.match(self.text, self.at):
            raise Unreadable("expected in", self.at)
        self.at += 2
        while True:
            self.newlines()
            if self.reserved() == "esac":
                self.take("esac")
                return Compound("case", body, tuple(words))
            words.extend(self._patterns())
            body += self.commands(frozenset({"esac"}))
            if self.double_semicolon():
                self.at += 3 if self.looking_at(";;&") else 2
            elif self.reserved() != "esac":
                raise Unreadable("a case that does not end", self.at)

    def _patterns(self) -> list[RawWord]:
        if self.looking_at("("):
            self.at += 1
            self.blanks()
        patterns = [self._some_word()]
        self.blanks()
        while self.looking_at("|"):
            self.at += 1
            self.blanks()
            patterns.append(self._some_word())
            self.blanks()
        if not self.looking_at(")"):
            raise Unreadable("a pattern that is not plain", self.at)
        self.at += 1
        return patterns

    def _some_word(self) -> RawWord:
        before = self.at
        word = self.word()
        if self.at == before:
            raise Unreadable("expected a word", self.at)
        return word

    def _condition(self) -> Compound:
        words: list[RawWord] = []
        if self.waiting:
            raise Unreadable("a condition behind a here-document", self.at)
        while True:
            found = _SPACE.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at >= len(self.text) or self.looking_at("#"):
                raise Unreadable("a condition that does not end", self.at)
            end = _CONDITION_END.match(self.text, self.at)
            if end and words:
                self.at += 2
                return Compound("condition", words=tuple(words), only_bash=True)
            words.append(self._condition_word(words[-1].raw if words else ""))

    def _condition_word(self, before: str) -> RawWord:
        start = self.at
        two = self.text[start : start + 2]
        if two in ("&&", "||"):
            self.at += 2
            return RawWord((Piece("text", two),), two, start)
        char = self.text[start]
        if char in "()<>" and two not in ("<(", ">("):
            self.at += 1
            return RawWord((Piece("text", char),), char, start)
        if before == "=~":
            found = _REGEX.match(self.text, start)
            if found and self.text[found.end() : found.end() + 1] in (" ", "\t", "\n"):
                self.at = found.end()
                return RawWord((Piece("quoted", found[0]),), found[0], start)
        word = self._some_word()
        if self.looking_at("(") or (self.looking_at("|") and not self.looking_at("||")):
            raise Unreadable("a pattern that is not plain", self.at)
        return word

    def _function_keyword(self) -> Compound:
        self.blanks()
        found = _FUNCTION_NAME.match(self.text, self.at)
        if not found:
            raise Unreadable("a function with an odd name", self.at)
        self.at = found.end()
        self.blanks()
        if self.looking_at("("):
            self._empty_parentheses()
        return self._function_body(found[0], only_bash=True)

    def function(self, start: int, words: list[RawWord], *, others: bool) -> Compound:
        """Read the definition of a function from its parentheses on."""
        name = words[0].plain if len(words) == 1 and not others else None
        if name is None or not _FUNCTION_NAME.fullmatch(name):
            raise Unreadable("a parenthesis out of place", start)
        self._empty_parentheses()
        return self._function_body(name, only_bash=False)

    def _empty_parentheses(self) -> None:
        self.at += 1
        self.blanks()
        if not self.looking_at(")"):
            raise Unreadable("a parenthesis out of place", self.at)
        self.at += 1

    def _function_body(self, name: str, *, only_bash: bool) -> Compound:
        self.newlines()
        word = self.reserved()
        if self.looking_at("("):
            body = self.parenthesis()
        elif word in ("{", "if", "while", "until", "for", "select", "case", "[["):
            body = self.compound(word)
        else:
            raise Unreadable("a function without a body", self.at)
        body = self.with_redirections(body)
        return Compound("function", (body,), name=name, only_bash=only_bash)

    def _coproc(self) -> Compound:
        self.blanks()
        found = _NAME.match(self.text, self.at)
        name = ""
        if found:
            before = self.at
            self.at = found.end()
            self.blanks()
            if self.reserved() is None and not self.looking_at("("):
                self.at = before
            else:
                name = found[0]
        word = self.reserved()
        if self.looking_at("("):
            body: Node = self.with_redirections(self.parenthesis())
        elif word is None:
            body = self.simple()
        else:
            body = self.with_redirections(self.compound(word))
        return Compound("coproc", (body,), name=name, only_bash=True)
