from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.models.errors import (
    Complaint,
    complaint_of,
    kind_of,
    provider_error,
    read_complaint,
    retry_after,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "details", "status", "x"]), inner
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, "rate_limit"),
        (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, "authentication"),
        (
            400,
            {"error": {"message": "too long", "code": "context_length_exceeded"}},
            "context_overflow",
        ),
        (400, {"error": {"message": "bad", "type": "invalid_request_error"}}, "bad_request"),
        (
            400,
            {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}},
            "authentication",
        ),
        (400, {"error": {"message": "bad word", "code": "content_filter"}}, "refused"),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            "unavailable",
        ),
        (402, {"error": {"message": "insufficient balance"}}, "authentication"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
        (404, {"error": "model 'x' not found"}, "bad_request"),
        (503, [{"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}], "unavailable"),
        (413, {"error": {"type": "request_too_large", "message": "32 MB"}}, "context_overflow"),
        (418, {}, "bad_request"),
        (599, {}, "unavailable"),
    ],
)
def test_refusals_are_sorted(status: int, body: object, kind: str) -> None:
    assert kind_of(status, read_complaint(json.dumps(body).encode())) == kind


def test_the_providers_words_are_kept_and_secrets_are_not() -> None:
    complaint = read_complaint(b'{"error": {"message": "Key sk-1 is bad"}}')
    error = provider_error(complaint, provider="openai", status=401, secrets=("sk-1",))
    assert str(error) == "openai: Key *** is bad (HTTP 401)"
    assert error.kind == "authentication"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"),
        (b"plain words", "plain words"),
        (b"\xff\xfe", "��"),
        (b"", ""),
        (b'{"detail": "no such route"}', "no such route"),
        (b'{"error": "just text"}', "just text"),
        (b'{"message": "on top"}', "on top"),
    ],
)
def test_words_are_found_in_any_body(body: bytes, words: str) -> None:
    assert read_complaint(body).message == words


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            30,
        ),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT",
                "date": "Wed, 21 Oct 2026 07:28:30 GMT",
            },
            0,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_google_says_in_the_body_when_to_come_back() -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
    complaint = complaint_of({"error": {"code": 429, "message": "quota", "details": [detail]}})
    assert provider_error(complaint, provider="google", status=429).retry_after == 37


@given(JSON, st.none() | st.integers(100, 700))
def test_any_error_body_is_read(value: object, status: int | None) -> None:
    complaint = complaint_of(value)
    assert isinstance(complaint, Complaint)
    provider_error(complaint, provider="p", status=status, secrets=("k",))


@given(st.binary(max_size=300))
def test_any_bytes_are_read(body: bytes) -> None:
    read_complaint(body)
