"""A graph as text, Mermaid, DOT and SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.runs.graph import Graph, Node

ROW = 34
INDENT = 28
HEIGHT = 24
MARGIN = 16
CHARACTER = 7.3
COLOURS = {
    "run": ("#e8eaf6", "#3949ab"),
    "step": ("#f5f5f5", "#757575"),
    "call": ("#e8f5e9", "#2e7d32"),
    "failed": ("#fff3e0", "#ef6c00"),
    "denied": ("#ffebee", "#c62828"),
    "waiting": ("#fffde7", "#f9a825"),
}


class Placed(Fixed, frozen=True, kw_only=True):
    """A node in its row."""

    node: Node
    depth: int
    row: int


def as_text(graph: Graph) -> str:
    """The graph as an indented tree."""
    together = graph.parallel()
    lines = []
    for place in _walk(graph):
        mark = " ∥" if place.node.id in together else ""
        lines.append(f"{'  ' * place.depth}{_sign(place.node)} {_said(place.node)}{mark}")
    return "\n".join(lines)


def _sign(node: Node) -> str:
    if node.kind != "call":
        return {"run": "●", "step": "○"}[node.kind]
    return {"done": "✓", "denied": "✗", "failed": "!"}.get(node.state, "…")


def _said(node: Node) -> str:
    time = f" {node.duration_ms} ms" if node.duration_ms is not None else ""
    if node.kind == "run":
        return f"{node.id} {node.label} [{node.state}]{time}"
    state = f" [{node.state}]" if node.kind == "call" and node.state != "done" else ""
    return f"{node.label}{state}{time if node.kind == 'call' else ''}"


def _walk(graph: Graph) -> Iterator[Placed]:
    """Nodes top to bottom; a node stands one deeper than the one above it."""
    depths: dict[str, int] = {}
    above = {e.target: e.source for e in graph.edges if e.kind == "parent"}
    for row, node in enumerate(graph.nodes):
        depths[node.id] = depths[above[node.id]] + 1 if node.id in above else 0
        yield Placed(node=node, depth=depths[node.id], row=row)


def as_mermaid(graph: Graph) -> str:
    """The graph for Mermaid."""
    names = _names(graph)
    lines = ["flowchart TD"]
    shapes = {"run": ("([", "])"), "step": ("(", ")"), "call": ("[", "]")}
    for node in graph.nodes:
        left, right = shapes[node.kind]
        text = _said(node).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        lines.append(f'  {names[node.id]}{left}"{text}"{right}:::{_colour(node)}')
    arrows = {"parent": "-->", "next": "-.->", "parallel": "<-. parallel .->"}
    lines += [f"  {names[e.source]} {arrows[e.kind]} {names[e.target]}" for e in graph.edges]
    lines += [
        f"  classDef {name} fill:{fill},stroke:{line},color:#1b1b1f"
        for name, (fill, line) in COLOURS.items()
    ]
    return "\n".join(lines)


def as_dot(graph: Graph) -> str:
    """The graph for Graphviz."""
    names = _names(graph)
    lines = ["digraph run {", '  node [shape=box, style="rounded,filled", fontname="sans-serif"];']
    for node in graph.nodes:
        fill, line = COLOURS[_colour(node)]
        text = _said(node).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  {names[node.id]} [label="{text}", fillcolor="{fill}", color="{line}"];')
    styles = {
        "parent": "",
        "next": " [style=dashed, constraint=false]",
        "parallel": ' [dir=both, style=dotted, constraint=false, label="parallel"]',
    }
    lines += [f"  {names[e.source]} -> {names[e.target]}{styles[e.kind]};" for e in graph.edges]
    return "\n".join([*lines, "}"])


def as_svg(graph: Graph) -> str:
    """The graph as a picture: a tree from top to bottom, calls that ran together tied by a line."""
    places = {place.node.id: place for place in _walk(graph)}
    right = max(_left(place) + _width(place.node) for place in places.values())
    width, height = right + 3 * MARGIN, len(places) * ROW + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" role="img">',
        f"<title>{escape(graph.nodes[0].label)}</title>",
        f'<rect width="{width:.0f}" height="{height}" fill="#ffffff"/>',
        '<g fill="none" stroke="#9e9e9e" stroke-width="1.2">',
    ]
    for edge in graph.edges:
        source, target = places[edge.source], places[edge.target]
        if edge.kind == "parent":
            x, bottom = _left(source) + 12, _top(source) + HEIGHT
            middle = _top(target) + HEIGHT / 2
            parts.append(f'<path d="M{x:.0f} {bottom} V{middle:.0f} H{_left(target):.0f}"/>')
        elif edge.kind == "parallel":
            edge_x = max(_left(p) + _width(p.node) for p in (source, target))
            a, b = _top(source) + HEIGHT / 2, _top(target) + HEIGHT / 2
            near, far = _left(source) + _width(source.node), _left(target) + _width(target.node)
            parts.append(
                f'<path stroke="#3949ab" stroke-dasharray="3 3" '
                f'd="M{near:.0f} {a:.0f} H{edge_x + 14:.0f} V{b:.0f} H{far:.0f}">'
                "<title>parallel</title></path>"
            )
    parts.append('</g><g font-family="ui-monospace, monospace" font-size="12" fill="#1b1b1f">')
    parts += [_box(place) for place in places.values()]
    return "\n".join([*parts, "</g></svg>"])


def _box(place: Placed) -> str:
    fill, line = COLOURS[_colour(place.node)]
    x, y = _left(place), _top(place)
    text = f"{_sign(place.node)} {_said(place.node)}"
    return (
        f"<g><title>event {place.node.seq} of {escape(place.node.thread_id)}</title>"
        f'<rect x="{x}" y="{y}" width="{_width(place.node):.0f}" height="{HEIGHT}" rx="5" '
        f'fill="{fill}" stroke="{line}"/>'
        f'<text x="{x + 8}" y="{y + 16}" xml:space="preserve">{escape(text)}</text></g>'
    )


def _left(place: Placed) -> int:
    return MARGIN + place.depth * INDENT


def _top(place: Placed) -> int:
    return MARGIN + place.row * ROW


def _width(node: Node) -> float:
    return (len(_said(node)) + 2) * CHARACTER + 16


def _colour(node: Node) -> str:
    if node.state in ("failed", "denied", "waiting"):
        return node.state
    return node.kind


def _names(graph: Graph) -> dict[str, str]:
    return {node.id: f"n{index}" for index, node in enumerate(graph.nodes)}
