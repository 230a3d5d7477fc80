"""What of a project needs trust: its hooks, and settings that reach beyond it or beyond anybody."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.trust import Claim, visible
from bridle.permissions.compile import SETTINGS
from bridle.permissions.patterns import SHELL_TOOLS, parse
from bridle.permissions.profiles import effect_named
from bridle.permissions.shell.facts import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridle.hooks.define import Bound
    from bridle.spec.layers import Layer, Layered
    from bridle.types.permissions import Policy

MODELS = ("model_policy.base_url", "model_policy.providers")
HARMLESS = ("wire",)
OUTSIDE = ("execution_policy.readable", "execution_policy.writable")
ALLOWING = ("allow", "notify")
PROFILE_FLAG = "--profile"
"""Where a profile was chosen that the command line gives: its user's word, not the project's."""

READERS = names("echo printf pwd true false ls cat head tail wc grep rg stat basename dirname")
GIT_READERS = names("status diff log show rev-parse ls-files blame")
"""Programs that run nothing else; what they could write the permission engine knows and decides."""


def claims_of(
    root: Path, layered: Layered, hooks: Sequence[Bound], policy: Policy
) -> tuple[Claim, ...]:
    """Everything in a project that the user must have trusted before it is used."""
    layers = [layer for layer in layered.layers if layer.of_project and layer.file is not None]
    found = [claim for layer in layers for claim in _settings(root, layer)]
    if layered.spec.execution_policy.sandbox == "none":
        found += _unconfined(root, layers, policy)
    counted: dict[str, int] = {}
    for bound in hooks:
        if bound.layer == "project":
            file = _within(root, (bound.source or "").rpartition(":")[0])
            number = counted[file] = counted.get(file, -1) + 1
            found.append(_hook_claim(f"{file} #{number}", bound))
    return tuple(found)


def _settings(root: Path, layer: Layer) -> Iterator[Claim]:
    name = _within(root, layer.file or "")
    models = {field: said for field in MODELS if (said := _reach(layer.value(field)))}
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
    if layer.value("execution_policy.approval_profile") == "yolo":
        yield Claim(kind="approvals", name=name, text="lets nothing be asked", mild=True)


def _unconfined(root: Path, layers: Sequence[Layer], policy: Policy) -> Iterator[Claim]:
    """A sandbox that the project turns off: harmless only where a person decides each command."""
    off = next((one for one in layers if one.value("execution_policy.sandbox") == "none"), None)
    if off is None:
        return
    name = _within(root, off.file or "")
    written = policy.profile == "yolo" and policy.profile_source != PROFILE_FLAG
    unasked = ["approval_profile yolo"] if written else []
    unasked += [field for layer in layers for field in _unasked(layer)]
    unasked += [
        f"{rule.effect} {rule.matches}"
        for rule in policy.rules
        if rule.layer == SETTINGS and rule.effect in ALLOWING and _runs_commands(rule.matches)
    ]
    if unasked:
        text = f"runs commands unasked, with all your rights: sandbox none, {', '.join(unasked)}"
        yield Claim(kind="unconfined", name=name, text=visible(text))
    else:
        text = "turns the sandbox off: what you approve runs with all your rights"
        yield Claim(kind="sandbox", name=name, text=text, mild=True)


def _unasked(layer: Layer) -> Iterator[str]:
    """What of a file lets commands run that nobody is asked about."""
    category = layer.value("execution_policy.categories.execute")
    if category is not msgspec.UNSET and effect_named(category) in ALLOWING:
        yield f"execute {category}"
    commands = layer.value("execution_policy.allowed_commands")
    for command in commands or ():  # UNSET is false
        if not _only_reads(tuple(command.split())):
            yield f"allowed {command}"
    for entry in layer.value("execution_policy.permissions") or ():
        rule = str(entry.get("pattern") or entry.get("tool"))
        if effect_named(entry["effect"]) in ALLOWING and _runs_commands(rule):
            yield f"{entry['effect']} {rule}"


def _runs_commands(rule: str) -> bool:
    pattern = parse(rule)
    shell = any(fnmatchcase(tool, glob) for glob in pattern.tools for tool in SHELL_TOOLS)
    return shell and not _only_reads(pattern.words)


def _only_reads(words: Sequence[str]) -> bool:
    match words:
        case ["git", command, *_]:
            return command in GIT_READERS
        case [program, *_]:
            return program in READERS
        case _:
            return False


def _reach(said: Any) -> Any:
    """What a setting says of where models are reached and what they cost; not in which form."""
    if said is msgspec.UNSET or not isinstance(said, dict):
        return None if said is msgspec.UNSET else said
    named = {
        provider: {key: value for key, value in config.items() if key not in HARMLESS}
        if isinstance(config, dict)
        else config
        for provider, config in said.items()
    }
    return {provider: config for provider, config in named.items() if config}


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
