"""Keys that the user stored with `bridle connect`: in the keyring, else in files of mode 0600.

One small file per provider says where its key is, so the keyring (slow to import, and it may ask
the user) is touched only for a key that is really there.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from bridle.errors import ConfigError
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from pathlib import Path

Place = Literal["keyring", "file"]
SERVICE = "bridle"


class Stored(msgspec.Struct, frozen=True):
    """A key and where it was found; the representation does not show it."""

    key: str
    place: Place

    def __repr__(self) -> str:
        return f"Stored(…, {self.place!r})"


class _Record(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The content of a provider's file; without a key, the keyring has it."""

    place: Place
    key: str | None = None


class Keyring(Protocol):
    """The part of the package `keyring` that is used."""

    def get_password(self, service_name: str, username: str) -> str | None:
        """Read a key."""
        ...

    def set_password(self, service_name: str, username: str, password: str) -> None:
        """Store a key."""
        ...

    def delete_password(self, service_name: str, username: str) -> None:
        """Forget a key."""
        ...


class Keys(Fixed, frozen=True):
    """The stored keys, below `<config>/keys`. `keyring` None: found when it is needed."""

    directory: Path
    keyring: Keyring | None = None

    def load(self, provider: str) -> Stored | None:
        """The key of a provider; `ConfigError` when its file is broken or open to others."""
        path = self._path(provider)
        try:
            mode = path.stat().st_mode
            raw = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"Cannot read the stored key {path}: {error.strerror}.") from error
        if os.name == "posix" and mode & 0o077:
            raise ConfigError(f"{path} can be read by others; run: chmod 600 {path}")
        try:
            record = msgspec.json.decode(raw, type=_Record)
        except msgspec.DecodeError as error:
            raise ConfigError(
                f"{path} is damaged; run `bridle connect {provider}` again."
            ) from error
        if record.place == "file":
            return Stored(record.key, "file") if record.key else None
        ring = self.keyring or find_keyring()
        if ring is None:
            raise ConfigError(
                f"The key of {provider} is in the keyring, which is not available here. "
                f"Set its variable, or run `bridle connect {provider}` again."
            )
        try:
            key = ring.get_password(SERVICE, provider)
        except Exception as error:
            raise ConfigError(f"The keyring did not give the key of {provider}: {error}") from error
        return Stored(key, "keyring") if key else None

    def store(self, provider: str, key: str) -> Place:
        """Keep a key and say where: in the keyring if one works, else in a file. Atomic."""
        key = check_key(key)
        path = self._path(provider)
        ring = self.keyring or find_keyring()
        if ring is not None and _put(ring, provider, key):
            self._write(path, _Record(place="keyring"))
            return "keyring"
        self._write(path, _Record(place="file", key=key))
        return "file"

    def forget(self, provider: str) -> bool:
        """Remove a key; False when there was none, `ConfigError` when it is still there after."""
        path = self._path(provider)
        if not path.exists():
            return False
        try:
            in_ring = msgspec.json.decode(path.read_bytes(), type=_Record).place == "keyring"
        except msgspec.DecodeError:  # a damaged file is only to go away
            in_ring = False
        if in_ring:
            _drop(self.keyring or find_keyring(), provider)
        path.unlink(missing_ok=True)
        return True

    def names(self) -> list[str]:
        """The providers that have a stored key."""
        if not self.directory.is_dir():
            return []
        return sorted(p.stem for p in self.directory.glob("*.json"))

    def _path(self, provider: str) -> Path:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", provider):
            raise ConfigError(f"{provider!r} is not a provider's name.")
        return self.directory / f"{provider}.json"

    def _write(self, path: Path, record: _Record) -> None:
        import tempfile

        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.directory, prefix=".key-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(msgspec.json.encode(record))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, path)  # noqa: PTH105 - the temporary file is a plain name
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)  # noqa: PTH108
                raise
        except OSError as error:
            raise ConfigError(f"Cannot store the key in {path}: {error.strerror}.") from error


def check_key(key: str) -> str:
    """A key as it can stand in a header; `ConfigError` says what is wrong, without showing it."""
    key = key.strip()
    if not key:
        raise ConfigError("The key is empty.")
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ConfigError("The key holds spaces or characters that no key has; paste it again.")
    return key


def find_keyring() -> Keyring | None:
    """The user's keyring, when the package is installed and has a backend that works."""
    try:
        import keyring
        from keyring.backends import fail
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring) else backend


def _put(ring: Keyring, provider: str, key: str) -> bool:
    """Store and read back: a keyring that is locked or broken must not lose the key."""
    try:
        ring.set_password(SERVICE, provider, key)
        return ring.get_password(SERVICE, provider) == key
    except Exception:  # noqa: BLE001 - backends raise what they like; the file is the way out
        return False


def _drop(ring: Keyring | None, provider: str) -> None:
    if ring is None:
        raise ConfigError(f"The key of {provider} is in the keyring, which is not available here.")
    try:
        if ring.get_password(SERVICE, provider) is not None:  # many raise where there is none
            ring.delete_password(SERVICE, provider)
    except Exception as error:
        raise ConfigError(f"The keyring did not drop the key of {provider}: {error}") from error
