"""Links in the workspace: what is decided is what is written, whenever a link is made or moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle import Rules
from bridle.testing import calls, says
from tools_builtin.conftest import results

pytestmark = pytest.mark.anyio

ASKED = Rules(profile="balanced")


async def test_a_link_to_a_protected_file_that_is_not_there_is_asked(opened, model, root: Path):
    """Also where its directory is not there either; the control is a link to any other file."""
    (root / "settings").symlink_to(".claude/settings.json")
    (root / "roundabout").symlink_to("no/../.claude/settings.json")
    (root / "plain").symlink_to("new/file.txt")
    for name, asked in (("settings", True), ("roundabout", True), ("plain", False)):
        model.plays(calls("write_file", path=name, content="{}"), *([] if asked else [says("ok")]))
        async with opened() as harness:
            session = await harness.session(new=True)
            result = await session.send("go")
            assert bool(result.pending) is asked, name
    assert not (root / ".claude").exists()
    assert (root / "new/file.txt").read_text() == "{}"


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
@pytest.mark.parametrize("moved", [True, False])
async def test_a_link_that_moves_while_the_user_reads_the_card(
    opened, model, root: Path, tool: str, moved: bool
):
    for name in ("shown", "other"):
        (root / name).mkdir()
        (root / name / "a.txt").write_text("old")
    (root / "link").symlink_to("shown")
    args = {"content": "new"} if tool == "write_file" else {"old": "old", "new": "new"}
    model.plays(calls(tool, path="link/a.txt", **args), says("done"))
    async with opened(permissions=ASKED) as harness:
        session = await harness.session()
        result = await session.send("go")
        (pending,) = result.pending
        if moved:
            (root / "link").unlink()
            (root / "link").symlink_to("other")
        await session.approve(pending.id)
        await session.wait(result.run_id)
        (ended,) = results(await harness.store.events(session.thread_id))
    assert ended.is_error is moved
    assert (ended.kind == "race") is moved
    assert (root / "shown/a.txt").read_text() == ("old" if moved else "new")
    assert (root / "other/a.txt").read_text() == "old"
