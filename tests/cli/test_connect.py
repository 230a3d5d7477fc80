"""`bridle connect` on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from support.cli import EXECUTABLE, Bridle

KEY = "a-key-for-a-test"


def test_it_says_where_keys_are_found_and_does_not_show_the_one_given(tmp_path: Path) -> None:
    bridle = Bridle(tmp_path, tmp_path)
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [str(EXECUTABLE), "connect", "anthropic", "--no-try"],
        env=bridle.environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"): " not in shown:
        shown += os.read(ours, 4096)
    os.write(ours, f"{KEY}\n".encode())
    assert child.wait(timeout=60) == 0
    shown += os.read(ours, 4096)
    os.close(ours)
    assert b"Key for anthropic (from https://console.anthropic.com/settings/keys): " in shown
    assert b"Stored the key" in shown
    assert KEY.encode() not in shown
