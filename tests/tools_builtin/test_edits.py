"""Imperfect edits: none is made wrongly, and nearly all are made where one reading is possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle import Workspace
from bridle.errors import ToolError
from bridle.ports.tools import CallScope
from bridle.tools.builtin.edit_file import edit_file_tool, multi_edit_tool
from bridle.tools.builtin.editing import apply_edit
from bridle.tools.builtin.read_file import read_file_tool
from bridle.types.tools import Done
from tools_builtin.edit_cases import Case, cases, naive_edit

pytestmark = pytest.mark.anyio

SCOPE = CallScope(thread_id="thr", run_id="run", call_id="run.1.0")


@pytest.fixture
def place(root: Path):
    return Workspace(root, sandbox="none").place()


async def test_two_hundred_imperfect_edits(place, root: Path):
    edit, read = edit_file_tool(place), read_file_tool(place)
    wrong: list[str] = []
    missed: list[str] = []
    naive_wrong: list[str] = []
    every = list(cases())
    possible = [case for case in every if case.right is not None]
    for number, case in enumerate(every):
        path = root / f"file{number}"
        path.write_bytes(case.text.encode())
        await read.execute({"path": path.name}, SCOPE)
        args = {"path": path.name, "old": case.old, "new": case.new}
        refused = await refusal(edit, args)
        if refused is None:
            if path.read_bytes().decode() != case.right:
                wrong.append(case.name)
        elif case.right is not None:
            missed.append(case.name)
        if refused is not None:
            assert path.read_bytes() == case.text.encode(), "a refused edit changes nothing"
            assert refused.kind in ("no_match", "ambiguous_edit"), case.name
            shown = case.right is not None or _shows_the_file(refused.message, case)
            assert shown, (case.name, refused.message)
        if (done := naive_edit(case.text, case.old, case.new)) is not None and done != case.right:
            naive_wrong.append(case.name)
    assert len(every) >= 200, len(every)
    assert wrong == []
    assert len(missed) <= len(possible) * 0.1, missed
    assert len(naive_wrong) > len(every) * 0.2, "the control makes wrong edits"


async def refusal(tool, args) -> ToolError | None:
    """Why a call was refused; None when it was made."""
    try:
        await tool.execute(args, SCOPE)
    except ToolError as error:
        return error
    return None


def _shows_the_file(message: str, case: Case) -> bool:
    """A refusal shows the region as it reads now."""
    if "cannot be told" in message or not case.text:
        return True
    shown = [line.split("\t", 1)[1] for line in message.split("\n") if "\t" in line]
    lines = [line.rstrip(" \t\r") for line in case.text.split("\n")]
    return bool(shown) and any(line in lines for line in shown)


async def test_a_stale_file_is_refused_with_the_region_as_it_is(place, root: Path):
    path = root / "a.py"
    filler = "".join(f"line {number}\n" for number in range(200))
    path.write_text(filler + "value = 1\n")
    await read_file_tool(place).execute({"path": "a.py"}, SCOPE)
    path.write_text(filler + "value = 22\nother = 3\n")
    for tool, args in (
        (edit_file_tool(place), {"old": "value = 1", "new": "value = 2"}),
        (multi_edit_tool(place), {"edits": [{"old": "value = 22", "new": "value = 2"}]}),
    ):
        if tool.name == "multi_edit":
            path.write_text(filler + "value = 333\n")
        with pytest.raises(ToolError) as caught:
            await tool.execute({"path": "a.py", **args}, SCOPE)
        assert caught.value.kind == "stale"
        assert "201\tvalue = " in caught.value.message
        assert "value = 2\n" not in path.read_text()
    done = await edit_file_tool(place).execute(
        {"path": "a.py", "old": "value = 333", "new": "value = 4"}, SCOPE
    )
    assert isinstance(done, Done), "the file is known again after it was shown"


async def test_several_edits_are_all_made_or_none(place, root: Path):
    (root / "a").write_text("one\ntwo\n")
    edits = [{"old": "one", "new": "1"}, {"old": "three", "new": "3"}]
    with pytest.raises(ToolError, match="Edit 2 of 2 failed, so none was made"):
        await multi_edit_tool(place).execute({"path": "a", "edits": edits}, SCOPE)
    assert (root / "a").read_text() == "one\ntwo\n"


def test_replace_all_changes_every_place():
    assert apply_edit("a b a", "a", "c", replace_all=True) == ("c b c", 2)
