"""What libraries compile while they are imported: expressions, methods of data classes, tuples.

Some eighty regular expressions and two hundred generated methods are the same at every start. Here
they are taken from the bundle instead: an expression is made of the very arguments that `re` came
to, a method of the code that its text was compiled to. What a project or a user writes is never
kept, only what was compiled for a module.
"""

from __future__ import annotations

import collections
import re
import sys
from importlib import import_module
from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    Patterns = dict[tuple[str | bytes, int], tuple[Any, ...]]
    """What `_sre.compile` is given for an expression and its flags."""
    Codes = dict[tuple[str, str], CodeType]
    """The code of a text, which is a body or an expression."""

SPECIAL = re.DEBUG | re.LOCALE
IMPORTING = "<frozen importlib._bootstrap>"
CONSTANTS = "bridle.types.regex"
"""Where expressions of modules are compiled when they are first used."""

_engine = import_module("_sre")
_compiler = import_module("re._compiler")
_compile = _compiler.compile


class Compiled:
    """Answers in place of `re`, `dataclasses` and `namedtuple` where the answer is known."""

    def __init__(self, patterns: Patterns, codes: Codes) -> None:
        self._patterns = patterns
        self._codes = codes
        self._new: set[tuple[str | bytes, int]] = set()
        self.grown = False

    def install(self) -> None:
        """Be asked from now on."""
        import dataclasses  # only now: it is in the bundle too

        vars(_compiler)["compile"] = self._pattern
        vars(dataclasses)["exec"] = self._execute
        vars(collections)["eval"] = self._evaluate

    def kept(self) -> tuple[Patterns, Codes]:
        """All that is known, to be written."""
        self._patterns.update({key: _arguments(*key) for key in self._new})
        return self._patterns, self._codes

    def _pattern(self, pattern: Any, flags: int = 0) -> Any:
        kind = type(pattern)
        if kind is not str and kind is not bytes:
            return _compile(pattern, flags)
        known = self._patterns.get((pattern, flags))
        if known is not None:
            return _engine.compile(*known)
        found = _compile(pattern, flags)
        if not flags & SPECIAL and _for_a_module(sys._getframe(1)):  # noqa: SLF001
            self._new.add((pattern, int(flags)))
            self.grown = True
        return found

    def _execute(self, text: Any, *around: Any) -> None:
        exec(self._code(text, "exec"), *around)

    def _evaluate(self, text: Any, *around: Any) -> Any:
        return eval(self._code(text, "eval"), *around)

    def _code(self, text: Any, mode: str) -> Any:
        if type(text) is not str:
            return text
        code = self._codes.get((text, mode))
        if code is None:
            code = compile(text, "<string>", mode, dont_inherit=True)
            if _for_a_module(sys._getframe(2)):  # noqa: SLF001
                self._codes[text, mode] = code
                self.grown = True
        return code


def _for_a_module(frame: FrameType | None) -> bool:
    """Whether a module is being imported, or a constant of one is first used."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING or frame.f_globals.get("__name__") == CONSTANTS:
            return True
        frame = frame.f_back
    return False


def _arguments(pattern: str | bytes, flags: int) -> tuple[Any, ...]:
    """What `re` itself gives to its engine for an expression."""
    told: list[tuple[Any, ...]] = []
    listening = SimpleNamespace(**vars(_engine))
    listening.compile = lambda *given: told.append(given)
    vars(_compiler)["_sre"] = listening
    try:
        _compile(pattern, flags)
    finally:
        vars(_compiler)["_sre"] = _engine
    said, flags, code, *rest = told[0]
    return said, int(flags), [int(word) for word in code], *rest
