"""Where the weights of local models lie: `<data>/models/NAME.gguf`, or any file of the user."""

from __future__ import annotations

from pathlib import Path

from bridle.errors import ConfigError, suggest

PULLABLE = ("smollm2",)
"""Names that `bridle models pull` knows; see `pull.py`."""


def models_dir(data_dir: Path) -> Path:
    """The directory that pulled weights are kept in."""
    return data_dir / "models"


def weights_of(name: str, data_dir: Path) -> Path:
    """The file of a pulled model, whether it is there or not."""
    return models_dir(data_dir) / f"{name}.gguf"


def pulled(data_dir: Path) -> list[str]:
    """The names of the models in the data directory, those that ship with Bridle first."""
    directory = models_dir(data_dir)
    if not directory.is_dir():
        return []
    names = sorted(path.stem for path in directory.glob("*.gguf"))
    return [n for n in PULLABLE if n in names] + [n for n in names if n not in PULLABLE]


def find_weights(name: str, data_dir: Path | None) -> Path:
    """The file of `local/NAME` or `local/FILE.gguf`; `ConfigError` says how to get it."""
    if name.endswith(".gguf"):
        path = Path(name).expanduser()
        for candidate in (path, models_dir(data_dir) / path.name if data_dir else path):
            if candidate.is_file():
                return candidate
        raise ConfigError(f"There is no file {path}; local/FILE.gguf takes the path of a GGUF.")
    have = pulled(data_dir) if data_dir is not None else []
    if data_dir is not None and name in have:
        return weights_of(name, data_dir)
    if name in PULLABLE:
        raise ConfigError(f"local/{name} is not here yet; run: bridle models pull {name}")
    told = suggest(name, {*have, *PULLABLE}, what="local model")
    raise ConfigError(f"{told} A file of yours is local/PATH.gguf.")
