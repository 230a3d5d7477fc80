"""Where Bridle keeps its files: XDG directories, or `BRIDLE_HOME` for all of them."""

from __future__ import annotations

import os
from pathlib import Path


def state_directory() -> Path:
    """Runs, threads, the store."""
    return _directory("XDG_STATE_HOME", ".local/state")


def default_store() -> str:
    """The URL of the user's own store."""
    return f"sqlite:///{state_directory() / 'bridle.db'}"


def config_directory() -> Path:
    """The user's configuration."""
    return _directory("XDG_CONFIG_HOME", ".config")


def data_directory() -> Path:
    """Models and other large things that can be fetched again."""
    return _directory("XDG_DATA_HOME", ".local/share")


def _directory(variable: str, default: str) -> Path:
    home = os.environ.get("BRIDLE_HOME")
    if home:
        return Path(home).expanduser()
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / default) / "bridle"
