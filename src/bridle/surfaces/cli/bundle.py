"""The bytecode of what a command imports, in one file: a run needs some four hundred modules.

Looking each of them up, and opening and reading its file, takes as long as running its body. So a
command that did so leaves what it read in one file beside Python's own caches, and the next one
takes the code from there. Nothing else changes: the names on `sys.path` are looked for as ever,
only what lies within a package that was found comes from the file, and only while the source has
the size and the time of change that it had.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

    Entry = tuple[str, str, int, int, bool, CodeType]
    """Source, where Python caches it, time of change, size, whether a package, code."""

COMMANDS = frozenset({"run", "fix", "chat"})
"""What is started often and imports much."""
LEAST = 50
"""A command that ended early, such as for a wrong option, leaves nothing."""
SUFFIX = ".py"


class Loader(SourceFileLoader):
    """Has the code of a module already; all else is as Python does it."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        """Hand out the code once: a module that is loaded again is read again."""
        code, self._code = self._code, None
        return code if code is not None else super().get_code(fullname)


class Bundle:
    """A finder of modules, before all others on `sys.meta_path`."""

    def __init__(self, path: str, entries: dict[str, Entry]) -> None:
        self.path = path
        self._entries = entries

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module within a package, where its source did not change."""
        del target
        entry = self._entries.get(fullname)
        if entry is None or path is None:
            return None
        source, cached, _, _, is_package, code = entry
        folder = os.path.dirname(source)  # noqa: PTH120 - pathlib is not loaded here, and slow
        inside = os.path.dirname(folder) if is_package else folder  # noqa: PTH120
        if inside not in path or not _holds(entry):
            return None
        spec = ModuleSpec(fullname, Loader(fullname, source, code), origin=source)
        spec.submodule_search_locations = [folder] if is_package else None
        spec.has_location = True
        spec.cached = cached
        return spec

    def keep(self) -> None:
        """Write the file anew where modules were read that it does not have."""
        read = {
            name: entry
            for name, module in list(sys.modules.items())
            if "." in name and not self._has(name, module) and (entry := _entry(name, module))
        }
        if read and len(read) + len(self._entries) >= LEAST:
            held = {name: entry for name, entry in self._entries.items() if _holds(entry)}
            _write(self.path, marshal.dumps((_key(), held | read)))

    def _has(self, name: str, module: ModuleType) -> bool:
        if isinstance(getattr(module, "__loader__", None), Loader):
            return True
        entry = self._entries.get(name)
        return entry is not None and _holds(entry)


def install(command: str) -> Bundle | None:
    """Take modules from the bundle of a command from now on; None where there can be none."""
    if command not in COMMANDS or sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return None
    import bridle

    tag = f"{sys.implementation.cache_tag}{sys.flags.optimize or ''}"
    path = f"{bridle.__path__[0]}/__pycache__/{command}.{tag}.bundle"
    bundle = Bundle(path, _read(path))
    sys.meta_path.insert(0, bundle)
    return bundle


def _holds(entry: Entry) -> bool:
    """Whether the source is as it was."""
    try:
        found = os.stat(entry[0])  # noqa: PTH116
    except OSError:
        return False
    return (found.st_mtime_ns, found.st_size) == entry[2:4]


def _key() -> tuple[str, int]:
    return sys.version, sys.flags.optimize


def _read(path: str) -> dict[str, Entry]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            key, entries = marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        return {}  # none yet, or cut short: it is written again
    return entries if key == _key() else {}


def _entry(name: str, module: ModuleType) -> Entry | None:
    """What is kept of a module that Python itself read from a source file."""
    spec = getattr(module, "__spec__", None)
    loader = getattr(spec, "loader", None)
    if spec is None or not isinstance(loader, SourceFileLoader) or spec.cached is None:
        return None
    source = loader.path
    try:
        found = os.stat(source)  # noqa: PTH116
        code = loader.get_code(name)
    except (OSError, ImportError, SyntaxError):
        return None
    if code is None or spec.name != name or not source.endswith(SUFFIX):
        return None
    is_package = spec.submodule_search_locations is not None
    return source, spec.cached, found.st_mtime_ns, found.st_size, is_package, code


def _write(path: str, data: bytes) -> None:
    """Put a file in place as a whole; where it cannot be written, all goes on without."""
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "wb") as file:  # noqa: PTH123
            file.write(data)
        os.replace(draft, path)  # noqa: PTH105
    except OSError:
        return
