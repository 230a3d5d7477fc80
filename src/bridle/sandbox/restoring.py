"""The way back: what stands at each changed path now, what to do there, and doing it."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Literal

import msgspec

from bridle.errors import RunError, ToolError
from bridle.sandbox import files
from bridle.sandbox.files import FileAccess
from bridle.sandbox.objects import Blob, blob_id
from bridle.sandbox.walk import Root, reach
from bridle.types.base import Fact, Fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.sandbox.repository import Repository

BEHIND_LINK = "a directory on its way is a link now"
NO_FILE = "something else than a file stands there now"
LINK, FILE, PROGRAM, MODULE = "120000", "100644", "100755", "160000"


class Change(Fact, frozen=True, kw_only=True):
    """One path that differs between two trees; an empty mode means that it is not there."""

    path: str
    status: Literal["added", "modified", "deleted"]
    before: Blob
    after: Blob


class Conflict(Fact, frozen=True, kw_only=True):
    """A path that was left as it is, and why."""

    path: str
    why: str


class Restored(Fact, frozen=True, kw_only=True):
    """What a restore did: put back, merged with later edits, or left alone."""

    restored: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


class Found(Fixed, frozen=True):
    """What stands at a path now: mode and content, or nothing; `problem` when it cannot be told."""

    path: str
    mode: str = ""
    data: bytes | None = None
    problem: str = ""


class Step(Fixed, frozen=True):
    """What to do with one path: write `data`, delete it, or leave it alone."""

    path: str
    action: Literal["write", "delete", "merge", "nothing", "conflict"]
    mode: str = ""
    data: bytes = b""
    base: bytes = b""
    now: bytes = b""
    why: str = ""
    merged: bool = False


async def contents(repository: Repository, changes: Sequence[Change]) -> dict[str, bytes]:
    """The content of all objects that a restore needs, by id, in one run of git."""
    ids = {
        blob.id
        for change in changes
        for blob in (change.before, change.after)
        if blob.mode and blob.mode != MODULE
    }
    if not ids:
        return {}
    _, data = await repository.git(
        "cat-file", "--batch", stdin=b"".join(name.encode() + b"\n" for name in sorted(ids))
    )
    found: dict[str, bytes] = {}
    at = 0
    for _ in ids:
        end = data.index(b"\n", at)
        name, kind, *size = data[at:end].decode().split(" ")
        if kind == "missing":
            raise RunError(f"the snapshot is incomplete: object {name} is gone")
        length = int(size[0])
        found[name] = data[end + 1 : end + 1 + length]
        at = end + length + 2
    return found


def current(roots: Sequence[Root], path: str) -> Found:
    """Look at a path without following links below the root."""
    try:
        with reach(roots, path, follow_last=False) as place:
            inner = "/".join([*place.parts, place.name])
            if not path.startswith("/") and inner != os.path.normpath(path):
                return Found(inner, problem=BEHIND_LINK)
            status = place.status()
            if status is None:
                return Found(inner)
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(place.name, dir_fd=place.directory)
                return Found(inner, LINK, os.fsencode(target))
            if not stat.S_ISREG(status.st_mode):
                return Found(inner, problem=NO_FILE)
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            fd = os.open(place.name, flags, dir_fd=place.directory)
            with open(fd, "rb") as file:
                mode = PROGRAM if status.st_mode & stat.S_IXUSR else FILE
                return Found(inner, mode, file.read())
    except (FileNotFoundError, NotADirectoryError):
        return Found(os.path.normpath(path))
    except OSError as error:
        return Found(path, problem=error.strerror or str(error))
    except ToolError as error:
        return Found(path, problem=error.message)


def touched(roots: Sequence[Root], path: str) -> list[Found]:
    """What a tool that is given this path may change: the entry itself and where it leads."""
    found: dict[str, Found] = {}
    root = roots[0].real.rstrip("/") + "/"
    with contextlib.suppress(ToolError):
        here = current(roots, path)
        found[here.path] = here
        there = FileAccess(tuple(roots)).resolve(path)
        if there.startswith(root):
            inner = there.removeprefix(root)
            found[inner] = current(roots, inner)
    return list(found.values())


def plan(root: str, changes: Sequence[Change], blobs: dict[str, bytes]) -> list[Step]:
    """Decide for each path by comparing what stands there now with both trees."""
    roots = (Root(root, root),)
    steps = [_step(current(roots, change.path), change, blobs) for change in changes]
    going = {step.path for step in steps if step.action == "delete"}
    return [
        _behind(step, change, going, blobs) if step.why == BEHIND_LINK else step
        for step, change in zip(steps, changes, strict=True)
    ]


def _behind(step: Step, change: Change, going: set[str], blobs: dict[str, bytes]) -> Step:
    """A file is put back where a directory stood that is a link now, if that link goes."""
    parent = os.path.dirname(step.path)
    while parent and parent not in going:
        parent = os.path.dirname(parent)
    if not parent or change.before.mode or not change.after.mode:
        return step
    data = blobs.get(change.after.id, b"")
    return Step(step.path, "write", mode=change.after.mode, data=data)


def _step(now: Found, change: Change, blobs: dict[str, bytes]) -> Step:
    path = change.path
    if MODULE in (change.before.mode, change.after.mode):
        return Step(path, "conflict", why="nested repositories are not covered")
    held = (now.mode, blob_id(now.data) if now.data is not None else "")
    before = (change.before.mode, change.before.id if change.before.mode else "")
    after = (change.after.mode, change.after.id if change.after.mode else "")
    data = blobs.get(change.after.id, b"")
    if not now.problem and held == after:
        return Step(path, "nothing")
    if not now.problem and held == before:
        if not change.after.mode:
            return Step(path, "delete")
        return Step(path, "write", mode=change.after.mode, data=data)
    if now.problem == NO_FILE and not change.before.mode:
        return Step(path, "write", mode=change.after.mode, data=data)  # a directory of ours, gone
    if now.problem:
        return Step(path, "conflict", why=now.problem)
    regular = {now.mode, change.before.mode, change.after.mode} <= {FILE, PROGRAM}
    if regular and now.data is not None:
        base = blobs.get(change.before.id, b"")
        mode = change.after.mode if now.mode == change.before.mode else now.mode
        if now.data == base:
            return Step(path, "write", mode=mode, data=data, merged=True)
        return Step(
            path, "merge", mode=mode, data=data, base=base, now=now.data,
            why="it was edited since, in the same place",
        )  # fmt: skip
    if not now.mode:
        return Step(path, "conflict", why="it was deleted since")
    return Step(path, "conflict", why="it was changed since")


async def merge(repository: Repository, steps: Sequence[Step]) -> list[Step]:
    """Turn each merge into a write of the merged text, or into a conflict."""
    done: list[Step] = []
    for step in steps:
        if step.action != "merge":
            done.append(step)
            continue
        if any(b"\0" in data for data in (step.now, step.base, step.data)):
            done.append(
                msgspec.structs.replace(
                    step, action="conflict", why="it was changed since, not text"
                )
            )
            continue
        names = _spread(os.path.join(repository.directory, "tmp"), step)
        code, text = await repository.git("merge-file", "-p", *names, codes=range(256))
        if code == 0:
            done.append(msgspec.structs.replace(step, action="write", data=text, merged=True))
        else:
            done.append(msgspec.structs.replace(step, action="conflict"))
    return done


def _spread(directory: str, step: Step) -> list[str]:
    names = [os.path.join(directory, name) for name in ("now", "base", "to")]
    for name, data in zip(names, (step.now, step.base, step.data), strict=True):
        with open(name, "wb") as file:
            file.write(data)
    return names


def apply(root: str, steps: Sequence[Step]) -> Restored:
    """Do it: deletions first, so that a file can stand where a directory stood."""
    roots = (Root(root, root),)
    done: dict[str, list[str]] = {"restored": [], "merged": []}
    conflicts: list[Conflict] = []
    for step in sorted(steps, key=lambda step: (step.action != "delete", step.path)):
        try:
            match step.action:
                case "delete":
                    _delete(roots, step.path)
                    done["restored"].append(step.path)
                case "write":
                    _write(roots, step)
                    done["merged" if step.merged else "restored"].append(step.path)
                case "nothing":
                    pass  # it is so already
                case "merge" | "conflict":
                    conflicts.append(Conflict(path=step.path, why=step.why))
        except (OSError, ToolError) as error:
            why = getattr(error, "strerror", None) or str(error)
            conflicts.append(Conflict(path=step.path, why=why))
    return Restored(
        restored=tuple(sorted(done["restored"])),
        merged=tuple(done["merged"]),
        conflicts=tuple(conflicts),
    )


def _write(roots: Sequence[Root], step: Step) -> None:
    with reach(roots, step.path, may_make=lambda _: True, follow_last=False) as place:
        before = place.status()
        if step.mode == LINK:
            temporary = files.temporary_name()
            os.symlink(os.fsdecode(step.data), temporary, dir_fd=place.directory)
            files.move(place, temporary)
            return
        if before is not None and not stat.S_ISREG(before.st_mode):
            before = None
        kept = stat.S_IMODE(before.st_mode) if before else 0o666 & ~_umask()
        mode = kept | (kept & 0o444) >> 2 if step.mode == PROGRAM else kept & ~0o111
        files.replace(place, step.data, before=before, mode=mode)


def _delete(roots: Sequence[Root], path: str) -> None:
    """Remove a file, and the directories that only it kept."""
    with reach(roots, path, follow_last=False) as place:
        os.unlink(place.name, dir_fd=place.directory)
    parent = os.path.dirname(path)
    with contextlib.suppress(OSError, ToolError):
        while parent:
            with reach(roots, parent, follow_last=False) as place:
                os.rmdir(place.name, dir_fd=place.directory)
            parent = os.path.dirname(parent)


def _umask() -> int:
    """The umask, read without setting it where the system tells."""
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022
