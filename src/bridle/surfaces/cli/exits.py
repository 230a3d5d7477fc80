"""Exit codes. They are part of the contract and never change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import TrustRefused, UserError

if TYPE_CHECKING:
    from bridle.errors import BridleError
    from bridle.types.runs import Failure

OK = 0
FAILED = 1
USAGE = 2
NOT_DONE = 3
REFUSED = 4
LIMIT = 5
AWAITING = 6
PROVIDER_REFUSED = 7
UNAVAILABLE = 75
INTERRUPTED = 130
TERMINATED = 143

_PROVIDER_REFUSED = frozenset({"authentication", "bad_request"})
_UNAVAILABLE = frozenset({"rate_limit", "unavailable", "timeout", "protocol", "cut"})


def refusal_code(error: BridleError | OSError) -> int:
    """The code of a command that could not do its work."""
    if isinstance(error, TrustRefused):
        return REFUSED
    return USAGE if isinstance(error, UserError) else FAILED


def exit_code(
    reason: str, verdict: str | None, error: Failure | None, *, fail_on_error: bool = False
) -> int:
    """The code of a run that ended, or rests, like this."""
    from bridle.types.runs import LIMIT_REASONS

    if reason == "awaiting":
        return AWAITING
    kind = error.type if error is not None else None
    if reason == "error" and kind is not None:
        return _of_error(kind)
    if reason in LIMIT_REASONS:
        return LIMIT
    if reason == "safety_violation":
        return REFUSED
    if reason == "error":
        return FAILED
    if reason == "user_interrupt" or (verdict == "failed" and fail_on_error):
        return NOT_DONE
    return OK


def _of_error(kind: str) -> int:
    if kind == "configuration":
        return USAGE
    if kind in _PROVIDER_REFUSED:
        return PROVIDER_REFUSED
    return UNAVAILABLE if kind in _UNAVAILABLE else FAILED
