"""What a harness makes of options that come in several forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.app.workspace import workspace_checks
from bridle.checks.plan import CheckPlan
from bridle.checks.run import ProjectChecks

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.app.classifier import Judge
    from bridle.app.models import ResolveModel
    from bridle.ports.classifier import Classifier
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


def classifier_from(given: str | Judge | None, resolve: ResolveModel) -> Classifier | None:
    """Who is asked before a person is, if anybody."""
    if given is None:
        return None
    from bridle.app.classifier import classifier_of

    return classifier_of(given, resolve)
