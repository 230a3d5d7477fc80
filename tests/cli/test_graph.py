"""The graph of a run in every format."""

from __future__ import annotations

from xml.etree import ElementTree

from support.cli import Bridle

PARALLEL = """\
- calls:
    - {tool: grep, args: {pattern: milk}}
    - {tool: read_file, args: {path: notes.txt}}
    - {tool: bash, args: {command: git push}}
- says: "Done & <dusted>."
"""


def test_runs_steps_calls_and_children(parent: Bridle) -> None:
    (found,) = parent("graph", "last", "--json").json
    kinds = [node["kind"] for node in found["nodes"]]
    assert kinds == ["run", "step", "call", "run", "step", "call", "call", "step", "step"]
    run, step, call, child = found["nodes"][:4]
    parents = {(e["source"], e["target"]) for e in found["edges"] if e["kind"] == "parent"}
    assert {(run["id"], step["id"]), (step["id"], call["id"]), (call["id"], child["id"])} <= parents
    together = [(e["source"], e["target"]) for e in found["edges"] if e["kind"] == "parallel"]
    assert {name for pair in together for name in pair} == {n["id"] for n in found["nodes"][5:7]}
    text = parent("graph", "last").out
    assert text.count("∥") == 2
    assert "      ● run_" in text
    assert text.splitlines()[0].startswith(f"● {run['id']} go")


def test_every_format_can_be_read(bridle: Bridle) -> None:
    (bridle.cwd / "script.yaml").write_text(PARALLEL)
    assert bridle("run", '<look> & "see"', "--model", "scripted/script.yaml").code == 0
    picture = bridle("graph", "last", "--format", "svg").out
    root = ElementTree.fromstring(picture)
    texts = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len(texts) == 6
    assert any("bash(git push) [denied]" in text for text in texts)
    mermaid = bridle("graph", "last", "--format", "mermaid").out
    assert mermaid.startswith("flowchart TD")
    assert ":::denied" in mermaid
    dot = bridle("graph", "last", "--format", "dot").out
    assert dot.startswith("digraph run {")
    assert dot.rstrip().endswith("}")
    assert bridle("graph", "last", "--format", "png").code == 2
