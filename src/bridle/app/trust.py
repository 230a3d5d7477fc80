"""Trust in what a project brings: by its content, kept outside the project.

A project may bring code that is run (hooks) and settings that reach beyond it (where models are,
directories outside). Before any of it is used the user says so once; what changes is asked again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from bridle.app.paths import state_directory
from bridle.errors import ConfigError, TrustRefused
from bridle.types.base import Fact
from bridle.types.chain import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Confirm = Callable[[str], bool]
"""Shows what would be trusted and asks for it."""


class Claim(Fact, frozen=True, kw_only=True):
    """One thing of a project that needs trust: `text` says what it does, `files` what it names.

    Whatever brings code (hooks now; servers and skills when they exist) states it as claims. A
    `mild` one is told until it is trusted, and stops nothing.
    """

    kind: str
    name: str
    text: str
    files: dict[str, str] = msgspec.field(default_factory=dict)
    mild: bool = False

    @property
    def key(self) -> str:
        """What it is called in the store."""
        return f"{self.kind} {self.name}"

    @property
    def digest(self) -> str:
        """The hash of all its content."""
        return digest(msgspec.json.encode(self, order="deterministic"))


class Kept(Fact, frozen=True, kw_only=True):
    """What was trusted."""

    digest: str
    text: str
    files: dict[str, str] = msgspec.field(default_factory=dict)


class Trusted(Fact, frozen=True, kw_only=True):
    """The whole store: projects by their directory, claims by their key."""

    version: int = 2
    projects: dict[str, dict[str, Kept]] = msgspec.field(default_factory=dict)


def trust_file() -> Path:
    """Where trust is kept."""
    return state_directory() / "trust.json"


def kept_of(root: Path) -> dict[str, Kept]:
    """What is trusted of a project."""
    return _read().projects.get(str(root.resolve()), {})


def doubted(root: Path, claims: Sequence[Claim]) -> list[Claim]:
    """The claims that are not trusted as they are now."""
    kept = kept_of(root)
    return [claim for claim in claims if not _same(kept.get(claim.key), claim)]


def trust(root: Path, claims: Sequence[Claim]) -> None:
    """Trust these claims as they are now, and nothing else of the project."""
    now = {
        claim.key: Kept(digest=claim.digest, text=claim.text, files=claim.files) for claim in claims
    }
    with _locked():
        projects = dict(_read().projects)
        projects[str(root.resolve())] = now
        _write(Trusted(projects=projects))


def forget(root: Path) -> bool:
    """Trust nothing of a project any more; False when nothing was."""
    with _locked():
        projects = dict(_read().projects)
        known = projects.pop(str(root.resolve()), None)
        _write(Trusted(projects=projects))
    return known is not None


def require_trust(
    root: Path, claims: Sequence[Claim], *, given: bool, confirm: Confirm | None
) -> tuple[Claim, ...]:
    """Go on only with what is trusted; `given` trusts it now, `confirm` asks somebody.

    Returns what is used without anybody having trusted it, to be told.
    """
    open_claims = doubted(root, claims)
    if not open_claims:
        return ()
    if not given and all(claim.mild for claim in open_claims):
        return tuple(open_claims)
    told = describe(root, open_claims)
    if given or (confirm is not None and confirm(told)):
        trust(root, claims)
        return ()
    raise TrustRefused(
        f"This project is not trusted yet:\n{told}\nRead it, then run again with --trust, or: "
        "bridle config trust add"
    )


def describe(root: Path, claims: Sequence[Claim]) -> str:
    """Say what claims would do, and what changed since they were trusted."""
    kept = kept_of(root)
    lines: list[str] = []
    for claim in claims:
        before = kept.get(claim.key)
        news = "" if before is None else " (changed)"
        lines.append(f"  {claim.kind} {claim.name}{news}: {claim.text}")
        lines += [f"    {line}" for line in _changes(before, claim)]
    return "\n".join(lines)


def _changes(before: Kept | None, claim: Claim) -> list[str]:
    if before is None:
        return [f"with {visible(name)}" for name in claim.files]
    changed = [f"was: {before.text}"] if before.text != claim.text else []
    names = sorted({*before.files, *claim.files})
    return changed + [
        f"changed: {visible(name)}"
        for name in names
        if before.files.get(name) != claim.files.get(name)
    ]


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would act on instead of showing it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _same(kept: Kept | None, claim: Claim) -> bool:
    return kept is not None and kept.digest == claim.digest


def _read() -> Trusted:
    try:
        body = trust_file().read_bytes()
        return msgspec.json.decode(body, type=Trusted)
    except FileNotFoundError:
        return Trusted()
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{trust_file()} is damaged ({error}); remove it.") from error


def _write(trusted: Trusted) -> None:
    target = trust_file()
    draft = target.with_suffix(f".{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(trusted)))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(target)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Two commands at once do not forget what the other was told."""
    target = trust_file()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(target.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
