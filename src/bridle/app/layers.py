"""The configuration that holds in a directory: the user's, the project's, yours there, the
environment's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.app.paths import config_directory
from bridle.spec.layers import Layer, Layered, combine, environment_layer, file_layer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

USER_FILE = "config.yaml"
LOCAL_FILE = ".bridle/local/config.yaml"


def read_layers(root: Path, spec: Path | None, environ: Mapping[str, str]) -> Layered:
    """Defaults < user < harness.yaml < local < environment; raises `SpecError` with the line."""
    layers: list[Layer] = []
    user = config_directory() / USER_FILE
    if user.is_file():
        layers.append(file_layer("user", user))
    if spec is not None:
        layers.append(file_layer("harness.yaml", spec, whole=True, of_project=True))
    local = root / LOCAL_FILE
    if local.is_file():
        layers.append(file_layer("local", local, of_project=True))
    given = environment_layer(environ)
    if given is not None:
        layers.append(given)
    return combine(layers)
