"""The agents of a tree: who there is, by what they are addressed, whether they still work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types.agents import MAIN, AgentInfo, facts_of

if TYPE_CHECKING:
    from bridle.ports.store import Store
    from bridle.types.threads import Thread


async def agents_of(store: Store, thread: Thread) -> tuple[AgentInfo, ...]:
    """All agents of the tree that a thread is in, the oldest first."""
    root = thread
    while root.parent_thread is not None:
        above = await store.thread(root.parent_thread)
        if above is None:  # it was deleted; what is below it is a tree of its own
            break
        root = above
    found = [await _info(store, root)]
    for name in sorted(await store.children(root.id)):
        below = await store.thread(name)
        if below is not None:
            found.append(await _info(store, below))
    return tuple(found)


async def _info(store: Store, thread: Thread) -> AgentInfo:
    facts = facts_of(thread)
    runs = await store.runs(thread_id=thread.id, limit=1)
    waits = await store.unfinished([thread.id])
    is_over = bool(runs) and runs[0].status == "ended" and not waits
    if facts is None:
        return AgentInfo(id=thread.id, name=MAIN, parent=thread.parent_thread)
    return AgentInfo(
        id=thread.id,
        name=facts.name,
        role=facts.role or facts.kind or "",
        capabilities=facts.capabilities,
        parent=thread.parent_thread,
        is_over=is_over,
    )
