"""Change parts of a file: one edit, or several at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
import msgspec

from bridle.errors import ToolError
from bridle.tools.builtin.editing import apply_edit
from bridle.tools.builtin.read_file import read_text
from bridle.tools.builtin.write_file import check_unchanged, store
from bridle.tools.define import Tool, ToolContext, tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.tools import CallScope
    from bridle.tools.builtin.workspace import Workplace


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replace `old` by `new`."""

    old: str
    new: str
    replace_all: bool = False


def edit_file_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""

    @tool(name="edit_file", category="edit", effect="once", paths=place.touched)
    async def edit_file(
        path: str, old: str, new: str, ctx: ToolContext[Any], replace_all: bool = False
    ) -> str:
        """Replace the text `old` in a file by `new`; `old` must stand there once."""
        edits = (Edit(old, new, replace_all),)
        return await anyio.to_thread.run_sync(_edit, place, path, edits, ctx.scope)

    return edit_file


def multi_edit_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""

    @tool(name="multi_edit", category="edit", effect="once", paths=place.touched)
    async def multi_edit(path: str, edits: list[Edit], ctx: ToolContext[Any]) -> str:
        """Make several replacements in one file, in order; all of them or none."""
        if not edits:
            raise ToolError("There are no edits.")
        return await anyio.to_thread.run_sync(_edit, place, path, tuple(edits), ctx.scope)

    return multi_edit


def _edit(place: Workplace, path: str, edits: Sequence[Edit], scope: CallScope) -> str:
    check_unchanged(place, path, scope.thread_id, near=edits[0].old)
    text = read_text(place, path, scope.thread_id)
    places = 0
    for number, edit in enumerate(edits, 1):
        try:
            text, count = apply_edit(text, edit.old, edit.new, replace_all=edit.replace_all)
        except ToolError as error:
            if len(edits) == 1:
                raise
            raise ToolError(
                f"Edit {number} of {len(edits)} failed, so none was made: {error.message}",
                hint=error.hint,
                kind=error.kind,
            ) from error
        places += count
    store(place, path, text, scope)
    return f"Edited {path} in {places} place{'s' if places != 1 else ''}."
