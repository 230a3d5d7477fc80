"""The text of an answer that has a form, and the names of what is said about it."""

from __future__ import annotations

ROUND = "checks"
OUTPUT = "output"
"""Last parts of the ids of messages that send a run on: checks failed, the form is wrong."""


def answer_body(text: str) -> str:
    """Take the content of a code fence, where the model put one around its answer."""
    body = text.strip()
    if body.startswith("```") and body.endswith("```") and "\n" in body:
        return body[body.index("\n") + 1 : -3].strip()
    return body
