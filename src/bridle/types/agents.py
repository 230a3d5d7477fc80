"""Agents that work for others: what one is, what it tells of its work, and what they say."""

from typing import Any, Literal

import msgspec

from bridle.types.base import Fact
from bridle.types.tasks import Task
from bridle.types.threads import Thread
from bridle.types.usage import Usage

How = Literal["subagent", "fork", "spawn", "clone"]

AGENT_KEY = "delegated"
"""Where a thread's metadata says which agent works in it."""

MAIN = "main"
"""The name of the agent that nobody started."""


class AgentFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is fixed of an agent when it is started.

    `tools` are the only ones that the gate lets it use, None for all that it is offered. A forked
    agent begins its requests with `head`, under its parent's `cache_key`. `goals` are the tasks
    that it took over.
    """

    name: str
    how: How = "subagent"
    kind: str | None = None
    role: str = ""
    capabilities: tuple[str, ...] = ()
    mode: str | None = None
    tools: tuple[str, ...] | None = None
    head: str | None = None
    cache_key: str | None = None
    goals: tuple[Task, ...] = ()

    @property
    def forked(self) -> bool:
        """Whether its requests begin with those of its parent."""
        return self.head is not None


def facts_of(thread: Thread | None) -> AgentFacts | None:
    """The agent that works in a thread; None for the one that nobody started."""
    told = thread.metadata.get(AGENT_KEY) if thread is not None else None
    return None if told is None else msgspec.convert(told, AgentFacts)


class AgentInfo(Fact, frozen=True, kw_only=True):
    """An agent as others see it: by `id` (its thread), name, role and capabilities."""

    id: str
    name: str
    role: str = ""
    capabilities: tuple[str, ...] = ()
    parent: str | None = None
    is_over: bool = False


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent says to another; `to` is the address that it was sent to."""

    sender: str
    name: str
    to: str
    text: str


class SubagentMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The record of a subagent's work that stands at the end of its result."""

    agent_type: str
    reason: str
    model: str | None = None
    forked: bool = False
    steps: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None


_OPEN, _CLOSE = "<subagent-meta>", "</subagent-meta>"


def with_meta(text: str, meta: SubagentMeta) -> str:
    """A result with its record on the last line."""
    return f"{text}\n{_OPEN}{msgspec.json.encode(meta).decode()}{_CLOSE}"


def parse_subagent_meta(result: str) -> tuple[str, SubagentMeta | None]:
    """Part the result of a subagent from the record at its end; None where there is none.

    Only the last line counts: what a subagent says itself cannot pass for its record.
    """
    text, _, last = result.rpartition("\n")
    if not (last.startswith(_OPEN) and last.endswith(_CLOSE)):
        return result, None
    try:
        meta = msgspec.json.decode(last[len(_OPEN) : -len(_CLOSE)], type=SubagentMeta)
    except msgspec.DecodeError:
        return result, None
    return text, meta


class StepView(Fact, frozen=True, kw_only=True):
    """What `stop_when` looks at after each step: the words and calls of the step, and the sums."""

    step: int
    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    results: tuple[str, ...]
    tool_calls: int
    usage: Usage
    cost_usd: float
