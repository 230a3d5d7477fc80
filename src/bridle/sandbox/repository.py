"""The private git repository behind file snapshots.

Git runs on a repository of ours with the user's files as its work tree and the user's objects as
alternates. The user's index is copied once for its knowledge of what is unchanged. Nothing in the
user's repository is written, and git does not read its configuration: a filter, hook or file
monitor that a hostile repository names does not run.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
from typing import TYPE_CHECKING

import anyio

from bridle.errors import RunError, ToolError
from bridle.types.base import Fact, Fixed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bridle.ports.processes import Processes, Stream

CONFIG = """[core]
	repositoryformatversion = 0
	bare = false
	fsmonitor = false
	hooksPath = /dev/null
	autocrlf = false
	safecrlf = false
	untrackedCache = false
	splitIndex = false
	sparseCheckout = false
	looseCompression = 1
	fsync = none
	fsyncObjectFiles = false
	bigFileThreshold = 16m
	preloadIndex = true
[index]
	sparse = false
[feature]
	manyFiles = false
[gc]
	auto = 0
[maintenance]
	auto = false
[diff]
	external =
	ignoreSubmodules = all
[submodule]
	recurse = false
[protocol]
	allow = never
[advice]
	addEmbeddedRepo = false
"""
ATTRIBUTES = "* -text -filter -ident -working-tree-encoding\n"
"""Bytes are stored as they are; this file wins over every .gitattributes."""

NOT_COVERED = (
    "node_modules/", ".venv/", "venv/", "__pycache__/", ".tox/", ".nox/", ".mypy_cache/",
    ".ruff_cache/", ".pytest_cache/", ".gradle/", ".cache/",
)  # fmt: skip
"""What is left out where there is no git repository whose ignore files would say so."""

TIMEOUT = 300.0
LOCK_TIMEOUT = 60.0


class Source(Fact, frozen=True, kw_only=True):
    """The user's repository: its top directory, and what of it may be read."""

    top: str
    objects: str = ""
    index: str = ""
    exclude: str = ""


def find_source(root: str) -> Source:
    """The repository that a workspace lies in; without one, the workspace itself is the top."""
    directory = root
    while True:
        found = _source_at(directory)
        if found is not None:
            return found
        parent = os.path.dirname(directory)
        if parent == directory:
            return Source(top=root)
        directory = parent


def _source_at(top: str) -> Source | None:
    """The repository of one directory, when it is a plain one or a worktree that is named back."""
    git = os.path.join(top, ".git")
    common = git
    if os.path.isfile(git):
        git = os.path.join(top, read_text(git).removeprefix("gitdir:").strip())
        back = read_text(os.path.join(git, "gitdir"))
        if not back or os.path.realpath(os.path.join(git, back)) != os.path.realpath(
            os.path.join(top, ".git")
        ):
            return None
        common = os.path.realpath(os.path.join(git, read_text(os.path.join(git, "commondir"))))
    elif os.path.lexists(os.path.join(git, "commondir")):
        return None
    objects = os.path.join(common, "objects")
    if not os.path.isdir(objects) or not os.path.isfile(os.path.join(git, "HEAD")):
        return None
    if "objectformat" in read_text(os.path.join(common, "config")).lower() or "\n" in objects:
        return Source(top=top)
    return Source(
        top=top,
        objects=objects,
        index=os.path.join(git, "index"),
        exclude=os.path.join(common, "info", "exclude"),
    )


class Repository(Fixed, frozen=True):
    """Runs git in the private repository of one workspace, kept under `state`."""

    source: Source
    directory: str
    state: str
    processes: Processes

    @classmethod
    def at(cls, root: str, *, state: str, processes: Processes) -> Repository:
        """The private repository for a workspace; made when it does not exist."""
        source = find_source(os.path.realpath(root))
        name = hashlib.sha256(os.fsencode(source.top)).hexdigest()[:32]
        directory = os.path.join(state, "checkpoints", name)
        repository = cls(source, directory, os.path.realpath(state), processes)
        repository.prepare()
        return repository

    def prepare(self) -> None:
        """Make or renew the private repository's files."""
        for part in ("objects/info", "refs", "info", "tmp"):
            os.makedirs(os.path.join(self.directory, part), exist_ok=True)
        os.chmod(self.directory, 0o700)
        excluded = "" if self.source.objects else "\n".join(NOT_COVERED) + "\n"
        if self.source.exclude:
            excluded += read_text(self.source.exclude) + "\n"
        if self.state.startswith(self.source.top + os.sep):  # else a snapshot would hold itself
            excluded += "/" + _escaped(os.path.relpath(self.state, self.source.top)) + "/\n"
        alternates = self.source.objects + "\n" if self.source.objects else ""
        self._put("HEAD", "ref: refs/heads/none\n")
        self._put("config", CONFIG)
        self._put("info/attributes", ATTRIBUTES)
        self._put("info/exclude", excluded)
        self._put("objects/info/alternates", alternates)

    @property
    def index(self) -> str:
        """The private index."""
        return os.path.join(self.directory, "index")

    async def git(
        self, *arguments: str, stdin: bytes = b"", codes: Sequence[int] = (0,)
    ) -> tuple[int, bytes]:
        """Run git; its exit code and output. Raises `RunError` for a code that is not expected."""
        argv = (
            "git", f"--git-dir={self.directory}", f"--work-tree={self.source.top}",
            "--literal-pathspecs", "--no-pager", *arguments,
        )  # fmt: skip
        said: dict[Stream, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

        async def take(stream: Stream, data: bytes) -> None:
            said[stream] += data

        async def feed() -> None:
            with contextlib.suppress(BrokenPipeError):
                await process.send(stdin)
            process.close_stdin()

        try:
            async with self.processes.open(
                argv, sandbox=None, cwd=self.source.top, stderr="separate"
            ) as process:
                with anyio.fail_after(TIMEOUT):
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(feed)
                        await process.drain(take)
                    ended = await process.wait()
        except ToolError as error:
            raise RunError(f"snapshots need git: {error.message}") from error
        except TimeoutError as error:
            raise RunError(f"git {arguments[0]} took longer than {TIMEOUT:g} s") from error
        if ended.code not in codes:
            lines = said["stderr"].decode("utf-8", "replace").splitlines()
            why = "; ".join(line for line in lines if not line.startswith("warning:"))
            if "bad object" in why:
                raise RunError("the files that were saved then are not kept any more (bridle gc)")
            raise RunError(f"git {arguments[0]} failed in the snapshot store: {why}")
        return ended.code, bytes(said["stdout"])

    @contextlib.asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Hold the store, against other processes too; what a killed git left is removed."""
        fd = os.open(os.path.join(self.directory, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with anyio.fail_after(LOCK_TIMEOUT):
                while True:
                    try:
                        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        await anyio.sleep(0.01)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.index}.lock")
            yield
        finally:
            os.close(fd)

    def _put(self, name: str, text: str) -> None:
        path = os.path.join(self.directory, name)
        if read_text(path) != text.strip():
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)


def _escaped(path: str) -> str:
    """A path as git reads it in an ignore file."""
    return re.sub(r"([\\*?\[ ])", r"\\\1", path)


def read_text(path: str) -> str:
    """The text of a small file without its outer white space; empty when there is none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""
