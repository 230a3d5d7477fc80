"""Which model a command uses, and the registry that its id is resolved by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.app.paths import config_directory, data_directory
from bridle.app.records import open_records
from bridle.app.tapes import tape_source
from bridle.errors import UserError, suggest
from bridle.models.keys import Keys
from bridle.models.registry import ModelRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from bridle.models.endpoints import ProviderConfig
    from bridle.ports.model import Model
    from bridle.ports.store import Store


def model_registry(
    environ: Mapping[str, str],
    *,
    providers: Mapping[str, ProviderConfig] | None = None,
    records: Callable[[], AbstractAsyncContextManager[Store]] = open_records,
) -> ModelRegistry:
    """The models that this user can reach, by environment, stored keys and configuration.

    `records` opens the store whose runs can be models: `replay/RUN`.
    """

    def client() -> Any:
        from bridle.models.http import HttpClient

        return HttpClient(environ=environ)

    return ModelRegistry(
        environ,
        providers=providers,
        http=client,
        keys=Keys(config_directory() / "keys"),
        data_dir=data_directory(),
        sources={"embedded": embedded_model, "replay": tape_source(records)},
    )


def embedded_model(name: str) -> Model:
    """The models that come with the program."""
    from bridle.repair.model import MODEL_ID, RepairModel

    if f"embedded/{name}" != MODEL_ID:
        raise UserError(suggest(name, ["repair"], what="embedded model"))
    return RepairModel()
