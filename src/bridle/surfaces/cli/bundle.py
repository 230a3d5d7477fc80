"""The bytecode of what a command imports, in one file: a run needs some five hundred modules.

Looking each of them up, and opening and reading its file, takes as long as running its body. So a
command that did so leaves what it read in one file beside Python's own caches, and the next one
takes the code from there. What is found is what Python would find: a module comes from the file
only where nothing before it on `sys.path` has its name, and its source has the size and the time of
change that it had.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from mmap import ACCESS_READ, mmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

    Entry = tuple[str, int, int, str | None, str, str | None, CodeType]
    """Source, time of change, size, where Python caches it, where it was found, its own directory
    for a package, code."""

LEAST = 50
"""A command that ended early, such as for a wrong option, leaves nothing."""
SUFFIX = ".py"
FORM = 3
"""Of the file; one of another form is not read."""

OWN = "/surfaces/cli"
ROOTS = tuple(
    os.path.join(root, "")  # noqa: PTH118 - pathlib is not loaded here
    for root in (sys.prefix, sys.base_prefix, os.path.dirname(__file__).removesuffix(OWN))  # noqa: PTH120
)
"""Where what is installed lies: Python, libraries, ourselves; nothing of a project."""


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
        self._loaded = frozenset(sys.modules)
        self._places: list[str] = []
        self._before: dict[str, set[str]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module where Python would, if its source did not change."""
        del target
        entry = self._entries.get(fullname)
        if entry is None:
            return None
        source, _, _, cached, place, package, code = entry
        found = place in path if path is not None else self._is_first(fullname, place)
        if not found or not _holds(entry):
            return None
        del self._entries[fullname]  # a module's own code is not needed after it ran
        spec = ModuleSpec(fullname, Loader(fullname, source, code), origin=source)
        spec.submodule_search_locations = None if package is None else [package]
        spec.has_location = True
        spec.cached = cached
        return spec

    def _is_first(self, name: str, folder: str) -> bool:
        """Whether no place before this one on `sys.path` may have a module of this name."""
        if self._places != sys.path:
            self._places, self._before = list(sys.path), _names_before(sys.path)
        return folder in self._before and name not in self._before[folder]

    def keep(self) -> None:
        """Write the file anew where modules were read that it does not have."""
        if not os.access(os.path.dirname(self.path), os.W_OK):  # noqa: PTH120
            return
        read = {
            name: entry
            for name, module in list(sys.modules.items())
            if not self._has(name, module) and (entry := _entry(name, module))
        }
        if not read:
            return
        entries = {name: entry for name, entry in _read(self.path).items() if _holds(entry)}
        if len(entries | read) >= LEAST:
            _write(self.path, marshal.dumps((_key(), entries | read)))

    def _has(self, name: str, module: ModuleType) -> bool:
        if name in self._loaded or isinstance(getattr(module, "__loader__", None), Loader):
            return True
        entry = self._entries.get(name)
        return entry is not None and _holds(entry)


def install(command: str) -> Bundle | None:
    """Take modules from the bundle of a command from now on; None where there can be none."""
    if sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return None
    import bridle

    tag = f"{sys.implementation.cache_tag}{sys.flags.optimize or ''}"
    path = f"{bridle.__path__[0]}/__pycache__/{command}.{tag}.bundle"
    bundle = Bundle(path, _read(path))
    sys.meta_path.insert(0, bundle)
    return bundle


def _names_before(places: Sequence[str]) -> dict[str, set[str]]:
    """For every directory on a path, the names in those before it; none after an archive."""
    found: dict[str, set[str]] = {}
    names: set[str] = set()
    for place in places:
        if place not in found:
            found[place] = set(names)
        try:
            names.update([name.partition(".")[0] for name in os.listdir(place or ".")])  # noqa: PTH208
        except FileNotFoundError:
            continue
        except OSError:
            break
    return found


def _holds(entry: Entry) -> bool:
    """Whether the source is as it was."""
    try:
        found = os.stat(entry[0])  # noqa: PTH116
    except OSError:
        return False
    return (found.st_mtime_ns, found.st_size) == entry[1:3]


def _key() -> tuple[int, str, int]:
    return FORM, sys.version, sys.flags.optimize


def _read(path: str) -> dict[str, Entry]:
    try:
        with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:  # noqa: PTH123
            key, entries = marshal.loads(data)
    except (OSError, ValueError, EOFError, TypeError):
        return {}  # none yet, or cut short: it is written again
    return entries if key == _key() else {}


def _entry(name: str, module: ModuleType) -> Entry | None:
    """What is kept of a module that Python itself read from a source file, not of a project."""
    spec = getattr(module, "__spec__", None)
    loader = getattr(spec, "loader", None)
    if spec is None or not isinstance(loader, SourceFileLoader) or spec.cached is None:
        return None
    source = loader.path
    if not source.endswith(SUFFIX) or not source.startswith(ROOTS):
        return None
    try:
        found = os.stat(source)  # noqa: PTH116
        code = loader.get_code(name)
    except (OSError, ImportError, SyntaxError):
        return None
    if code is None or spec.name != name:
        return None
    folder = sys.intern(os.path.dirname(source))  # noqa: PTH120 - pathlib is not loaded here
    about = source, found.st_mtime_ns, found.st_size, spec.cached
    if spec.submodule_search_locations is None:
        return *about, folder, None, code
    return *about, sys.intern(os.path.dirname(folder)), folder, code  # noqa: PTH120


def _write(path: str, data: bytes) -> None:
    """Put a file in place as a whole; where it cannot be written, all goes on without."""
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "wb") as file:  # noqa: PTH123
            file.write(data)
        os.replace(draft, path)  # noqa: PTH105
    except OSError:
        return
