"""Delegation: a child's authority is never wider than its parent's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from bridle.types.permissions import Policy


def child_policy(parent: Policy, child: Policy) -> Policy:
    """The child's policy within its parent's: every call is decided by both, the stricter holds.

    The child cannot leave the workspace of its parent, is one level deeper, and can only ask where
    its parent can. Whatever else it says can take away and not add.
    """
    return msgspec.structs.replace(
        child,
        root=child.root if child.root is not None else parent.root,
        home=child.home if child.home is not None else parent.home,
        state_dir=child.state_dir if child.state_dir is not None else parent.state_dir,
        answerable=child.answerable and parent.answerable,
        depth=max(child.depth, parent.depth + 1),
        within=_deepened(parent),
    )


def _deepened(parent: Policy) -> Policy:
    """The parent's policy as it holds for a child: its rules count one level deeper."""
    within = _deepened(parent.within) if parent.within is not None else None
    return msgspec.structs.replace(parent, depth=parent.depth + 1, within=within)
