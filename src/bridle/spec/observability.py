"""`observability`: where the record goes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from bridle.errors import ConfigError
from bridle.journal.redact import VARIABLE, expression
from bridle.spec.base import Section

AVAILABLE = ("sqlite", "memory")
SCHEMES = {"sqlite": "sqlite://", "memory": "memory:"}


class ObservabilitySection(Section, frozen=True, kw_only=True):
    """Where the record goes, and what does not go into it.

    Every command that reads, reads it there. An entry of `redact` is the name of a variable in
    capitals, whose value is hidden, or a regular expression: what it matches is hidden, or its
    group `secret` where it has one.
    """

    run_store: Literal["sqlite", "postgres", "file", "memory"] | None = None
    store_url: str | None = None
    redact: list[str] = []

    def __post_init__(self) -> None:
        for entry in self.redact:
            if VARIABLE.fullmatch(entry) is None:
                try:
                    expression(entry)
                except ConfigError as error:
                    raise ValueError(str(error)) from error
        kind, url = self.run_store, self.store_url
        if kind is not None and kind not in AVAILABLE:
            have = ", ".join(AVAILABLE)
            raise ValueError(f"run_store {kind!r} is not available in this version; have {have}")
        if url is not None and not url.startswith(SCHEMES[kind or "sqlite"]):
            raise ValueError(
                f"store_url {url!r} does not fit run_store {kind or 'sqlite'!r}; "
                f"it begins with {SCHEMES[kind or 'sqlite']!r}"
            )


def store_of(section: ObservabilitySection, root: Path) -> str | None:
    """The URL of the store, relative files under the project; None is the user's own store."""
    if section.run_store == "memory":
        return "memory:"
    if section.store_url is None:
        return None
    path = section.store_url.removeprefix("sqlite:///")
    return f"sqlite:///{root / Path(path).expanduser()}"
