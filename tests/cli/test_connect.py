"""`bridle connect` on a terminal."""

from __future__ import annotations

from pathlib import Path

from support.cli import Bridle
from support.terminal import converse

KEY = "a-key-for-a-test"
ASKED = "Key for anthropic (from https://console.anthropic.com/settings/keys): "


def test_it_says_where_keys_are_found_and_does_not_show_the_one_given(tmp_path: Path) -> None:
    bridle = Bridle(tmp_path, tmp_path)
    code, shown = converse(
        bridle, "connect", "anthropic", "--no-try", question=ASKED, answers=[KEY]
    )
    assert code == 0
    assert "Stored the key" in shown
    assert KEY not in shown
