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
    slices,
    statements,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

OPERATORS: tuple[Callable[[Site], Iterator[Edit]], ...] = (
    comparisons.comparison_operator,
    comparisons.comparison_operands,
    arithmetic.binary_operator,
    arithmetic.operands,
    arithmetic.unary_operator,
    arithmetic.augmented_assignment,
    conditions.and_or,
    conditions.negated,
    conditions.filters,
    conditions.exchanged_branches,
    conditions.widened,
    constants.numbers,
    constants.flags,
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
    slices.ranges,
    statements.jumps,
    statements.returns,
    statements.deletions,
    statements.moves,
    statements.guards,
    statements.additions,
    definitions.exceptions,
    definitions.loops,
    definitions.defaults,
    definitions.decorators,
    definitions.scopes,
    ingredients.assigned_values,
    ingredients.argument_values,
    ingredients.returned_values,
)
