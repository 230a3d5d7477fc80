"""What of a project needs trust: its hooks, and settings that reach beyond it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.trust import Claim, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridle.hooks.define import Bound
    from bridle.spec.layers import Layer, Layered

MODELS = ("model_policy.base_url", "model_policy.providers")
OUTSIDE = ("execution_policy.readable", "execution_policy.writable")


def claims_of(root: Path, layered: Layered, hooks: Sequence[Bound]) -> tuple[Claim, ...]:
    """Everything in a project that the user must have trusted before it is used."""
    found = [
        claim
        for layer in layered.layers
        if layer.of_project and layer.file is not None
        for claim in _settings(root, layer)
    ]
    counted: dict[str, int] = {}
    for bound in hooks:
        if bound.layer == "project":
            file = _within(root, (bound.source or "").rpartition(":")[0])
            number = counted[file] = counted.get(file, -1) + 1
            found.append(_hook_claim(f"{file} #{number}", bound))
    return tuple(found)


def _settings(root: Path, layer: Layer) -> Iterator[Claim]:
    name = _within(root, layer.file or "")
    models = {field: said for field in MODELS if (said := layer.value(field)) is not msgspec.UNSET}
    if models:
        text = f"sends your key and your code to {_shown(models)}"
        yield Claim(kind="models", name=name, text=visible(text))
    for field in OUTSIDE:
        said = layer.value(field)
        paths = [path for path in said if _leaves(root, path)] if isinstance(said, list) else []
        if paths:
            verb = field.rpartition(".")[2]
            text = f"makes {', '.join(paths)} {verb}"
            yield Claim(kind=verb, name=name, text=visible(text))
    if layer.value("execution_policy.sandbox") == "none":
        text = "turns the sandbox off: commands and checks run with all your rights"
        yield Claim(kind="sandbox", name=name, text=text, mild=True)
    if layer.value("execution_policy.approval_profile") == "yolo":
        yield Claim(kind="approvals", name=name, text="lets nothing be asked", mild=True)


def _hook_claim(name: str, bound: Bound) -> Claim:
    hook = bound.hook
    details = {
        "type": bound.type,
        "matcher": hook.matcher,
        "priority": hook.priority,
        "timeout": hook.timeout,
        "conditions": list(hook.conditions),
        "on_failure": bound.on_failure,
    }
    said = ", ".join(f"{key} {_shown(value)}" for key, value in details.items() if value)
    text = f"on {hook.event} runs {bound.runs} ({said})"
    return Claim(kind="hook", name=name, text=visible(text), files=dict(bound.content))


def _leaves(root: Path, path: Any) -> bool:
    return not (root / Path(str(path)).expanduser()).resolve().is_relative_to(root)


def _within(root: Path, file: str) -> str:
    path = Path(file).resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
