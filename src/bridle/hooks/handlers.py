"""Python handlers by name: found without running anything, loaded only when they may run."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridle.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")


def find_handler(name: str, root: Path | None) -> Path | None:
    """The file that a handler is in, if that is a file; raises `ConfigError` when there is none.

    Nothing is imported: a project's code is looked for before it is trusted.
    """
    read = _NAME.fullmatch(name)
    if read is None:
        raise ConfigError(f"The handler {name!r} is not of the form module:function.")
    module, function = read.groups()
    path = next(_files(module, root), None)
    if path is None:
        if module.partition(".")[0] in sys.builtin_module_names:
            return None
        raise ConfigError(f"The handler {name!r} cannot be found: there is no module {module!r}.")
    if function not in _top_names(path):
        raise ConfigError(f"The handler {name!r} cannot be found: {path} has no {function!r}.")
    return path


def load_handler(name: str, root: Path | None) -> Callable[..., Any]:
    """Import a handler; a project's directory is the last place where modules are looked for."""
    if root is not None and str(root) not in sys.path:
        sys.path.append(str(root))
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"The handler {name!r} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise ConfigError(f"The handler {name!r} is not a function.")
    return found  # type: ignore[no-any-return]


def _files(module: str, root: Path | None) -> Iterator[Path]:
    places = [*(Path(place) for place in sys.path if place), *([root] if root is not None else [])]
    parts = module.split(".")
    for place in places:
        for path in (
            place.joinpath(*parts[:-1], f"{parts[-1]}.py"),
            place.joinpath(*parts, "__init__.py"),
        ):
            if path.is_file():
                yield path


def _top_names(path: Path) -> set[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case _:
                pass
    return names
