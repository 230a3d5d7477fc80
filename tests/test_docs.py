"""What the documentation says is so: code runs, commands exist, links lead somewhere."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from bridle.models.script_file import load_script
from bridle.spec.load import parse_spec
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.main import COMMANDS
from support.cli import EXECUTABLE
from support.markdown import PAGES, ROOT, Block, anchors, blocks, links, prose

GENERATED = ROOT / "docs" / "reference" / "python.md"
INSTALLING = "scripts/install && .venv/bin/"  # the tests run in the environment that this makes
ACTIVATING = ". .venv/bin/activate"
PAGES_OF_COMMANDS = [
    "README.md",
    "docs/start.md",
    "docs/running.md",
    "docs/configuration.md",
    "docs/hooks.md",
    "docs/reference/observing.md",
]
CODE = re.compile(r"`([^`]+)`")


def every(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page, *languages)]


# --- Python ------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", every("python"), ids=lambda block: block.name)
def test_a_python_block_runs(block: Block, tmp_path: Path) -> None:
    if block.reason is not None:
        pytest.skip(block.reason)
    program = tmp_path / "block.py"
    program.write_text(block.body)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_only_signatures_escape_being_run() -> None:
    assert {block.page for block in every("py")} == {GENERATED}


# --- shell -------------------------------------------------------------------------------------


def as_script(block: Block, home: Path) -> str:
    """A block as bash runs it: an exit code that is announced is expected, ID is what waits."""
    lines = [f"# {block.name}"]
    for line in block.body.replace("/tmp/first", str(home / "first")).splitlines():
        command, _, comment = line.partition("  # ")
        announced = re.match(r"exit code (\d+)", comment)
        if re.search(r"\bID\b", command):
            waiting = "bridle approvals --json | python3 -c " + shlex.quote(
                "import json, sys; print(json.load(sys.stdin)[0]['id'])"
            )
            command = re.sub(r"\bID\b", f'"$({waiting})"', command)
        if announced is None:
            lines.append(command)
        else:
            lines.append(f"code=0; {command} || code=$?; test $code = {announced[1]}")
    return "\n".join(lines)


@pytest.mark.timeout(300)  # they repair, wait and resume; a busy machine takes its time
@pytest.mark.parametrize("page", PAGES_OF_COMMANDS)
def test_the_commands_of_a_page_work_one_after_the_other(page: str, tmp_path: Path) -> None:
    found = [block for block in blocks(ROOT / page, "sh") if block.reason is None]
    assert found
    script = "\n".join(as_script(b, tmp_path) for b in found if b.body.strip() != "scripts/test")
    script = script.replace(INSTALLING, "").replace(ACTIVATING, ":")
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=clone,
        env={
            "PATH": f"{EXECUTABLE.parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "BRIDLE_HOME": str(tmp_path / "bridle"),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if page == "README.md":
        assert "end_turn, verified" in done.stderr
        assert "Outcome ambiguous" in done.stderr
        assert re.search(r"^equal: \d+ events", done.stdout, re.MULTILINE)


def named_commands() -> list[tuple[str, str]]:
    """Every use of `bridle …` in code, with its place."""
    found = [(block.name, line) for block in every("sh") for line in block.body.splitlines()]
    found += [(str(page), code) for page in PAGES for code in CODE.findall(prose(page))]
    return [
        (place, use.strip())
        for place, text in found
        for use in re.findall(r"(?:^|[\s(/])bridle ([^|&;#`)]+)", text)
    ]


def test_commands_and_options_that_are_named_exist() -> None:
    used = set()
    for place, use in named_commands():
        words = use.split()
        if words[0] in ("--version", "--help", "COMMAND"):
            continue
        assert words[0] in COMMANDS, f"{place}: bridle {use}"
        module = importlib.import_module(f"bridle.surfaces.cli.commands.{COMMANDS[words[0]][0]}")
        command: click.Command = module.command
        known = {name for option in command.params for name in option.opts} | {"--help"}
        for word in words[1:]:
            if word.startswith("-"):
                assert word.split("=")[0] in known, f"{place}: bridle {use}"
        used.add(words[0])
    assert used == set(COMMANDS), "a command that no page names"


def test_scripts_that_are_named_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"\bscripts/([a-z-]+)", page.read_text("utf-8")):
            assert (ROOT / "scripts" / name).exists(), f"{page}: scripts/{name}"


# --- YAML, tables, links -----------------------------------------------------------------------


@pytest.mark.parametrize("block", every("yaml"), ids=lambda block: block.name)
def test_a_yaml_block_is_a_valid_spec_or_script(block: Block, tmp_path: Path) -> None:
    if isinstance(yaml.safe_load(block.body), list):
        (tmp_path / "script.yaml").write_text(block.body)
        assert load_script(tmp_path / "script.yaml")
    else:
        assert parse_spec(block.body, file=block.name)


def test_the_reference_follows_from_the_code() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "reference"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_exit_codes_are_those_of_the_program() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text("utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert listed == {value for name, value in vars(exits).items() if name.isupper() and
                      isinstance(value, int)}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}"


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"[\w/-]+\.md", text))
    pages = {
        str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")
    }
    decisions = {page for page in pages if re.match(r"adr/\d{4}-", page)}
    assert listed == pages - decisions


def test_a_decision_is_at_most_a_page() -> None:
    for page in (ROOT / "docs" / "adr").glob("0*.md"):
        text = page.read_text("utf-8")
        assert re.match(rf"# {page.name[:4]}: ", text), page.name
        assert len(text.splitlines()) <= 60, page.name


# --- features ----------------------------------------------------------------------------------

ORDER = [
    f"{letter}{number}"
    for letter, count in (("M", 15), ("L", 10), ("S", 15), ("C", 14), ("B", 12))
    for number in range(1, count + 1)
]


def test_features_are_real_in_order_and_shown_by_a_test() -> None:
    page = ROOT / "docs" / "features.md"
    rows = re.findall(
        r"^\| (\w\d+) \| .+? \| (.+?) \| (.+?) \|$", page.read_text("utf-8"), re.MULTILINE
    )
    ids = [row[0] for row in rows]
    assert ids == [name for name in ORDER if name in set(ids)]
    assert len(ids) == page.read_text("utf-8").count("\n| ") - 2, "a row that cannot be read"
    for name, explained, shown in rows:
        assert re.search(r"\]\(\S+\.md(#\S+)?\)", explained), f"{name} has no page"
        tests = re.findall(r"`(tests/\S+?\.py)::(\w+)`", shown)
        assert tests, f"{name} has no test"
        for file, function in tests:
            assert re.search(
                rf"^(async )?def {function}\(", (ROOT / file).read_text(), re.MULTILINE
            ), file


def test_the_picture_shows_what_the_program_prints(tmp_path: Path) -> None:
    """The lines of the picture are those of a real run, but for ids and counts."""
    drawn = tmp_path / "run.svg"
    command = [sys.executable, str(ROOT / "scripts" / "picture"), str(drawn)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr

    def alike(picture: Path) -> set[str]:
        texts = re.findall(r"<text[^>]*>(.*?)</text>", picture.read_text("utf-8"))
        lines = [re.sub(r"<[^>]*>", "", text).strip() for text in texts]
        kept = [line for line in lines if line and not line.startswith("search ")]
        counts = r"run_\w{26}|done \d+|\d+$|\d+ s\.|[\d.]+ s\)|\d* ?edits were"
        return {re.sub(counts, "…", line).replace("python3 ", "python ") for line in kept}

    assert alike(drawn) == alike(ROOT / "docs" / "run.svg")
