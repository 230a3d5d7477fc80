"""What users send: text and files, made into the parts of a message."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import UserError
from bridle.types.base import Fixed
from bridle.types.content import File, Image, Text, UserPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_FILE_BYTES = 20 * 1024 * 1024
INLINED = ("text/", "application/json", "application/xml", "application/x-yaml")


class FileInput(Fixed, frozen=True, kw_only=True):
    """A file to send along: text is inlined under its name, images and others are attached."""

    name: str
    data: bytes
    media_type: str | None = None

    @classmethod
    def from_path(cls, path: str | Path) -> FileInput:
        """Read a file from disk."""
        found = Path(path)
        try:
            return cls(name=found.name, data=found.read_bytes())
        except OSError as error:
            raise UserError(f"The file {str(path)!r} cannot be read: {error.strerror}") from error


def context_values(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The context of a request; it is recorded, so it must be JSON."""
    values = dict(given or {})
    try:
        msgspec.json.encode(values)
    except (TypeError, ValueError) as error:
        raise UserError(f"The context cannot be recorded: {error}") from error
    return values


def content_parts(
    content: str | Sequence[UserPart], files: Sequence[FileInput | str | Path] = ()
) -> tuple[UserPart, ...]:
    """The parts of a message."""
    parts: list[UserPart] = [Text(content)] if isinstance(content, str) else list(content)
    parts += [_file_part(_read(file)) for file in files]
    if not parts or (isinstance(content, str) and not content.strip() and not files):
        raise UserError("There is nothing to send.")
    return tuple(parts)


def _read(file: FileInput | str | Path) -> FileInput:
    if isinstance(file, FileInput):
        return file
    if isinstance(file, str | Path):
        return FileInput.from_path(file)
    raise UserError(f"{file!r} is no file; give a FileInput or the path of one.")


def _file_part(file: FileInput) -> UserPart:
    if len(file.data) > MAX_FILE_BYTES:
        raise UserError(
            f"{file.name} has {len(file.data)} bytes; a file may have {MAX_FILE_BYTES} at most."
        )
    kind = file.media_type or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if kind.startswith(INLINED):
        text = file.data.decode("utf-8", "replace")
        return Text(f"[File: {file.name}]\n```\n{text}\n```")
    encoded = base64.b64encode(file.data).decode()
    if kind.startswith("image/"):
        return Image(media_type=kind, data=encoded)
    return File(name=file.name, media_type=kind, data=encoded)
