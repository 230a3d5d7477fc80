"""Real paths of many paths are what `realpath` says of each."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.sandbox.real import real_paths


def test_many_paths_are_resolved_as_each_alone(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("x")
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/b/loop").symlink_to("loop")
    (tmp_path / "a/dangling").symlink_to("nowhere/at/all")
    names = [
        "", ".", "..", "a", "a/", "a/b/../b", "a/b/..", "link", "link/", "link/file", "link/../a",
        "a/up/link/file", "a/b/loop", "a/b/loop/x", "a/dangling", "absent", "absent/", "a/absent/x",
    ]  # fmt: skip
    paths = ["/", "//", "/etc/", "relative", *(os.path.join(tmp_path, name) for name in names)]
    assert real_paths(paths) == [os.path.realpath(path) for path in paths]
