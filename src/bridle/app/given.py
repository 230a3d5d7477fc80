"""What a harness makes of options that come in several forms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.models import model_registry
from bridle.app.workspace import workspace_checks
from bridle.checks.plan import CheckPlan
from bridle.checks.run import ProjectChecks
from bridle.models.choose import choose

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from bridle.app.blueprint import ResolveModel
    from bridle.app.classifier import Judge
    from bridle.models.registry import ModelRegistry
    from bridle.ports.classifier import Classifier
    from bridle.ports.store import Store
    from bridle.tools.builtin.workspace import Workplace


def checks_in(
    given: bool | CheckPlan | ProjectChecks | None,
    hide: Callable[[str], str],
    place: Workplace | None,
) -> ProjectChecks | None:
    """The checks of a place; `hide` takes secrets out of what they say."""
    if isinstance(given, ProjectChecks):
        return msgspec.structs.replace(given, hide=hide)
    if not given or place is None:
        return None
    return workspace_checks(place, given if isinstance(given, CheckPlan) else CheckPlan(), hide)


def classifier_from(
    given: str | Judge | None, resolve: ResolveModel | None, registry: Callable[[], Any]
) -> Classifier | None:
    """Who is asked before a person is, if anybody."""
    if given is None:
        return None
    from bridle.app.classifier import classifier_of

    return classifier_of(given, resolve or (lambda name: registry().resolve(name)))


def default_model(registry: Callable[[], Any], *, custom: bool) -> Callable[[], str | None]:
    """What is asked for when nothing names a model: a resolver of the user's own decides itself."""

    def default() -> str | None:
        return "default" if custom else choose(registry()).id

    return default


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
