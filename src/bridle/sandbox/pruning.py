"""Drop what no kept snapshot needs from the private repositories behind them.

Three things are roots: the trees that are named as kept, the private index, and everything that was
written since a moment. An object that a root reaches stays, so a snapshot is whole or gone.
"""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.errors import RunError
from bridle.sandbox.repository import Repository, Source
from bridle.types.base import Fact

if TYPE_CHECKING:
    from collections.abc import Collection

    from bridle.ports.processes import Processes

HEADER = "# pack-refs with: \n"


class Pruned(Fact, frozen=True, kw_only=True):
    """What was dropped from one repository, or would be; `problem` when it was left alone."""

    directory: str
    objects: int = 0
    bytes: int = 0
    whole: bool = False
    problem: str | None = None


async def prune(
    directory: str, keep: Collection[str], *, before: float, dry_run: bool, processes: Processes
) -> Pruned:
    """Drop what was written before a moment and what none of the kept trees reaches."""
    repository = Repository(Source(top=directory), directory, directory, processes)
    try:
        async with repository.locked():
            return await _prune(repository, keep, before=before, dry_run=dry_run)
    except (RunError, TimeoutError) as error:
        return Pruned(directory=directory, problem=str(error) or "it is in use")


async def _prune(
    repository: Repository, keep: Collection[str], *, before: float, dry_run: bool
) -> Pruned:
    directory = repository.directory
    have = await _present(repository, keep)
    files, newest = _survey(directory)
    if not have and newest < before:
        size = sum(path.stat().st_size for path in files)
        if not dry_run:
            shutil.rmtree(directory)
        return Pruned(directory=directory, objects=_objects(files), bytes=size, whole=True)
    _name_roots(directory, have)
    try:
        moment = datetime.fromtimestamp(before, UTC).strftime("%Y-%m-%d %H:%M:%S +0000")
        _, listing = await repository.git("prune", "-n", f"--expire={moment}")
        names = [line.split(" ")[0] for line in listing.decode().splitlines() if line]
        size = sum(_size(directory, name) for name in names)
        if names and not dry_run:
            await repository.git("prune", f"--expire={moment}")
    finally:
        _name_roots(directory, set())
    return Pruned(directory=directory, objects=len(names), bytes=size)


def _survey(directory: str) -> tuple[list[Path], float]:
    """The files of a repository, and when the last of them was written."""
    files = [path for path in Path(directory).rglob("*") if path.is_file()]
    written = (path.stat().st_mtime for path in files if path.name not in ("lock", "packed-refs"))
    return files, max(written, default=0.0)


def _name_roots(directory: str, trees: set[str]) -> None:
    """Give the trees names, so that git takes them as needed; none removes the names."""
    refs = Path(directory, "packed-refs")
    if trees:
        refs.write_text(HEADER + "".join(f"{name} refs/keep/{name}\n" for name in sorted(trees)))
    else:
        refs.unlink(missing_ok=True)


async def _present(repository: Repository, trees: Collection[str]) -> set[str]:
    """Those of the trees that are in this repository."""
    if not trees:
        return set()
    asked = "".join(f"{name}\n" for name in sorted(trees)).encode()
    _, listing = await repository.git("cat-file", "--batch-check", stdin=asked)
    found = [line.split(" ") for line in listing.decode().splitlines()]
    return {words[0] for words in found if words[1:2] == ["tree"]}


def _objects(files: list[Path]) -> int:
    return sum(len(path.parent.name) == 2 and len(path.name) == 38 for path in files)


def _size(directory: str, name: str) -> int:
    try:
        return os.stat(os.path.join(directory, "objects", name[:2], name[2:])).st_size
    except OSError:
        return 0
