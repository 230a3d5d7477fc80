"""How a forked child gets the edited code: new code objects in place, or an import overlay."""

from __future__ import annotations
import __future__

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import warnings
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Key = tuple[str, int]


class Unpatchable(Exception):
    """The edit changes more than function bodies; it needs a fresh import."""


class Functions:
    """The live functions of the project, by the place they were defined at.

    Built once after collection; a child then replaces `__code__`, so names that were imported
    with `from x import f` see the edit too.
    """

    def __init__(self, root: str) -> None:
        self._by_file: dict[str, dict[Key, list[FunctionType]]] = {}
        self._old: dict[tuple[str, int, str], list[CodeType]] = {}
        for item in gc.get_objects():
            if isinstance(item, FunctionType) and item.__code__.co_filename.startswith(root):
                code = item.__code__
                place = self._by_file.setdefault(code.co_filename, {})
                place.setdefault((code.co_name, code.co_firstlineno), []).append(item)

    def prepare(self, path: str, *, line: int, old: str, future: list[str]) -> list[CodeType]:
        """Compile the segment as it was; called before the fork, so that it is done once."""
        key = (path, line, old)
        if key not in self._old:
            self._old[key] = codes(old, path=path, line=line, flags=flags_of(future))
        return self._old[key]

    def patch(self, path: str, *, line: int, old: str, new: str, future: list[str]) -> None:
        """Replace the code of every function that the segment at `line` defines."""
        before = self.prepare(path, line=line, old=old, future=future)
        after = codes(new, path=path, line=line, flags=flags_of(future))
        if [c.co_name for c in before] != [c.co_name for c in after]:
            raise Unpatchable("the edit adds or removes a function")
        live = self._by_file.get(path, {})
        hits = 0
        for was, now in zip(before, after, strict=True):
            for function in live.get((was.co_name, was.co_firstlineno), ()):
                if function.__code__.co_freevars != now.co_freevars:
                    raise Unpatchable("the edit changes what the function closes over")
                function.__code__ = now
                hits += 1
        if not hits:
            raise Unpatchable("the function is not loaded")

    def put(self, edit: dict[str, Any]) -> None:
        """Give a default, a constant of a module or one of a class another value."""
        code = compile(edit["expression"], edit["path"], "eval", dont_inherit=True)
        if edit["value"] == "default":
            live = self._by_file.get(edit["path"], {}).get((edit["name"], edit["line"]), [])
            for function in live:
                put_default(function, edit["index"], eval(code, function.__globals__))
            if not live:
                raise Unpatchable("the function is not loaded")
            return
        homes = [m for m in modules() if getattr(m, "__file__", None) == edit["path"]]
        for home in homes:
            value = eval(code, home.__dict__)
            if edit["value"] == "global":
                put_global(home, edit["name"], value)
            else:
                put_attribute(home.__dict__.get(edit["owner"]), edit["name"], value)
        if not homes:
            raise Unpatchable("the module is not loaded")


def modules() -> list[ModuleType]:
    """What is imported; some put other things among the modules."""
    found: list[object] = list(sys.modules.values())
    return [module for module in found if isinstance(module, ModuleType)]


def put_default(function: FunctionType, index: int | str, value: object) -> None:
    """Replace one default argument, by its number or by its keyword."""
    if isinstance(index, str):
        known = function.__kwdefaults__
        if not known or index not in known:
            raise Unpatchable("the function has no such default")
        known[index] = value
        return
    defaults = list(function.__defaults__ or ())
    if index >= len(defaults):
        raise Unpatchable("the function has no such default")
    defaults[index] = value
    function.__defaults__ = tuple(defaults)


def put_global(home: ModuleType, name: str, value: object) -> None:
    """Replace a constant in its module and in those that imported it by name."""
    if name not in home.__dict__:
        raise Unpatchable("the name is not there")
    old = home.__dict__[name]
    for module in modules():
        if module.__dict__.get(name, modules) is old:
            module.__dict__[name] = value


def put_attribute(owner: object, name: str, value: object) -> None:
    """Replace an attribute of a plain class."""
    if type(owner) is not type or name not in vars(owner):
        raise Unpatchable("not a plain class")
    setattr(owner, name, value)


def flags_of(future: list[str]) -> int:
    """The compiler flags of `from __future__ import …`."""
    flags = 0
    for name in future:
        flags |= getattr(__future__, name).compiler_flag
    return flags


def codes(segment: str, *, path: str, line: int, flags: int) -> list[CodeType]:
    """Compile a top-level statement as it stands at its line; list its functions in order."""
    text = "\n" * (line - 1) + segment
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `x is 1` is a candidate like any other
        module = compile(text, path, "exec", flags=flags, dont_inherit=True)
    found: list[CodeType] = []

    def walk(code: CodeType) -> None:
        for const in code.co_consts:
            if isinstance(const, CodeType):
                found.append(const)
                walk(const)

    walk(module)
    return found


class Overlay(importlib.abc.MetaPathFinder):
    """Imports of edited files get the edited text; imports of the original tree get the copy."""

    def __init__(self, sources: dict[str, str], moved: tuple[str, str] | None) -> None:
        self._sources = sources
        self._moved = moved

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Ask the other finders, then change where the module comes from."""
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return self._changed(fullname, spec)
        return None

    def _changed(
        self, fullname: str, spec: importlib.machinery.ModuleSpec
    ) -> importlib.machinery.ModuleSpec:
        origin = spec.origin
        if not origin or not origin.endswith(".py"):
            return spec
        place = self._relocated(origin)
        source = self._sources.get(place)
        if source is None and place == origin:
            return spec
        package = spec.submodule_search_locations is not None
        changed = importlib.util.spec_from_file_location(
            fullname,
            place,
            loader=_TextLoader(fullname, place, source) if source is not None else None,
            submodule_search_locations=[os.path.dirname(place)] if package else None,
        )
        return changed or spec

    def _relocated(self, origin: str) -> str:
        if self._moved is None:
            return origin
        old, new = self._moved
        if not origin.startswith(old + "/") or is_foreign(origin[len(old) :]):
            return origin
        place = new + origin[len(old) :]
        return place if os.path.exists(place) else origin


class _TextLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self._source = source.encode()

    def get_data(self, path: str | bytes) -> bytes:
        return self._source if path == self.path else super().get_data(path)  # type: ignore[arg-type]

    def get_code(self, fullname: str) -> CodeType | None:
        del fullname
        return compile(self._source, self.path, "exec", dont_inherit=True)


def is_foreign(path: str) -> bool:
    """Tell installed packages inside the project's directory from its own files."""
    parts = path.split("/")
    return "site-packages" in parts or "dist-packages" in parts


def relocate_sys_path(old: str, new: str) -> None:
    """Let entries that lead into the original tree (editable installs) lead into the copy."""
    for index, entry in enumerate(sys.path):
        if (entry == old or entry.startswith(old + "/")) and not is_foreign(entry):
            moved = new + entry[len(old) :]
            if os.path.isdir(moved):
                sys.path[index] = moved
