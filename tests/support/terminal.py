"""The executable on a terminal, with somebody who answers its questions."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time

from support.cli import EXECUTABLE, Bridle


def converse(bridle: Bridle, *arguments: str, question: str, answers: list[str]) -> tuple[int, str]:
    """Run a command and answer a question each time that it is asked: the code, what was shown."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [str(EXECUTABLE), *arguments],
        cwd=bridle.cwd,
        env=bridle.environment() | {"TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown, given, end = b"", 0, time.monotonic() + 90
    while time.monotonic() < end:
        if not select.select([ours], [], [], 0.2)[0]:
            if child.poll() is not None:
                break
            continue
        try:
            shown += os.read(ours, 65536)
        except OSError:  # nobody holds the other end any more
            break
        if given < len(answers) and shown.count(question.encode()) > given:
            os.write(ours, f"{answers[given]}\n".encode())
            given += 1
    try:
        code = child.wait(timeout=30)
    finally:
        child.kill()
        os.close(ours)
    assert given == len(answers), shown
    return code, shown.decode("utf-8", "replace").replace("\r", "")
