"""Every setting that holds here, its value, and where that comes from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.paths import config_directory, data_directory, default_store, state_directory
from bridle.app.ruling import RunOptions, read_ruling
from bridle.app.trust import trust_file
from bridle.errors import ConfigError, suggest
from bridle.spec.layers import Origin
from bridle.spec.model import HarnessSpec
from bridle.types.base import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.spec.layers import Layered


class Setting(Fact, frozen=True, kw_only=True):
    """A value, the layer that it comes from, the place in it, and what it overrode."""

    key: str
    value: Any
    layer: str
    source: str | None
    default: Any
    overrode: tuple[Origin, ...] = ()


def settings(options: RunOptions) -> list[Setting]:
    """The fields of the spec that holds here, and the directories."""
    layered = read_ruling(options).layered
    plain: dict[str, Any] = msgspec.to_builtins(layered.spec)
    default: dict[str, Any] = msgspec.to_builtins(HarnessSpec(version=1, name="bridle"))
    known = dict(_leaves(default, ""))
    found = [_setting(layered, key, value, known.get(key)) for key, value in _leaves(plain, "")]
    return [*found, *_places()]


def _setting(layered: Layered, key: str, value: Any, default: Any) -> Setting:
    """Who wrote a value; where a deny of a weaker layer holds, that layer did."""
    origins = layered.origins(key)
    winner = next((one for one in origins if one.value == value), origins[0] if origins else None)
    return Setting(
        key=key,
        value=value,
        layer=winner.layer if winner is not None else "default",
        source=winner.source if winner is not None else None,
        default=default,
        overrode=tuple(one for one in origins if one is not winner),
    )


def explain_setting(options: RunOptions, key: str) -> list[Setting]:
    """One setting, or all of a section; raises `ConfigError` with the nearest name."""
    everything = settings(options)
    chosen = [one for one in everything if one.key == key or one.key.startswith(f"{key}.")]
    if not chosen:
        raise ConfigError(suggest(key, [one.key for one in everything], what="setting"))
    return chosen


def _leaves(value: dict[str, Any], at: str) -> Iterator[tuple[str, Any]]:
    for name, below in value.items():
        key = f"{at}.{name}" if at else name
        if isinstance(below, dict) and below:
            yield from _leaves(below, key)
        else:
            yield key, below


def _places() -> Iterator[Setting]:
    places = (
        ("state", str(state_directory()), "XDG_STATE_HOME"),
        ("config", str(config_directory()), "XDG_CONFIG_HOME"),
        ("data", str(data_directory()), "XDG_DATA_HOME"),
        ("store", default_store(), "XDG_STATE_HOME"),
        ("trust", str(trust_file()), "XDG_STATE_HOME"),
    )
    for name, value, variable in places:
        origin = next((v for v in ("BRIDLE_HOME", variable) if os.environ.get(v)), None)
        yield Setting(
            key=f"directories.{name}",
            value=value,
            layer="environment" if origin else "default",
            source=origin,
            default=None,
        )
