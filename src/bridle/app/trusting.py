"""What a project brings that needs trust, looked at and answered apart from a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bridle.app.claims import claims_of
from bridle.app.ruling import read_ruling
from bridle.app.trust import Claim, doubted, kept_of, trust
from bridle.types.base import Fact

if TYPE_CHECKING:
    from bridle.app.ruling import RunOptions


class TrustState(Fact, frozen=True, kw_only=True):
    """One thing of a project, and whether it is trusted as it is now."""

    kind: str
    name: str
    text: str
    files: tuple[str, ...]
    state: Literal["trusted", "changed", "untrusted"]


def trust_states(options: RunOptions) -> list[TrustState]:
    """Everything that the project brings."""
    claims = _claims(options)
    root = options.root
    open_keys = {claim.key for claim in doubted(root, claims)}
    kept = kept_of(root)
    return [
        TrustState(
            kind=claim.kind,
            name=claim.name,
            text=claim.text,
            files=tuple(claim.files),
            state=_state(claim, open_keys, set(kept)),
        )
        for claim in claims
    ]


def trust_all(options: RunOptions) -> tuple[Claim, ...]:
    """Trust everything that the project brings, as it is now."""
    claims = _claims(options)
    trust(options.root, claims)
    return claims


def _claims(options: RunOptions) -> tuple[Claim, ...]:
    ruling = read_ruling(options)
    return claims_of(options.root, ruling.layered, ruling.hooks, ruling.policy)


def _state(
    claim: Claim, open_keys: set[str], known: set[str]
) -> Literal["trusted", "changed", "untrusted"]:
    if claim.key not in open_keys:
        return "trusted"
    return "changed" if claim.key in known else "untrusted"
