"""Which instruction files the agent gets when there is more than fits."""

from __future__ import annotations

from pathlib import Path

from bridle.context.instructions import load_instructions


def test_the_nearest_instructions_are_the_last_to_be_cut(tmp_path: Path) -> None:
    near = tmp_path / "sub"
    near.mkdir()
    (tmp_path / "AGENTS.md").write_text("far " * 1000)
    (near / "AGENTS.md").write_text("Use tabs here.")

    cut = load_instructions(tmp_path, near, limit=500)
    assert "Use tabs here." in cut.text
    assert "far" in cut.text
    assert len(cut.text) <= 500 + len("\n\n")
    assert len(cut.notices) == 1
    assert "nearest first" in cut.notices[0]

    whole = load_instructions(tmp_path, near)
    assert whole.notices == ()
    assert whole.text.count("far") == 1000
    assert whole.text.index("far") < whole.text.index("Use tabs here.")
