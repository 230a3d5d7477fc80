"""The exception tree.

BridleError
  UserError         the caller can fix it; the message says how
    SpecError         a bad harness.yaml (file, line)
    ConfigError       no model, no store, an unknown name
    AnswerError       an answer to something that is not pending
    ThreadInUse       another process drains this thread
    TrustRefused      the project's code is not trusted yet
  RunError          this run cannot go on; `.retryable`
    ModelError        the provider failed; `.kind` says how
    StoreError        the record could not be written or read
      HeadMoved         somebody appended first; look again
      LeaseLost         another owner drains the thread now
      BudgetBlocked     the ledger has no room for the reservation
    RequestAbandoned  a model request was given up; the run stays open
    ReplayDiverged    the run did not repeat itself
  ToolError         told to the model as a result; the run goes on
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable


class BridleError(Exception):
    """Everything that Bridle raises on purpose."""


class UserError(BridleError):
    """The caller can fix it; the message says how."""


class SpecError(UserError):
    """A spec that is not valid; names the file and the line when they are known."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        self.file = file
        self.line = line
        where = f"{file or 'spec'}:{line}: " if line is not None else (f"{file}: " if file else "")
        super().__init__(where + message)


class ConfigError(UserError):
    """Something that is named or needed does not exist."""


class AnswerError(UserError):
    """An answer to something that is not pending, or of the wrong shape."""


class ThreadInUse(UserError):
    """Another process drains this thread; it may be steered, answered or aborted."""

    def __init__(self, thread_id: str, owner: str, since: str) -> None:
        self.thread_id = thread_id
        self.owner = owner
        self.since = since
        super().__init__(
            f"Thread {thread_id} is in use by {owner} since {since}. "
            "Steer, answer or abort it, or wait until that run ends."
        )


class TrustRefused(UserError):
    """The project brings code or permissive settings that the user has not trusted."""


class RunError(BridleError):
    """This run cannot go on."""

    retryable: bool = False


ModelErrorKind = Literal[
    "authentication",
    "bad_request",
    "rate_limit",
    "unavailable",
    "timeout",
    "context_overflow",
    "refused",
    "protocol",
    "cut",
    "script_ended",
]

_RETRYABLE = frozenset({"rate_limit", "unavailable", "timeout", "protocol", "cut"})


class ModelError(RunError):
    """The provider failed; `kind` decides retries, fallbacks and the exit code."""

    def __init__(
        self,
        message: str,
        *,
        kind: ModelErrorKind,
        status: int | None = None,
        retry_after: float | None = None,
        provider: str | None = None,
    ) -> None:
        self.kind = kind
        self.status = status
        self.retry_after = retry_after
        self.provider = provider
        self.retryable = kind in _RETRYABLE
        super().__init__(message)


class StoreError(RunError):
    """The record could not be written or read."""


class HeadMoved(StoreError):
    """The log grew since it was read; fold the new events and decide again."""


class LeaseLost(StoreError):
    """Another owner drains this thread now; late writes are refused."""


class BudgetBlocked(StoreError):
    """The ledger has no room; `final` means that waiting for siblings would not help."""

    def __init__(self, message: str, *, final: bool) -> None:
        self.final = final
        super().__init__(message)


class RequestAbandoned(RunError):
    """A model request was given up because the drain pauses; the run goes on later."""


class ReplayDiverged(RunError):
    """A replayed run did something that its log does not hold."""

    def __init__(self, seq: int, expected: str, actual: str) -> None:
        self.seq = seq
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"replay differs at event {seq}\n  recorded: {expected}\n  replayed: {actual}"
        )


class ToolError(BridleError):
    """Told to the model as the result of its call; the run goes on."""

    def __init__(self, message: str, *, hint: str | None = None, kind: str = "tool_error") -> None:
        self.message = message
        self.hint = hint
        self.kind = kind
        super().__init__(message)


def suggest(name: str, known: Iterable[str], *, what: str) -> str:
    """Say what is wrong with a name, what there is, and the nearest one."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"Unknown {what} {name!r}; have {', '.join(names) or 'none'}.{hint}"
