"""`bridle chat`: the same session as `run`, line by line, at a terminal or over a pipe."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time

from support.cli import EXECUTABLE, Bridle

ASKS = "- calls: [{tool: bash, args: {command: touch x.txt}}]\n- says: Touched.\n"
MODEL = ("--model", "scripted/script.yaml")


def script(bridle: Bridle, text: str) -> Bridle:
    (bridle.cwd / "script.yaml").write_text(text)
    return bridle


def test_lines_from_a_pipe_are_turns_of_one_thread(bridle: Bridle) -> None:
    script(bridle, "- says: Hello.\n")
    done = bridle("chat", *MODEL, stdin="one\n\ntwo\n")
    assert (done.code, done.out) == (0, "Hello.\nHello.\n"), done.err
    rows = bridle("runs", "--json").json
    assert [row["task"] for row in rows] == ["two", "one"]
    assert len({row["thread_id"] for row in rows}) == 1
    assert bridle("replay", "last").code == 0
    bridle("chat", "--continue", *MODEL, stdin="three\n")
    bridle("chat", *MODEL, stdin="four\n")
    threads = [row["thread_id"] for row in bridle("runs", "--json").json]
    assert threads[1] == threads[2] == threads[3] != threads[0]


def test_an_approval_is_answered_inline(bridle: Bridle) -> None:
    done = script(bridle, ASKS)("chat", *MODEL, stdin="go\nw\ny\n")
    assert (done.code, done.out) == (0, "Touched.\n"), done.err
    assert (bridle.cwd / "x.txt").exists()
    (bridle.cwd / "x.txt").unlink()
    done = script(bridle, ASKS)("chat", *MODEL, stdin="go\nn\nnot now\n")
    assert done.code == 0, done.err
    assert not (bridle.cwd / "x.txt").exists()
    done = script(bridle, ASKS)("chat", *MODEL, stdin="go\n")
    assert done.code == 6, "the input ended before the answer"
    assert "bridle approve apr_" in done.err
    done = bridle("chat", "--continue", *MODEL, stdin="y\n")
    assert (done.code, done.out) == (0, "Touched.\n"), done.err


def test_a_question_and_a_plan_are_answered_inline(bridle: Bridle) -> None:
    script(bridle, "- calls: [{tool: ask_user, args: {question: which}}]\n- says: Thanks.\n")
    done = bridle("chat", *MODEL, stdin="go\nthe red one\n")
    assert (done.code, done.out) == (0, "Thanks.\n"), done.err
    events = bridle("events", "last", "--json").lines
    assert [e["answer"] for e in events if e["type"] == "question_answered"] == ["the red one"]
    plan = "{tool: submit_plan, args: {title: T, plan: do it}}"
    script(bridle, f"- calls: [{plan}]\n- says: Planned.\n")
    done = bridle("chat", *MODEL, stdin="go\nn\nsmaller\n")
    assert (done.code, done.out) == (0, "Planned.\n"), done.err
    assert "do it" in done.err


def test_commands(bridle: Bridle) -> None:
    script(
        bridle, "- calls: [{tool: write_file, args: {path: a.txt, content: a}}]\n- says: Made.\n"
    )
    (bridle.cwd / "other.yaml").write_text("- says: Other.\n")
    lines = ["go", "/help", "/undo", "/model", "/model scripted/other.yaml", "again", "/mode",
             "/cost", "/new", "more", "/nosuch", "/exit", "never read"]  # fmt: skip
    done = bridle("chat", "--yolo", *MODEL, stdin="\n".join(lines) + "\n")
    assert done.out.split() == ["Made.", "Other.", "Made."], done.err
    for part in ("/help", "restored a.txt", "model scripted/script.yaml", "mode main of main",
                 "tokens", "a new thread", "Unknown command 'nosuch'"):  # fmt: skip
        assert part in done.err, part
    assert len({row["thread_id"] for row in bridle("runs", "--json").json}) == 2


class Terminal:
    """A conversation on a terminal of its own."""

    def __init__(self, bridle: Bridle, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [str(EXECUTABLE), *arguments],
            cwd=bridle.cwd,
            env={**bridle.environment(), "TERM": "dumb", "NO_COLOR": "1"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def says(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, text: str, seconds: float = 40) -> None:
        end = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < end, self.shown
            ready, _, _ = select.select([self._ours], [], [], 0.5)
            if ready:
                self.shown += os.read(self._ours, 4096).decode()

    def interrupt_until(self, text: str) -> None:
        """Press Ctrl-C again when it met readline just before it waits, which then misses it."""
        for _ in range(8):
            self.process.send_signal(signal.SIGINT)
            try:
                self.until(text, seconds=5)
            except AssertionError:
                continue
            return
        raise AssertionError(self.shown)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def test_ctrl_c_stops_the_turn_and_ctrl_d_leaves(bridle: Bridle) -> None:
    script(bridle, "- {says: slow, stalls: 60}\n")
    terminal = Terminal(bridle, "chat", *MODEL)
    try:
        terminal.until("> ")
        terminal.says("go\n")
        terminal.until("go")
        wait_for_run(bridle)
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("user_interrupt")
        terminal.interrupt_until("Ctrl-D or /exit leaves")
        (row,) = bridle("runs", "--json").json
        assert (row["status"], row["reason"]) == ("ended", "user_interrupt")
        terminal.says("\x04")
        assert terminal.process.wait(timeout=40) == 0
    finally:
        terminal.close()


def test_ctrl_c_twice_stops_the_turn_and_not_the_conversation(bridle: Bridle) -> None:
    """The second one comes while the turn is being stopped, where nobody waits for it."""
    script(bridle, "- {says: slow, stalls: 60}\n")
    terminal = Terminal(bridle, "chat", *MODEL)
    try:
        terminal.until("> ")
        terminal.says("go\n")
        wait_for_run(bridle)
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("stopping this turn")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("user_interrupt")
        terminal.says("/exit\n")
        assert terminal.process.wait(timeout=40) == 0, terminal.shown
    finally:
        terminal.close()


def wait_for_run(bridle: Bridle, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not any(e["type"] == "budget_reserved" for e in events(bridle)):
        assert time.monotonic() < end, "the turn did not begin"


def events(bridle: Bridle) -> list[dict[str, object]]:
    done = bridle("events", "last", "--json")
    return done.lines if done.code == 0 else []
