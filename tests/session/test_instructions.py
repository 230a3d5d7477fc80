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


def test_a_file_named_within_a_line_is_imported_unless_it_is_code(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text(
        "See @style.md, and ask @alice. Not `run @code.md` nor me@mail.md.\n@line.md\n"
    )
    for name in ("style", "code", "mail", "line"):
        (tmp_path / f"{name}.md").write_text(f"text of {name}")

    loaded = load_instructions(tmp_path, tmp_path)
    assert loaded.files == ("CLAUDE.md", "line.md", "style.md")
    assert "text of style" in loaded.text
    assert "text of line" in loaded.text
    assert "text of code" not in loaded.text
    assert "text of mail" not in loaded.text
    assert loaded.notices == ()
