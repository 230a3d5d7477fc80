"""What a running call shows: redacted like its result, also where a secret comes in two pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.types.base import Moving

if TYPE_CHECKING:
    from bridle.journal.chunks import Chunks
    from bridle.journal.redact import Redactor
    from bridle.ports.tools import CallScope

PROGRESS = "progress"


class Live(Moving):
    """The live side of one call."""

    redactor: Redactor
    outer: CallScope
    _chunks: dict[str, Chunks] = msgspec.field(default_factory=dict)

    def scope(self) -> CallScope:
        """The scope that the tool is given."""
        return msgspec.structs.replace(self.outer, progress=self._progress, output=self._output)

    def flush(self) -> None:
        """Show what was held back; the call has ended."""
        for stream, chunks in self._chunks.items():
            self._show(stream, chunks.flush())

    def _progress(self, text: str) -> None:
        self._show(PROGRESS, self._of(PROGRESS).feed(text))

    def _output(self, stream: str, text: str) -> None:
        self._show(stream, self._of(stream).feed(text))

    def _of(self, stream: str) -> Chunks:
        if stream not in self._chunks:
            self._chunks[stream] = self.redactor.chunks()
        return self._chunks[stream]

    def _show(self, stream: str, text: str) -> None:
        if not text:
            return
        if stream == PROGRESS:
            self.outer.progress(text)
        else:
            self.outer.output(stream, text)
