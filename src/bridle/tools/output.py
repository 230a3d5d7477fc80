"""Bounds on what a tool may say to the model; the whole is kept as an artefact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridle.ports.artefacts import Artefacts

MAX_CHARACTERS = 30_000


async def bound(
    text: str, artefacts: Artefacts, *, limit: int = MAX_CHARACTERS
) -> tuple[str, str | None]:
    """Cut the middle of a text that is too long; returns what is left and the artefact's name."""
    if len(text) <= limit:
        return text, None
    name = await artefacts.save(text.encode("utf-8", "surrogateescape"))
    half = limit // 2
    dropped = len(text) - 2 * half
    notice = f"\n[… {dropped} characters left out; the whole output is artefact {name} …]\n"
    return text[:half] + notice + text[-half:], name
