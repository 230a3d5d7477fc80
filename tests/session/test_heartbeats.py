"""Heartbeats on a virtual clock: they beat, never overlap, tell their failures and end."""

from __future__ import annotations

import subprocess
import sys

import anyio
import pytest

from bridle import Heartbeat, Ports, UserError
from session.clock import VirtualClock, settle


async def test_they_beat_at_their_interval_and_at_once_unless_told(opened):
    clock = VirtualClock()
    beats = []
    pair = [
        Heartbeat("now", 10, lambda: beats.append(("now", clock.now()))),
        Heartbeat("later", 10, lambda: beats.append(("later", clock.now())), immediate=False),
    ]
    async with opened(heartbeats=pair, ports=Ports(clock=clock)) as harness:
        start = clock.now()
        await settle()
        assert beats == [("now", start)]
        await clock.move(10)
        await clock.move(10)
        assert [at - start for name, at in beats if name == "now"] == [0, 10, 20]
        assert [at - start for name, at in beats if name == "later"] == [10, 20]
        await harness.heartbeats.stop()
        await clock.move(100)
        assert len(beats) == 5


async def test_one_that_is_slow_is_not_overtaken(opened):
    clock = VirtualClock()
    working, most = 0, 0

    async def slow():
        nonlocal working, most
        working += 1
        most = max(most, working)
        await clock.sleep(25)
        working -= 1

    async with opened(heartbeats=[Heartbeat("slow", 10, slow)], ports=Ports(clock=clock)):
        await clock.move(300)
        assert most == 1


async def test_they_come_and_go_while_the_harness_runs(opened):
    clock = VirtualClock()
    log = []
    async with opened(ports=Ports(clock=clock)) as harness:
        beat = Heartbeat("h", 5, lambda: log.append("beat"), shutdown=lambda: log.append("end"))
        harness.heartbeats.register(beat)
        await clock.move(5)
        assert log == ["beat", "beat"]
        again = Heartbeat("h", 5, lambda: log.append("other"), shutdown=lambda: log.append("end"))
        harness.heartbeats.register(again)
        await clock.move(5)
        assert log[2:] == ["other", "other"]
        await harness.heartbeats.remove("h")
        assert log[4:] == ["end"]
        await clock.move(50)
        assert log[5:] == []
        with pytest.raises(UserError, match="no heartbeat 'h'"):
            await harness.heartbeats.remove("h")
        harness.heartbeats.register(beat)
        await settle()
    assert log[5:] == ["beat", "end"]  # the end of the harness is theirs


async def test_a_failure_is_an_event_when_it_begins_and_when_it_ends(opened):
    clock = VirtualClock()
    broken = [True]

    async def handler():
        if broken[0]:
            raise OSError("no route")

    beat = Heartbeat("health", 5, handler, immediate=False)
    async with opened(heartbeats=[beat], ports=Ports(clock=clock)) as harness:
        session = await harness.session()
        seen = []
        session.events.subscribe(seen.append)
        with anyio.fail_after(10):
            for count, state in ((1, True), (1, True), (2, False), (2, False)):
                broken[0] = state
                await clock.move(5)
                while len(seen) < count:  # the store's own thread commits it
                    await anyio.sleep(0.01)
        told = [(event.type, event.heartbeat_id, event.ok, event.error) for event in seen]
        assert told == [
            ("heartbeat", "health", False, "OSError: no route"),
            ("heartbeat", "health", True, None),
        ]


PROGRAM = """
import anyio
from bridle import Agent, Harness, Heartbeat

async def main():
    beat = Heartbeat("h", 3600, lambda: print("beat", flush=True))
    harness = Harness(store="memory:", agent=Agent("x"), heartbeats=[beat])
    await harness.init()
    await anyio.sleep(0.2)
    # no destroy: the process must end all the same

anyio.run(main)
print("over")
"""


def test_they_never_keep_the_process_alive():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["beat", "over"], done.stderr
