"""Garbage: old snapshots and orphaned artefacts go, what a kept run needs stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle import Agent, Harness, Rules, Workspace
from bridle.app.collecting import DAY, Places, collect
from bridle.app.config import Ports
from bridle.app.paths import state_directory
from bridle.errors import BridleError
from bridle.ports.clock import SystemClock
from bridle.store.artefacts import FileArtefacts
from bridle.testing import ScriptedModel, calls, says
from support.cli import Bridle
from tools_builtin.conftest import git

pytestmark = pytest.mark.anyio
KEEP = 30.0


class Shifted(SystemClock):
    """The machine's clock, some days ago."""

    def __init__(self, days: float) -> None:
        self._days = days

    def now(self) -> float:
        return super().now() - self._days * DAY


class World:
    """A store, a workspace and the runs in it, at different times."""

    def __init__(self, tmp_path: Path, root: Path) -> None:
        self.root = root
        self.store = tmp_path / "store.db"
        self.places = Places(
            snapshots=state_directory() / "checkpoints",
            artefacts=self.store.parent / "artefacts",
        )
        self.model = ScriptedModel()

    def harness(self, days: float = 0) -> Harness:
        return Harness(
            id="gc",
            store=f"sqlite:///{self.store}",
            agent=Agent("You help."),
            resolve_model=lambda _id: self.model,
            workspace=Workspace(self.root),
            permissions=Rules(profile="yolo"),
            ports=Ports(clock=Shifted(days)),
        )

    async def run(self, command: str, *, days: float) -> str:
        """A run of so many days ago; what it left on the disk is as old."""
        self.model.plays(calls("bash", command=command), says("done"))
        fresh = set(self.files())
        async with self.harness(days) as harness:
            session = await harness.session()
            result = await session.send("go")
        for path in set(self.files()) - fresh:
            moment = path.stat().st_mtime - days * DAY
            os.utime(path, (moment, moment))
        return result.run_id

    def files(self) -> list[Path]:
        found = []
        for place in (self.places.snapshots, self.places.artefacts):
            if place is not None and place.is_dir():
                found += [path for path in place.rglob("*") if path.is_file()]
        return found

    async def collect(self, *, dry_run: bool, keep: float = KEEP):
        async with self.harness() as harness:
            now = SystemClock().now()
            return await collect(
                harness.store, self.places, keep_days=keep, now=now, dry_run=dry_run
            )

    async def undo(self, run_id: str):
        async with self.harness() as harness:
            session = await harness.session()
            return await session.checkpoints.undo(run_id)


@pytest.fixture(params=["a repository", "a directory"])
def world(request: pytest.FixtureRequest, tmp_path: Path, root: Path) -> World:
    if request.param == "a repository":
        git(root, "init", "-q")
    (root / "kept.txt").write_text("kept\n")
    return World(tmp_path, root)


async def test_old_snapshots_go_and_what_a_kept_run_needs_stays(world: World) -> None:
    old = await world.run("head -c 200000 /dev/urandom > old.bin", days=90)
    new = await world.run("rm old.bin; echo new > new.txt", days=1)
    before = {path: path.read_bytes() for path in world.files()}
    told = await world.collect(dry_run=True)
    assert {path: path.read_bytes() for path in world.files() if path.name != "lock"} == {
        path: body for path, body in before.items() if path.name != "lock"
    }
    nothing = await world.collect(dry_run=True, keep=365)
    assert nothing.total == 0
    assert nothing.runs_kept == 2
    done = await world.collect(dry_run=False)
    assert (told.total, told.garbage[:1]) != (0, ())
    assert [entry.bytes for entry in done.garbage] == [entry.bytes for entry in told.garbage]
    assert done.runs_kept == 1
    undone = await world.undo(new)
    assert sorted(undone.restored) == ["new.txt", "old.bin"]
    assert (world.root / "old.bin").stat().st_size == 200_000
    assert (await world.collect(dry_run=False)).total == 0
    with pytest.raises(
        BridleError, match=r"is gone|not kept any more|Not a valid object|not a tree"
    ):
        await world.undo(old)


async def test_a_workspace_without_kept_runs_goes_as_a_whole(world: World) -> None:
    await world.run("echo x > x", days=90)
    for path in world.files():
        moment = SystemClock().now() - 80 * DAY
        os.utime(path, (moment, moment))
    assert list(world.places.snapshots.iterdir())
    done = await world.collect(dry_run=False)
    assert "no kept run worked there" in str(done.garbage[0].note)
    assert list(world.places.snapshots.iterdir()) == []


async def test_artefacts_that_no_event_names_go(world: World) -> None:
    await world.run("head -c 100000 /dev/zero | tr '\\0' x", days=90)
    assert world.places.artefacts is not None
    (named,) = world.places.artefacts.iterdir()
    artefacts = FileArtefacts(world.places.artefacts)
    orphan = world.places.artefacts / await artefacts.save(b"orphan" * 100)
    young = world.places.artefacts / await artefacts.save(b"young")
    os.utime(orphan, (1, 1))
    done = await world.collect(dry_run=False)
    (entry,) = [entry for entry in done.garbage if entry.kind == "artefacts"]
    assert (entry.items, entry.bytes) == (1, 600)
    assert named.exists()
    assert young.exists()
    assert not orphan.exists()


async def test_an_artefact_that_is_saved_again_is_young_again(tmp_path: Path) -> None:
    artefacts = FileArtefacts(tmp_path)
    path = tmp_path / await artefacts.save(b"x")
    os.utime(path, (1, 1))
    await artefacts.save(b"x")
    assert path.stat().st_mtime > 1


async def test_another_store_in_the_directory_is_respected(world: World) -> None:
    await world.run("true", days=90)
    assert world.places.artefacts is not None
    orphan = world.places.artefacts / await FileArtefacts(world.places.artefacts).save(b"theirs")
    os.utime(orphan, (1, 1))
    (world.store.parent / "other.db").touch()
    done = await world.collect(dry_run=False)
    assert any("share the directory" in str(entry.note) for entry in done.garbage)
    assert orphan.exists()


def test_the_command_tells_and_drops(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "home2"
    home.mkdir()
    bridle = Bridle(cwd=root, home=home)
    script = root / "s.yaml"
    script.write_text("- calls: [{tool: write_file, args: {path: a, content: x}}]\n- says: x\n")
    done = bridle("run", "go", "--model", f"scripted/{script}", "--yolo", "--no-checks")
    assert done.code == 0, done.err
    told = bridle("gc", "--dry-run", "--json")
    assert (told.code, told.json) == (0, [])
    store = home / "b" / "checkpoints"
    assert store.is_dir()
    assert bridle("undo", "last").code == 0
    dropped = bridle("gc", "--keep", "0", "--json")
    assert dropped.code == 0, dropped.err
    assert dropped.json[0]["kind"] == "snapshots"
    assert dropped.json[0]["items"] > 0
    assert bridle("gc", "--keep", "-1").code == 2
