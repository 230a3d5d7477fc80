"""What is compiled anew at every start: expressions, hints, methods of data classes and tuples.

Some eighty regular expressions and two hundred texts are the same at every start. Here
they are taken from the bundle instead: an expression is made of the very arguments that `re` came
to, a method of the code that its text was compiled to. What a project or a user writes is never
kept, only what was compiled for a module.
"""

from __future__ import annotations

import collections
import os
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

OWN = "/surfaces/cli"
SPECIAL = re.DEBUG | re.LOCALE
IMPORTING = "<frozen importlib._bootstrap>"
OURS = frozenset({"bridle.types.regex", "bridle.app.builtin", "bridle.spec.load"})
"""Where expressions of our modules are compiled when they are first used, and hints are read."""

ROOTS = tuple(
    os.path.join(root, "")  # noqa: PTH118 - pathlib is not loaded here
    for root in (sys.prefix, sys.base_prefix, os.path.dirname(__file__).removesuffix(OWN))  # noqa: PTH120
)
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
        import dataclasses  # only now: these are in the bundle too
        import typing

        vars(_compiler)["compile"] = self._pattern
        vars(dataclasses)["exec"] = self._execute
        vars(collections)["eval"] = self._evaluate
        vars(typing)["compile"] = self._text

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
        exec(self._code(text, "exec") if type(text) is str else text, *around)

    def _evaluate(self, text: Any, *around: Any) -> Any:
        return eval(self._code(text, "eval") if type(text) is str else text, *around)

    def _text(self, text: Any, name: str, mode: str, *more: Any) -> Any:
        if more or name != "<string>":
            return compile(text, name, mode, *more)
        return self._code(text, mode)

    def _code(self, text: Any, mode: str) -> Any:
        code = self._codes.get((text, mode))
        if code is None:
            code = compile(text, "<string>", mode, dont_inherit=True)
            if _for_a_module(sys._getframe(2)):  # noqa: SLF001
                self._codes[text, mode] = code
                self.grown = True
        return code


def is_installed(file: str) -> bool:
    """Whether a file came with Python, with a library or with us; not with a project."""
    return file.startswith(ROOTS)


def _for_a_module(frame: FrameType | None) -> bool:
    """Whether an installed module is being imported, or a constant of ours is first used."""
    while frame is not None:
        if frame.f_globals.get("__name__") in OURS:
            return True
        below = frame.f_back
        if frame.f_code.co_name == "<module>" and below is not None:
            importing = below.f_code.co_filename == IMPORTING
            return importing and is_installed(frame.f_code.co_filename)
        frame = below
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
