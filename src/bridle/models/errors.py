"""What a provider's refusal means: status, code and message become one kind of ModelError."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ModelError, ModelErrorKind
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_MESSAGE = 2000

_STATUS: dict[int, ModelErrorKind] = {
    400: "bad_request",
    401: "authentication",
    402: "authentication",
    403: "authentication",
    404: "bad_request",
    408: "timeout",
    409: "unavailable",
    413: "context_overflow",
    422: "bad_request",
    425: "unavailable",
    429: "rate_limit",
}

_CODES: dict[str, ModelErrorKind] = {
    "authentication_error": "authentication",
    "api_error": "unavailable",
    "billing_error": "authentication",
    "content_filter": "refused",
    "content_policy_violation": "refused",
    "context_length_exceeded": "context_overflow",
    "deadline_exceeded": "timeout",
    "insufficient_quota": "authentication",
    "internal": "unavailable",
    "invalid_api_key": "authentication",
    "api_key_invalid": "authentication",
    "invalid_argument": "bad_request",
    "invalid_prompt": "bad_request",
    "invalid_request_error": "bad_request",
    "not_found": "bad_request",
    "not_found_error": "bad_request",
    "overloaded_error": "unavailable",
    "permission_denied": "authentication",
    "permission_error": "authentication",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "request_too_large": "context_overflow",
    "resource_exhausted": "rate_limit",
    "server_error": "unavailable",
    "service_unavailable": "unavailable",
    "slow_down": "rate_limit",
    "timeout_error": "timeout",
    "unauthenticated": "authentication",
    "unavailable": "unavailable",
}

_OVERFLOW = lazy(
    r"maximum context length|context[ _-]?(length|window|size)|prompt is too long"
    r"|too many tokens|input token count|exceeds the maximum number of tokens"
    r"|request too large|input is too long|reduce the length",
    re.IGNORECASE,
)
_BAD_KEY = lazy(r"api[ _-]?key (not valid|is invalid|expired)|invalid api[ _-]?key", re.IGNORECASE)
_DURATION = lazy(r"^(\d+(?:\.\d+)?)s$")


class Complaint(msgspec.Struct, frozen=True, kw_only=True):
    """What could be read of a provider's error body."""

    message: str = ""
    codes: tuple[str, ...] = ()
    status: int | None = None
    retry_after: float | None = None


def read_complaint(body: bytes | str) -> Complaint:
    """Find the message and the codes in an error body of any of the formats, or in plain text."""
    try:
        return complaint_of(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    if "<html" in text[:1000].lower():
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = title.group(1) if title else "an HTML page"
    return Complaint(message=text.strip()[:MAX_MESSAGE])


def complaint_of(value: Any) -> Complaint:
    """Read a decoded error: `{"error": {…}}`, `{"message": …}`, `{"detail": …}`, a list."""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return Complaint(message="" if value is None else str(value)[:MAX_MESSAGE])
    inner = value.get("error")
    if isinstance(inner, str):
        own = (value.get("code"), value.get("type"))
        return Complaint(message=inner[:MAX_MESSAGE], codes=_lower(own))
    if not isinstance(inner, dict):
        inner = value
    message = inner.get("message") or inner.get("detail") or value.get("message") or ""
    if not isinstance(message, str):
        message = msgspec.json.encode(message).decode()
    status = inner.get("code")
    details = _details(inner.get("details"))
    codes = (
        inner.get("code"),
        inner.get("type"),
        inner.get("status"),
        *(detail.get("reason") for detail in details),
    )
    return Complaint(
        message=message.strip()[:MAX_MESSAGE],
        codes=_lower(codes),
        status=status if isinstance(status, int) and 400 <= status < 600 else None,
        retry_after=_retry_info(details),
    )


def kind_of(status: int | None, complaint: Complaint) -> ModelErrorKind:
    """Decide the kind: a code that is known, then the text, then the status."""
    known = [_CODES[code] for code in complaint.codes if code in _CODES]
    for kind in ("context_overflow", "refused", "authentication"):
        if kind in known:
            return kind
    status = status or complaint.status
    request_fault = status in {400, 413, 422} or (status is None and "bad_request" in known)
    if request_fault and _OVERFLOW.search(complaint.message):
        return "context_overflow"
    if request_fault and _BAD_KEY.search(complaint.message):
        return "authentication"
    if status is not None and status >= 400:
        return _STATUS.get(status, "unavailable" if status >= 500 else "bad_request")
    return known[0] if known else "unavailable"


def provider_error(
    complaint: Complaint,
    *,
    provider: str,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: tuple[str, ...] = (),
) -> ModelError:
    """Build the error of a refused request or of an error event inside a stream.

    The provider's own words are kept; the secrets that were sent never are.
    """
    words = hide(complaint.message, secrets) or "no message"
    suffix = f" (HTTP {status})" if status is not None else ""
    after = retry_after(headers) if headers else None
    return ModelError(
        f"{provider}: {words}{suffix}",
        kind=kind_of(status, complaint),
        status=status or complaint.status,
        retry_after=complaint.retry_after if after is None else after,
        provider=provider,
    )


def hide(text: str, secrets: tuple[str, ...]) -> str:
    """Replace secrets in a text."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return text


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read `retry-after-ms` or `retry-after`: seconds, or a date against the response's own."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    from email.utils import parsedate_to_datetime  # costs more to import than all of this file

    try:
        until = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, OverflowError, TypeError):
        return None
    return max(0.0, until.total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else -1.0
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _details(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _retry_info(details: list[dict[str, Any]]) -> float | None:
    for detail in details:
        match = _DURATION.match(str(detail.get("retryDelay", "")))
        if match:
            return float(match.group(1))
    return None


def _lower(codes: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(code.lower() for code in codes if isinstance(code, str) and code)
