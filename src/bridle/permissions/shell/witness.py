"""A second opinion: the commands that tree-sitter's grammar sees in the same text.

The reader follows bash closely, but it is one program. Where another parser finds a command that
the reader took for something else, the text has two readings and must be asked about. The
witness is lenient where its grammar is known to be wrong, and silent where it has errors.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_WORD = r"(?:[A-Za-z0-9_./:@%+,=-]|'[^'\n]*'|\"[^\"$`\\\n]*\")+"
_OBVIOUS = lazy(
    rf" *{_WORD}(?: +{_WORD}| +2>&1| +[12]?>/dev/null| *(?:\|\||&&|\||;) *{_WORD})*[ ;]*"
)
_PLAIN = lazy(rb"[A-Za-z_./][A-Za-z0-9_./-]*")
_KEYWORDS = frozenset(
    b"if then elif else fi while until do done for select case esac in function coproc time".split()
)


def is_obvious(command: str) -> bool:
    """Has the text nothing in it that two parsers could read in two ways?"""
    return _OBVIOUS.fullmatch(command) is not None


def unseen(command: str, starts: Iterable[int], opaque: Sequence[tuple[int, int]]) -> str | None:
    """The first command that the witness sees and the reader does not; None where they agree."""
    source = command.encode("utf-8", "surrogatepass")
    known = set(starts)
    if len(source) != len(command):
        known = {len(command[:start].encode()) for start in known}
        opaque = [
            (len(command[:start].encode()), len(command[:end].encode())) for start, end in opaque
        ]
    for start, end in _parser()(source):
        text = source[start:end]
        if start in known or text in _KEYWORDS or not _PLAIN.fullmatch(text):
            continue
        if any(first <= start < last for first, last in opaque):
            continue
        return text.decode()
    return None


@cache
def _parser() -> Callable[[bytes], list[tuple[int, int]]]:
    """Import the parser when it is first needed: that costs some 30 ms."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser, Query, QueryCursor

    language = Language(tree_sitter_bash.language())
    parser = Parser(language)
    query = Query(language, "(command_name) @name")

    def commands(source: bytes) -> list[tuple[int, int]]:
        root = parser.parse(source).root_node
        if root.has_error:
            return []
        found = QueryCursor(query).captures(root).get("name", [])
        return sorted((node.start_byte, node.end_byte) for node in found)

    return commands
