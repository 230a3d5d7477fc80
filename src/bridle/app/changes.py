"""Settings that hold in one directory only, changed from a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.app.layers import LOCAL_FILE
from bridle.errors import ConfigError, SpecError
from bridle.spec.layers import combine, flag_layer, merged
from bridle.spec.text import read_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read_changes(pairs: Sequence[str]) -> dict[str, Any]:
    """Read `KEY=VALUE`s, values as YAML; a key or value that the spec refuses is refused."""
    import yaml

    given: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{pair!r} is not KEY=VALUE, as in limits.max_steps=20.")
        try:
            given[key.strip()] = read_value(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"The value of {key} is not valid YAML: {text!r}") from error
    layer = flag_layer(given)
    try:
        combine([layer])
    except SpecError as error:
        raise ConfigError(str(error).removeprefix("bridle: ")) from error
    return layer.data


def write_local(root: Path, changes: dict[str, Any]) -> None:
    """Add settings to a directory's own configuration, which git does not see."""
    import yaml

    file = root / LOCAL_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent / ".gitignore").write_text("*\n")
    present = read_value(file.read_text("utf-8")) if file.is_file() else None
    file.write_text(yaml.safe_dump(merged(present or {}, changes), sort_keys=False))
    file.chmod(0o600)
