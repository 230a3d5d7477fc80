"""Which store a command writes to or reads: the one named, the project's, else the user's own."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.app.layers import read_layers
from bridle.app.paths import default_store
from bridle.app.project import project_of
from bridle.errors import ConfigError
from bridle.spec.load import find_spec
from bridle.spec.observability import store_of


def store_url(given: str) -> str:
    """The URL that `--store` means: a URL, or a kind of store."""
    if given == "sqlite":
        return default_store()
    if given == "memory":
        return "memory:"
    if given.partition(":")[0] in ("postgres", "postgresql", "file"):
        raise ConfigError(
            f"A store of the kind {given.partition(':')[0]!r} is not available in this version; "
            "have sqlite, memory, or sqlite:///FILE."
        )
    return given


def configured_store(given: str | None = None) -> str:
    """The store that commands here read."""
    if given is not None:
        return store_url(given)
    root = project_of(Path.cwd())
    spec = read_layers(root, find_spec(root), os.environ).spec
    url = store_of(spec.observability, root)
    if url == "memory:":
        raise ConfigError(
            "observability.run_store is memory here: a run's record ends with its process. "
            "Name another store with --store."
        )
    return url or default_store()
