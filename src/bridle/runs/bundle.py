"""A run in one file that can be checked anywhere: logs, hashes, blobs, and a manifest over all.

`threads/ID.jsonl` holds the events as they are stored, one per line, `threads/ID.hashes` the chain,
`blobs/` and `artefacts/` what the events name by hash. Nothing is ever unpacked to disk.
"""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING

import msgspec

from bridle.errors import ConfigError
from bridle.runs.tree import Log, Tree
from bridle.runs.verify import Problem, Verified, verify
from bridle.types.base import Fact
from bridle.types.chain import GENESIS, digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = "bridle-evidence"
MANIFEST = "manifest.json"
MAX_BYTES = 2 * 1024**3
EPOCH = (1980, 1, 1, 0, 0, 0)


class BundledThread(Fact, frozen=True, kw_only=True):
    """Where a thread's log ends."""

    events: int
    head: str


class Manifest(Fact, frozen=True, kw_only=True):
    """What a bundle holds; `files` maps every other member to the hash of its bytes."""

    format: str
    version: int
    run_id: str
    root: str
    threads: dict[str, BundledThread]
    files: dict[str, str]


def write_bundle(path: Path, tree: Tree, *, reports: Mapping[str, bytes]) -> str:
    """Write a bundle; returns the hash of its manifest, which stands for all of it."""
    members = dict(reports)
    for name, log in tree.logs.items():
        members[f"threads/{name}.jsonl"] = b"".join(body + b"\n" for _, _, body in log.records)
        members[f"threads/{name}.hashes"] = "".join(f"{h}\n" for _, h, _ in log.records).encode()
    members |= {f"blobs/{name}": body for name, body in tree.blobs.items()}
    members |= {f"artefacts/{name}": body for name, body in tree.artefacts.items()}
    manifest = Manifest(
        format=FORMAT,
        version=1,
        run_id=tree.run_id,
        root=tree.root,
        threads={
            name: BundledThread(events=log.seq, head=log.hash) for name, log in tree.logs.items()
        },
        files={name: digest(body) for name, body in sorted(members.items())},
    )
    body = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in {MANIFEST: body, **members}.items():
            entry = zipfile.ZipInfo(name, EPOCH)  # the same run makes the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            bundle.writestr(entry, content)
    return digest(body)


def verify_bundle(path: Path) -> Verified:
    """Check a bundle with nothing but the bundle."""
    members, problems = _members(path)
    try:
        manifest = msgspec.json.decode(members.get(MANIFEST, b""), type=Manifest)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path} is not a bundle of evidence: no manifest ({error}).") from error
    if manifest.format != FORMAT or manifest.version != 1 or manifest.root not in manifest.threads:
        raise ConfigError(f"{path} is not a bundle of evidence that this version can read.")
    found = verify(_tree(manifest, members))
    told = {problem.thread_id for problem in found.problems}
    for name in sorted({*manifest.files, *members} - {MANIFEST}):
        thread = name.removeprefix("threads/").rpartition(".")[0]
        if thread in told or any(problem.thread_id == name for problem in problems):
            continue
        if name not in members:
            problems.append(Problem(thread_id=name, seq=None, what="is missing from the bundle"))
        elif manifest.files.get(name) != digest(members[name]):
            problems.append(Problem(thread_id=name, seq=None, what="is not what was bundled"))
    return msgspec.structs.replace(found, problems=(*found.problems, *problems))


def is_bundle(path: Path) -> bool:
    """Whether a file could be a bundle."""
    return path.is_file() and zipfile.is_zipfile(path)


def _members(path: Path) -> tuple[dict[str, bytes], list[Problem]]:
    members: dict[str, bytes] = {}
    problems: list[Problem] = []
    try:
        with zipfile.ZipFile(path) as bundle:
            entries = bundle.infolist()
            if sum(entry.file_size for entry in entries) > MAX_BYTES:
                raise ConfigError(f"{path} holds more than {MAX_BYTES:,} bytes.")
            for entry in entries:
                if entry.filename in members:
                    what = "is in the bundle twice"
                    problems.append(Problem(thread_id=entry.filename, seq=None, what=what))
                    continue
                try:
                    members[entry.filename] = bundle.read(entry)
                except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                    what = f"is damaged: {error}"
                    problems.append(Problem(thread_id=entry.filename, seq=None, what=what))
    except (zipfile.BadZipFile, OSError) as error:
        raise ConfigError(f"{path} cannot be read as a bundle: {error}") from error
    return members, problems


def _tree(manifest: Manifest, members: Mapping[str, bytes]) -> Tree:
    logs: dict[str, Log] = {}
    for name, thread in manifest.threads.items():
        bodies = members.get(f"threads/{name}.jsonl", b"").split(b"\n")[:-1]
        hashes = members.get(f"threads/{name}.hashes", b"").decode("ascii", "replace").split()
        hashes += [GENESIS] * (len(bodies) - len(hashes))
        records = [(i + 1, hashes[i], body) for i, body in enumerate(bodies)]
        logs[name] = Log(thread_id=name, seq=thread.events, hash=thread.head, records=records)
    return Tree(
        run_id=manifest.run_id,
        root=manifest.root,
        logs=logs,
        blobs=_named(members, "blobs/"),
        artefacts=_named(members, "artefacts/"),
    )


def _named(members: Mapping[str, bytes], prefix: str) -> dict[str, bytes]:
    return {
        name.removeprefix(prefix): body for name, body in members.items() if name.startswith(prefix)
    }
