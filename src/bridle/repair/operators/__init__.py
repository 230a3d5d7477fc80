"""Edit operators: each looks at one statement and proposes exact textual edits with a weight.

The weight says how often such an edit is the right one, from 0 to 1; operators know nothing of
tests, suspicion or time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.repair.operators import (
    arithmetic,
    calls,
    comparisons,
    conditions,
    constants,
    definitions,
    ingredients,
    names,
    orphans,
    slices,
    statements,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

SIMPLE: tuple[Callable[[Site], Iterator[Edit]], ...] = (
    comparisons.comparison_operator,
    arithmetic.binary_operator,
    arithmetic.unary_operator,
    arithmetic.augmented_assignment,
    conditions.and_or,
    conditions.negated,
    conditions.filters,
    conditions.exchanged_branches,
    constants.numbers,
    constants.flags,
    slices.ranges,
    statements.jumps,
    statements.returns,
    definitions.exceptions,
)
"""One token, few choices, often right: worth trying wherever a failing test comes by."""

ELABORATE: tuple[Callable[[Site], Iterator[Edit]], ...] = (
    comparisons.comparison_operands,
    arithmetic.operands,
    conditions.widened,
    constants.strings,
    constants.patterns,
    names.variables,
    names.attributes,
    names.owners,
    calls.exchanged_arguments,
    calls.dropped_arguments,
    calls.added_arguments,
    calls.keyword_names,
    calls.unwrapped,
    calls.wrapped,
    slices.indexes,
    slices.slice_bounds,
    slices.subscripted,
    statements.deletions,
    statements.moves,
    statements.guards,
    statements.additions,
    definitions.loops,
    definitions.defaults,
    definitions.decorators,
    definitions.scopes,
    orphans.lost_values,
    ingredients.assigned_values,
    ingredients.argument_values,
    ingredients.returned_values,
)
"""Many choices: only where suspicion is highest."""
