"""Layer what the user says over a pack over a profile, and remember where each value came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ConfigError, suggest
from bridle.models.profiles import PACKS, Pack, PromptLevel, ToolSurface
from bridle.models.text_tools import ToolCallFormat
from bridle.ports.model import ModelSettings, Reasoning

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridle.ports.model import Model

_FIELDS = tuple(
    name for name in Pack.__struct_fields__ if name not in ("name", "description", "match")
)


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is used. `origin` names, for each value that is set, who set it."""

    temperature: float | None = None
    reasoning: Reasoning | None = None
    tool_call_format: ToolCallFormat = "native"
    parallel_tools: bool = True
    history: int | None = None
    prompt: PromptLevel = "full"
    tools: ToolSurface = "all"
    max_steps: int | None = None
    max_output_tokens: int | None = None
    context_window: int | None = None
    repair: bool = False
    origin: dict[str, str] = {}

    def settings(self, *, output_schema: dict[str, Any] | None = None) -> ModelSettings:
        """The part of it that is sent with each request."""
        return ModelSettings(
            temperature=self.temperature,
            reasoning=self.reasoning,
            max_output_tokens=self.max_output_tokens,
            parallel_tool_calls=self.parallel_tools,
            output_schema=output_schema,
        )


def tune(
    model: str,
    *,
    profile: str | None = None,
    pack: str | None = None,
    explicit: Mapping[str, Any] | None = None,
    own: Mapping[str, Pack] | None = None,
) -> Tuning:
    """Settle how a model is used: explicit values win over the pack, the pack over the profile.

    Without a named pack, the first whose `match` is part of the model's id is taken, if the id is
    of a provider that runs locally or the user's own packs match it. Calls of a model with a pack
    are repaired. Raises `ConfigError` for unknown names and values out of range.
    """
    known = {**PACKS, **(own or {})}
    layers: list[tuple[str, Pack]] = []
    if profile is not None:
        layers.append((f"profile {profile}", _named(profile, known, "profile")))
    chosen = _named(pack, known, "pack") if pack is not None else detect(model, own=own)
    if chosen is not None:
        layers.append((f"pack {chosen.name}", chosen))
    told = {name: value for name, value in (explicit or {}).items() if value is not None}
    if told:
        layers.append(("model_policy", _explicit(told)))
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for who, layer in layers:
        for name in _FIELDS:
            if (value := getattr(layer, name)) is not None:
                values[name], origin[name] = value, who
    return Tuning(**values, origin=origin, repair=chosen is not None)


def detect(model: str, *, own: Mapping[str, Pack] | None = None) -> Pack | None:
    """The pack that fits a model by its id."""
    name = model.lower()
    for pack in (own or {}).values():
        if any(part.lower() in name for part in pack.match):
            return pack
    if name.partition("/")[0] not in ("ollama", "vllm", "lmstudio", "local"):
        return None
    return next((p for p in PACKS.values() if any(part in name for part in p.match)), None)


def fitted(model: Model, tuning: Tuning) -> Model:
    """The model, wrapped if its calls are to be read from text or repaired."""
    if tuning.tool_call_format == "native" and not tuning.repair:
        return model
    from bridle.models.text_calls import TextCalls

    return TextCalls(model, tuning.tool_call_format)


def load_packs(directory: Path) -> dict[str, Pack]:
    """The user's packs: `*.yaml` files, one pack each, named by their `name` or their file."""
    if not directory.is_dir():
        return {}
    found = {}
    for path in sorted([*directory.glob("*.yaml"), *directory.glob("*.yml")]):
        pack = _read_pack(path)
        found[pack.name] = pack
    return found


def _read_pack(path: Path) -> Pack:
    import yaml

    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"Cannot read the pack {path}: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"The pack {path} must be a map such as {{temperature: 0.1}}.")
    return _checked({"name": path.stem, **raw}, str(path))


def _explicit(values: dict[str, Any]) -> Pack:
    return _checked({"name": "model_policy", **values}, "model_policy")


def _checked(raw: dict[str, Any], where: str) -> Pack:
    for name in raw:
        if name not in Pack.__struct_fields__:
            known = suggest(str(name), Pack.__struct_fields__, what="field")
            raise ConfigError(f"{where}: {known}")
    try:
        return msgspec.convert(raw, Pack)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}.") from error


def _named(name: str, known: Mapping[str, Pack], what: str) -> Pack:
    if name not in known:
        raise ConfigError(suggest(name, known, what=what))
    return known[name]
