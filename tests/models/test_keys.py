"""Stored keys: where they go, who may read them, and what happens when that fails."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bridle.errors import ConfigError
from bridle.models.keys import Keys, Stored, check_key


class MemoryRing:
    """A keyring in memory; `broken` refuses to store."""

    def __init__(self, *, broken: bool = False) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self.broken = broken

    def get_password(self, service_name: str, username: str) -> str | None:
        if self.broken:
            raise RuntimeError("locked")
        return self.held.get((service_name, username))

    def set_password(self, service_name: str, username: str, password: str) -> None:
        if self.broken:
            raise RuntimeError("locked")
        self.held[service_name, username] = password

    def delete_password(self, service_name: str, username: str) -> None:
        del self.held[service_name, username]


def test_a_key_goes_to_a_private_file_without_a_keyring(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "config/keys", keyring=MemoryRing(broken=True))
    assert keys.store("openai", "  sk-1\n") == "file"
    path = tmp_path / "config/keys/openai.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert keys.load("openai") == Stored("sk-1", "file")
    assert keys.names() == ["openai"]


def test_a_new_key_replaces_the_old_and_leaves_nothing_behind(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    for key in ("one", "two"):
        keys.store("openai", key)
    assert keys.load("openai") == Stored("two", "file")
    assert [p.name for p in tmp_path.iterdir()] == ["openai.json"]


def test_the_keyring_holds_the_key_and_the_file_only_says_so(tmp_path: Path) -> None:
    ring = MemoryRing()
    keys = Keys(tmp_path, keyring=ring)
    assert keys.store("anthropic", "sk-2") == "keyring"
    assert "sk-2" not in (tmp_path / "anthropic.json").read_text()
    assert keys.load("anthropic") == Stored("sk-2", "keyring")
    assert keys.forget("anthropic")
    assert ring.held == {}
    assert keys.load("anthropic") is None


def test_a_keyring_that_fails_later_says_so(tmp_path: Path) -> None:
    ring = MemoryRing()
    Keys(tmp_path, keyring=ring).store("anthropic", "sk-2")
    ring.broken = True
    with pytest.raises(ConfigError, match="keyring did not give the key of anthropic: locked"):
        Keys(tmp_path, keyring=ring).load("anthropic")


def test_a_key_that_the_keyring_keeps_is_not_said_to_be_forgotten(tmp_path: Path) -> None:
    ring = MemoryRing()
    keys = Keys(tmp_path, ring)
    keys.store("anthropic", "sk-1")
    ring.broken = True
    with pytest.raises(ConfigError, match="did not drop the key of anthropic: locked"):
        keys.forget("anthropic")
    ring.broken = False
    assert keys.load("anthropic") is not None
    assert keys.forget("anthropic")
    assert keys.load("anthropic") is None
    keys.store("anthropic", "sk-1")
    ring.held.clear()  # somebody else dropped it
    assert keys.forget("anthropic")


def test_forgetting_and_missing_keys(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "none")
    assert keys.load("openai") is None
    assert keys.names() == []
    assert not keys.forget("openai")
    keys.store("openai", "k")
    assert keys.forget("openai")
    assert keys.load("openai") is None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    keys = Keys(tmp_path)
    keys.store("openai", "k")
    os.chmod(tmp_path / "openai.json", mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        keys.load("openai")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"place": "moon"}', '{"key": "x"}'])
def test_a_damaged_file_says_what_to_do(tmp_path: Path, text: str) -> None:
    keys = Keys(tmp_path)
    keys.store("openai", "k")
    (tmp_path / "openai.json").write_text(text)
    with pytest.raises(ConfigError, match="bridle connect openai"):
        keys.load("openai")


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "UPPER", "a b"])
def test_a_name_cannot_leave_the_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="not a provider's name"):
        Keys(tmp_path).store(name, "k")


@pytest.mark.parametrize(
    ("key", "told"), [("", "empty"), (" \n", "empty"), ("a b", "spaces"), ("a\r\nX: y", "spaces")]
)
def test_bad_keys_are_refused_without_being_shown(tmp_path: Path, key: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        Keys(tmp_path).store("openai", key)
    assert "X: y" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="Cannot store the key"):
        Keys(tmp_path / "file/keys").store("openai", "k")


def test_keys_are_not_shown() -> None:
    assert "sk-1" not in repr(Stored("sk-1", "file"))
    assert check_key(" sk-1 ") == "sk-1"
