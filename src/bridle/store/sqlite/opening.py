"""Open a database file: create it, bring its tables up to date, mend what can be mended."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from typing import TYPE_CHECKING

from bridle.errors import StoreError
from bridle.ports.clock import iso
from bridle.store.schema import MIGRATIONS
from bridle.store.sqlite import read
from bridle.store.sqlite.pages import WAL_HEADER, logged_pages, torn_bytes
from bridle.types.chain import first_break

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridle.ports.clock import Clock

BUSY_SECONDS = 30.0
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


log = logging.getLogger("bridle.store")


class Database:
    """A file that lanes connect to, or memory; `notices` tells what was dropped to open it."""

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._opening = threading.Lock()
        self._checked = False
        self.notices: list[str] = []

    def connect(self) -> sqlite3.Connection:
        """Another connection; the first one makes sure that the file is whole."""
        if self._path is None:
            db = sqlite3.connect(":memory:", isolation_level=None)
            migrate(db)
            return db
        with self._opening:
            if self._checked:
                return connect(self._path)
            stamp = iso(self._clock.now()).replace(":", "")
            db, told = connect_checked(self._path, stamp=stamp)
            self._checked = True
        for notice in told:
            log.warning("%s", notice)
        self.notices.extend(told)
        return db

    def failure(self, error: sqlite3.Error) -> StoreError:
        """What an error of SQLite means for its user."""
        why = damage(error)
        if why is None or self._path is None:
            return StoreError(f"The store failed: {error}")
        with contextlib.suppress(OSError):
            mark_damaged(self._path)
        return StoreError(
            f"The store {self._path} is damaged ({why}). Stop what uses it and start again: the "
            "file is then set aside and every complete record is kept."
        )


def connect(path: Path) -> sqlite3.Connection:
    """Connect to a file in WAL mode, with all tables."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600, exist_ok=True)
    except OSError as error:
        raise StoreError(f"The store {path} cannot be opened: {error}") from error
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        db.execute("pragma journal_mode = wal")
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def connect_checked(path: Path, *, stamp: str) -> tuple[sqlite3.Connection, list[str]]:
    """Connect for the first time: a damaged database is salvaged; returns what to tell the user."""
    why = _suspicion(path)
    torn = torn_bytes(_wal(path))
    if why is None:
        try:
            db = connect(path)
        except sqlite3.DatabaseError as error:
            why = damage(error)
            if why is None:
                raise
        else:
            if not _pages_are_missing(db, path):
                return db, _torn_notice(db, path) if torn else []
            db.close()
            why = "its end is missing"
    return _salvaged(path, why, stamp)


def damage(error: BaseException) -> str | None:
    """What is wrong with the file itself, when that is what an error says."""
    code = getattr(error, "sqlite_errorcode", None)
    return str(error) if code is not None and code & 0xFF in DAMAGE else None


def mark_damaged(path: Path) -> None:
    """Have the file looked at as a whole when it is opened next."""
    _marker(path).touch(mode=0o600)


def migrate(db: sqlite3.Connection, steps: Sequence[str] = MIGRATIONS) -> None:
    """Bring the tables up to date; a newer database than this program is refused."""
    version = _version(db)
    if version == len(steps):
        db.execute("select count(*) from sqlite_master")  # a damaged file shows itself here
        return
    if version > len(steps):
        raise StoreError(
            f"The store was written by a newer Bridle (schema {version}, this one knows "
            f"{len(steps)}). Update Bridle."
        )
    db.execute("begin immediate")
    try:
        _refuse_strangers(db)
        for number in range(_version(db), len(steps)):  # another process may have begun
            for statement in steps[number].split(";"):
                if statement.strip():
                    db.execute(statement)
            db.execute(f"pragma user_version = {number + 1}")
        db.execute("commit")
    except BaseException:
        if db.in_transaction:  # a full disk has ended it, and is what must be told
            db.execute("rollback")
        raise


def _refuse_strangers(db: sqlite3.Connection) -> None:
    tables = db.execute("select count(*) from sqlite_master").fetchone()[0]
    if _version(db) == 0 and tables:
        raise StoreError("The store is a database of another program; name another file.")


def _salvaged(path: Path, why: str, stamp: str) -> tuple[sqlite3.Connection, list[str]]:
    from bridle.store.sqlite.salvage import finish, salvage, salvaging

    with salvaging(path):
        finish(path)
        still = _damage_now(path)  # another process may have been here first
        told = [salvage(path, why, stamp=stamp, create=_create)] if still is not None else []
        _marker(path).unlink(missing_ok=True)
    return connect(path), told


def _suspicion(path: Path) -> str | None:
    """Why a file must not simply be opened."""
    if _marker(path).exists():
        return "it was found damaged while it was used"
    size = path.stat().st_size if path.exists() else 0
    wal = _wal(path)
    if size == 0 and wal.exists() and wal.stat().st_size > WAL_HEADER:
        return "it is empty, but its write-ahead log is not"  # SQLite would delete the log
    if size == 0 and path.with_name(f"{path.name}.salvaged").exists():
        return "its salvage was interrupted"
    return None


def _pages_are_missing(db: sqlite3.Connection, path: Path) -> bool:
    """Whether pages that the database counts are neither in the file nor in its log."""
    (count,) = db.execute("pragma page_count").fetchone()
    (size,) = db.execute("pragma page_size").fetchone()
    present = path.stat().st_size // size
    return count > present and not logged_pages(_wal(path)).issuperset(
        range(present + 1, count + 1)
    )


def _damage_now(path: Path) -> str | None:
    """Look at all of a file: its pages, and the chain of every log."""
    size = path.stat().st_size if path.exists() else 0
    if size == 0 and _wal(path).exists():
        return "it is empty"
    try:
        db = connect(path)
        try:
            found = db.execute("pragma quick_check(1)").fetchone()[0]
            if found == "ok":
                found = _broken_log(db) or "ok"
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        found = damage(error)
        if found is None:
            raise
    return None if found == "ok" else str(found)


def _broken_log(db: sqlite3.Connection) -> str | None:
    for name, seq, head in db.execute("select id, head_seq, head_hash from threads").fetchall():
        if first_break(read.records(db, name), head=(seq, head)) is not None:
            return f"the log of {name} was changed"
    return None


def _torn_notice(db: sqlite3.Connection, path: Path) -> list[str]:
    """Under the writer's lock nobody writes: what has no end now was cut."""
    db.execute("begin immediate")
    try:
        torn = torn_bytes(_wal(path))
    finally:
        db.execute("rollback")
    if not torn:
        return []
    return [
        f"The last {torn} bytes of {path.name}-wal are of a write that was cut before its end. "
        "They are dropped; every complete record is kept."
    ]


def _create(path: Path) -> None:
    connect(path).close()


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _marker(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("pragma user_version").fetchone()[0])
