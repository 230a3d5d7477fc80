"""`hooks`: code that is run at moments of a run. Every layer keeps its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from bridle.errors import ConfigError, SpecError
from bridle.hooks.moments import AVAILABLE
from bridle.spec.base import Amount, Section

if TYPE_CHECKING:
    from pathlib import Path

    from bridle.hooks.define import Bound
    from bridle.spec.layers import Layer, Layered


class HookSection(Section, frozen=True, kw_only=True):
    """One hook: the moment, what it runs (one of three), and when."""

    event: Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(AVAILABLE)})]
    type: Literal["before", "after", "transform", "validate", "observe"] | None = None
    command: str | None = None
    handler: str | None = None
    url: str | None = None
    matcher: str | None = None
    priority: Annotated[int, msgspec.Meta(ge=0, le=100)] = 50
    timeout: Amount = 5.0
    conditions: list[dict[str, Any]] = []
    on_failure: Literal["block", "allow"] | None = None


def bind_hooks(layered: Layered, root: Path) -> tuple[Bound, ...]:
    """The hooks of all layers; a layer adds to those below it and never takes one away.

    Raises `SpecError` with the line of what is wrong. Nothing of the project is run.
    """
    found: list[Bound] = []
    for layer in layered.layers:
        entries = layer.value("hooks")
        if isinstance(entries, list):
            confined = layered.spec.flavor == "coding"
            found += [
                _bound(layer, number, entry, root, confined=confined)
                for number, entry in enumerate(entries)
            ]
    return tuple(found)


def _bound(layer: Layer, number: int, entry: Any, root: Path, *, confined: bool) -> Bound:
    from bridle.hooks.content import with_content
    from bridle.hooks.define import Hook, bind

    section = msgspec.convert(entry, HookSection)
    given = {name: getattr(section, name) for name in section.__struct_fields__}
    source = layer.at(f"hooks[{number}]")
    try:
        if section.command is not None and layer.of_project and not confined:
            raise _unconfined()
        bound = bind(
            Hook(**given),
            number,
            layer="project" if layer.of_project else "user",
            source=source,
            root=root if layer.of_project else None,
        )
        if bound.root is None and isinstance(section.handler, str):
            from bridle.hooks.handlers import find_handler

            find_handler(section.handler, None)
        return with_content(bound)
    except ConfigError as error:
        line = (source or "").rpartition(":")[2]
        raise SpecError(
            f"hooks[{number}]: {error}",
            file=layer.file,
            line=int(line) if line.isdecimal() else None,
        ) from error


def _unconfined() -> ConfigError:
    return ConfigError(
        "A project's command runs in the sandbox of its workspace, and flavor 'no_tool' has none; "
        "use a url or a handler."
    )
