"""What is hidden, what is not, and how long it takes."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import time
import uuid
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.journal.redact import NOTHING_HIDDEN, Known, Redactor, forms, in_order
from bridle.journal.shapes import SHAPES
from support.secret_samples import SAMPLES, private_key

VALUE = "hunter2&correct/horse"
REDACTOR = Redactor(known=in_order(forms(VALUE, "{{secret:PW}}")))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_key_is_hidden_by_its_shape(name: str) -> None:
    text, secret = SAMPLES[name]
    around = f"x = '{text}'; next line\n"
    hidden = REDACTOR.text(around)
    assert secret in around
    assert secret not in hidden
    assert f"[redacted:{name}]" in hidden
    assert hidden.startswith("x = '")
    assert hidden.endswith("'; next line\n")
    assert REDACTOR.text(hidden) == hidden


def test_most_shapes_have_a_sample() -> None:
    assert len(SAMPLES) >= 20
    assert SAMPLES.keys() <= {shape.name for shape in SHAPES}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_a_key_that_comes_in_pieces_is_hidden(name: str, size: int) -> None:
    text, secret = SAMPLES[name]
    whole = f"before {text} after\nmore"
    chunks = REDACTOR.chunks()
    pieces = [chunks.feed(whole[at : at + size]) for at in range(0, len(whole), size)]
    pieces.append(chunks.flush())
    assert "".join(pieces) == REDACTOR.text(whole)
    assert secret not in "".join(pieces)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_key_that_is_cut_anywhere_is_hidden(name: str) -> None:
    text, _ = SAMPLES[name]
    whole = f"a={text} b"
    expected = REDACTOR.text(whole)
    for cut in range(1, len(whole)):
        chunks = REDACTOR.chunks()
        assert chunks.feed(whole[:cut]) + chunks.feed(whole[cut:]) + chunks.flush() == expected


def test_ordinary_words_are_shown_at_once() -> None:
    chunks = REDACTOR.chunks()
    words = ["The", " quick", " brown", " fox", " jumped", " over", " it"]
    assert [chunks.feed(word) for word in words] == words
    assert chunks.flush() == ""


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        quote(VALUE),
        quote(VALUE, safe=""),
        VALUE.encode().hex(),
        base64.b64encode(f"user:{VALUE}".encode()).decode(),
        base64.b64encode(f"us:{VALUE}:x".encode()).decode(),
        base64.b64encode(VALUE.encode()).decode(),
    ],
)
def test_a_configured_value_is_hidden_in_its_usual_forms(written: str) -> None:
    hidden = REDACTOR.text(f"<{written}>")
    assert written not in hidden
    assert "{{secret:PW}}" in hidden


def test_a_key_without_its_end_and_with_line_numbers_is_hidden() -> None:
    lines = private_key().splitlines()
    cut = "\n".join(lines[:5])
    numbered = "\n".join(f"{n:>5}\t{line}" for n, line in enumerate(lines, 1))
    for text in (cut, numbered, private_key().replace("\n", "\\n")):
        hidden = REDACTOR.text(text)
        assert "[redacted:private-key]" in hidden
        assert "MIIEpAIBAAKCAQEA" not in hidden


@given(st.text(max_size=300), st.lists(st.integers(1, 40), max_size=12))
@settings(max_examples=200, deadline=None)
def test_redacting_twice_or_in_pieces_is_redacting_once(text: str, cuts: list[int]) -> None:
    known = Redactor(known=in_order([*forms("abcabcab", "{{secret:A}}"), *forms(VALUE, "X")]))
    text = text.replace("0", "abcabcab").replace("1", "abcab")
    once = known.text(text)
    assert known.text(once) == once
    chunks, at, shown = known.chunks(), 0, ""
    for cut in cuts:
        shown += chunks.feed(text[at : at + cut])
        at += cut
    shown += chunks.feed(text[at:]) + chunks.flush()
    assert shown == once


def _ordinary() -> str:
    """Code, hashes, ids: what every repository is full of."""
    made = random.Random(1)
    names = [str(uuid.UUID(int=made.getrandbits(128))) for _ in range(500)]
    hashes = [hashlib.sha256(name.encode()).hexdigest() for name in names]
    hashes += [hashlib.sha1(name.encode()).hexdigest() for name in names]
    integrity = [
        f'"integrity": "sha512-{base64.b64encode(made.randbytes(64)).decode()}"' for _ in names
    ]
    code = [
        "self.tokens = tokenize(key=lambda token: token.value, sig=inspect.signature(f))",
        "url = f'https://{user}:{password}@{host}/' ; x = 'https://user:password@host/path'",
        "https://example.org/?page=2&key=name&sort=asc  git@github.com:org/repo.git",
        'task-list disk-usage risk-free ask-user: sk-SK, desk-top; eyJ is base64 of {"',
        "Basic authentication is used. Bearer of bad news; basic-block-reordering pass",
        "API_KEY = os.environ['API_KEY']  # never write AKIA... keys into code",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    ]
    sources = [
        path.read_text("utf-8", "replace") for path in sorted(Path(os.__file__).parent.glob("*.py"))
    ]
    return "\n".join((*names, *hashes, *integrity, *code, *sources))


def test_ordinary_text_stays_as_it_is() -> None:
    text = _ordinary()
    assert len(text) > 3_000_000
    assert REDACTOR.text(text) == text
    planted = text + SAMPLES["github-token"][0]  # the control: it does look
    assert REDACTOR.text(planted) != planted
    for line in text.splitlines()[:3000]:  # and small outputs take another way
        assert REDACTOR.text(line) == line


def test_ten_megabytes_are_bounded_and_small_texts_cheap() -> None:
    body = (Path(random.__file__).read_text() * 400)[:10_000_000]
    began = time.process_time()
    assert REDACTOR.text(body) is body
    plain = time.process_time() - began
    assert plain < 10, plain
    dense = (SAMPLES["github-token"][0] + " ") * 200_000
    began = time.process_time()
    assert "ghp_" not in REDACTOR.text(dense)
    assert time.process_time() - began < 20
    hostile = "-----BEGIN PRIVATE KEY-----\n" * 50_000
    began = time.process_time()
    REDACTOR.text(hostile)
    assert time.process_time() - began < 20


def test_nothing_is_hidden_by_the_one_that_hides_nothing() -> None:
    for text, _ in SAMPLES.values():
        assert NOTHING_HIDDEN.text(text) == text


def test_a_word_without_an_end_costs_no_more_than_its_length() -> None:
    """Looked up from each of its letters, a million of them in a row took minutes."""
    redactor = Redactor(known=(Known("correct-horse-battery", "[hidden]"),))
    chunks = redactor.chunks()
    pieces = ["x" * 100_000] * 10 + ["correct-horse-", "battery", "x" * 100_000]
    began = time.process_time()
    shown = "".join([chunks.feed(piece) for piece in pieces]) + chunks.flush()
    assert time.process_time() - began < 10
    assert shown == "x" * 1_000_000 + "[hidden]" + "x" * 100_000
