"""Bounds on what a tool may say to the model; the whole is kept as an artefact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridle.ports.artefacts import Artefacts

MAX_CHARACTERS = 30_000


async def bound(
    text: str, artefacts: Artefacts, *, limit: int = MAX_CHARACTERS
) -> tuple[str, str | None]:
    """Cut the middle of a text that is too long; returns what is left and the artefact's name.

    The whole is on the disk when this returns; where that fails, the text says so.
    """
    text = recordable(text)
    if len(text) <= limit:
        return text, None
    name: str | None = None
    try:
        name = await artefacts.save(text.encode())
    except OSError as error:
        kept = f"the whole output could not be kept: {error}"
    else:
        kept = f"the whole output is artefact {name}"
    half = limit // 2
    dropped = len(text) - 2 * half
    notice = f"\n[… {dropped} characters left out; {kept} …]\n"
    return text[:half] + notice + text[-half:], name


def recordable(text: str) -> str:
    """Replace what UTF-8 cannot hold, such as the bytes of a file name that is not text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
