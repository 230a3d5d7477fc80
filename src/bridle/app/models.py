"""The models of a harness, and the registry that their ids are resolved by."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.paths import config_directory, data_directory
from bridle.app.records import open_records
from bridle.app.tapes import tape_source
from bridle.errors import UserError, suggest
from bridle.models.choose import choose
from bridle.models.keys import Keys
from bridle.models.packs import Tuning, tune
from bridle.models.registry import ModelRegistry
from bridle.ports.model import Model
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from bridle.models.endpoints import ProviderConfig
    from bridle.ports.store import Store

UseCounts = Mapping[str, int] | Callable[[], Mapping[str, int]]
ResolveModel = Callable[[str], Model | Awaitable[Model]]


class Models(Fixed, frozen=True, kw_only=True):
    """Which models a harness uses, where they come from and how they are used.

    `own` is a resolver of the user's own: it knows its models itself. `name` is the model that is
    taken where a thread, a mode and an agent name none.
    """

    registry: LazyRegistry
    own: ResolveModel | None = None
    name: str | None = None
    fallbacks: tuple[str, ...] = ()
    auth: Callable[[str], Any] | None = None
    use_counts: UseCounts = msgspec.field(default_factory=dict)
    tuning: Callable[[str], Tuning] = tune

    def resolve(self, name: str) -> Model | Awaitable[Model]:
        """The model of an id."""
        return self.own(name) if self.own is not None else self.registry().resolve(name)

    def default(self) -> str:
        """What is asked for when nothing names a model: a resolver of one's own decides itself."""
        return "default" if self.own is not None else choose(self.registry()).id

    def check(self, name: str | None) -> None:
        """Refuse a model of an unknown provider; raises `ConfigError` with the nearest name."""
        if name is not None and "/" in name and self.own is None:
            self.registry().full_id(name)


class LazyRegistry:
    """The registry of models: the one given, or one that is made when a model is first looked for.

    Closing it closes the connections that wait for reuse; it may be used again.
    """

    def __init__(
        self,
        records: Callable[[], AbstractAsyncContextManager[Store]],
        given: ModelRegistry | None = None,
    ) -> None:
        self._records = records
        self._made = given

    def __call__(self) -> ModelRegistry:
        """The registry."""
        if self._made is None:
            self._made = model_registry(os.environ, records=self._records)
        return self._made

    async def aclose(self) -> None:
        """Let go of connections and weights, if any were needed."""
        if self._made is not None:
            await self._made.aclose()


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
