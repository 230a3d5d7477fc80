"""Print what is large or broad in the code: a mirror to look into, not a gate to pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("src", "tests", "examples", "benchmarks", "scripts")
FILE_LINES = 400
FUNCTION_LINES = 60
CLASS_METHODS = 15

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def files() -> Iterator[Path]:
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*.py")):
            if "__pycache__" not in path.parts:
                yield path


def reflections(path: Path) -> Iterator[str]:
    name = path.relative_to(ROOT)
    text = path.read_text("utf-8")
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield f"{name}: {lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, FUNCTIONS):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{name}:{node.lineno}: {node.name}() has {length} lines"
        elif isinstance(node, ast.ClassDef):
            methods = sum(isinstance(part, FUNCTIONS) for part in node.body)
            if methods > CLASS_METHODS:
                yield f"{name}:{node.lineno}: class {node.name} has {methods} methods"
        elif isinstance(node, ast.ExceptHandler) and is_broad(node) and name.parts[0] == "src":
            yield f"{name}:{node.lineno}: broad except"


def is_broad(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in ("Exception", "BaseException"))
        for name in names
    )


def main() -> None:
    seen = [line for path in files() for line in reflections(path)]
    print(f"mirror: {len(seen)} to look at" if seen else "mirror: nothing to look at")
    for line in seen:
        print(f"  {line}")


if __name__ == "__main__":
    main()
