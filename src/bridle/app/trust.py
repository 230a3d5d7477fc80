"""Trust in what a project brings: by the hash of its content, kept outside the project.

A project's spec may say where models are reached. Before that is believed, the user says so once;
any change of the file asks again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.app.paths import config_directory
from bridle.errors import ConfigError, TrustRefused
from bridle.types.chain import digest

if TYPE_CHECKING:
    from pathlib import Path


def trust_file() -> Path:
    """Where trust is kept."""
    return config_directory() / "trust.json"


def is_trusted(path: Path) -> bool:
    """Whether this file, with this content, was trusted."""
    return _read().get(str(path.resolve())) == digest(path.read_bytes())


def trust(path: Path) -> None:
    """Trust this file as it is now."""
    kept = _read() | {str(path.resolve()): digest(path.read_bytes())}
    target = trust_file()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_suffix(".new")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(kept)))
    draft.chmod(0o600)
    draft.replace(target)


def require_trust(path: Path, what: str, *, given: bool) -> None:
    """Go on only with a trusted file; `given` trusts it now."""
    if given:
        trust(path)
    elif not is_trusted(path):
        raise TrustRefused(
            f"{path} sets {what}, which sends your key and your code there. Read it, then run "
            "again with --trust."
        )


def _read() -> dict[str, str]:
    try:
        return msgspec.json.decode(trust_file().read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{trust_file()} is damaged ({error}); remove it.") from error
