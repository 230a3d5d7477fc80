"""Make random mutants of a package with existing mutation tools; used by `repair_rate.py`.

Runs in an environment that has `cosmic-ray` and `mutmut`, and nothing of Bridle. Prints one JSON
object per mutant, in the order in which they are to be tried.

    python repair_mutants.py ROOT SEED COUNT SOURCE...
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
from pathlib import Path


def files(root: Path, sources: list[str]) -> list[Path]:
    found = []
    for source in sources:
        place = root / source
        found += [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [
        p
        for p in found
        if not {"tests", "test"} & set(p.relative_to(root).parts) and "test" not in p.name
    ]


def cosmic_ray_mutants(paths: list[Path]):
    import cosmic_ray.plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code

    found = []
    for path in paths:
        code = path.read_text(encoding="utf-8")
        tree = get_ast(code)
        for name in sorted(cosmic_ray.plugins.operator_names()):
            operator = cosmic_ray.plugins.get_operator(name)
            if operator.arguments():
                continue
            count = sum(1 for node in ast_nodes(tree) for _ in operator().mutation_positions(node))
            found += [(path, name, occurrence) for occurrence in range(count)]

    def make(spec):
        path, name, occurrence = spec
        code = path.read_text(encoding="utf-8")
        return path, name, mutate_code(code, cosmic_ray.plugins.get_operator(name)(), occurrence)

    return found, make


def mutmut_mutants(paths: list[Path]):
    from mutmut.mutation.file_mutation import create_mutations, deep_replace

    found, made = [], {}
    for path in paths:
        module, mutations, *_ = create_mutations(str(path), path.read_text(encoding="utf-8"))
        made[path] = (module, mutations)
        found += [
            (path, index)
            for index, mutation in enumerate(mutations)
            if mutation.contained_by_top_level_function
        ]

    def make(spec):
        path, index = spec
        module, mutations = made[path]
        mutation = mutations[index]
        name = type(mutation.original_node).__name__
        return path, name, deep_replace(module, mutation.original_node, mutation.mutated_node).code

    return found, make


def main() -> None:
    root, seed, count = Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3])
    paths = files(root, sys.argv[4:])
    place = Path(tempfile.mkdtemp())  # mutmut wants a configuration in the current directory
    (place / "setup.cfg").write_text("[mutmut]\nsource_paths=.\n")
    os.chdir(place)
    lists = []
    for tool, maker in (("cosmic-ray", cosmic_ray_mutants), ("mutmut", mutmut_mutants)):
        with contextlib.redirect_stdout(sys.stderr):
            found, make = maker(paths)
        random.Random(f"{seed}:{root.name}:{tool}").shuffle(found)
        lists.append((tool, found, make))
    seen = set()
    for index in range(count):
        for tool, found, make in lists:
            if index >= len(found):
                continue
            with contextlib.redirect_stdout(sys.stderr):
                path, operator, code = make(found[index])
            original = path.read_text(encoding="utf-8")
            if code is None or code == original or (path, code) in seen:
                continue
            seen.add((path, code))
            relative = path.relative_to(root).as_posix()
            row = {"tool": tool, "operator": operator, "path": relative, "code": code}
            print(json.dumps(row))


if __name__ == "__main__":
    main()
