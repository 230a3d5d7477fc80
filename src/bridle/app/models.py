"""Which model a command uses, and the registry that its id is resolved by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.app.paths import config_directory, data_directory
from bridle.models.keys import Keys
from bridle.models.registry import ModelRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.models.endpoints import ProviderConfig


def model_registry(
    environ: Mapping[str, str],
    *,
    providers: Mapping[str, ProviderConfig] | None = None,
    sources: Mapping[str, Any] | None = None,
) -> ModelRegistry:
    """The models that this user can reach, by environment, stored keys and configuration."""

    def client() -> Any:
        from bridle.models.http import HttpClient

        return HttpClient(environ=environ)

    return ModelRegistry(
        environ,
        providers=providers,
        http=client,
        keys=Keys(config_directory() / "keys"),
        data_dir=data_directory(),
        sources=sources,
    )
