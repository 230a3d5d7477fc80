"""Load what the first call will need while the first request is in flight."""

from __future__ import annotations

import threading


def load_ahead() -> None:
    """Begin to load, beside the event loop; whoever needs it sooner just waits for the import."""
    threading.Thread(target=_load, name="bridle load ahead", daemon=True).start()


def _load() -> None:
    import bridle.permissions.shell.analyse  # noqa: F401 - 18 modules that commands are read with
