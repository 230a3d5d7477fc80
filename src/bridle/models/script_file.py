"""`scripted/FILE`: answers from a YAML list, chosen by the step, so that a killed run goes on.

Each item is one response: `says`, `thinks`, `calls: [{tool, args}]`, `fails: {status|kind}`, and
optionally `stop`, `usage`, `stalls` (seconds), `cuts` (parts).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ConfigError, suggest
from bridle.models.script import Call, Cut, Element, Report, Say, Stall, Think, fails, play
from bridle.ports.clock import SystemClock
from bridle.types.ledger import FREE, Price
from bridle.types.messages import StopReason
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bridle.ports.clock import Clock
    from bridle.ports.model import ModelRequest, StreamPart


class FileCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as it is written in the file."""

    tool: str
    args: dict[str, Any] = {}


class FileFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure as it is written in the file; one of `status` and `kind` is needed."""

    status: int | None = None
    kind: str | None = None
    retry_after: float | None = None
    message: str | None = None


class FileItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One response as it is written in the file."""

    says: str | None = None
    thinks: str | None = None
    calls: tuple[FileCall, ...] = ()
    fails: FileFailure | None = None
    stop: StopReason | None = None
    usage: Usage | None = None
    stalls: float | None = None
    cuts: int | None = None


class ScriptFile:
    """The model `scripted/FILE`. It keeps no state: step n of any run gets the n-th item.

    Raises `ConfigError` when the file cannot be read or is not a script; past the end a request
    fails with `ModelError(kind="script_ended")`. It costs nothing unless a price is given.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        id: str | None = None,
        price: Price | None = FREE,
        context_window: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.id = id or f"scripted/{path}"
        self.price = price
        self.context_window = context_window
        self._clock = clock or SystemClock()
        self._items = load_script(path)

    def __len__(self) -> int:
        return len(self._items)

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Play the item of the request's step (the first step is 1)."""
        at = max(request.step, 1) - 1
        item = self._items[at] if at < len(self._items) else (self._ended(request.step),)
        return play(item, request, model=self.id, clock=self._clock)

    def _ended(self, step: int) -> Element:
        held = len(self._items)
        message = f"{self.id} has ended: it holds {held} responses, step {step} needs one more."
        return fails("script_ended", message=message)


def load_script(path: str | Path) -> tuple[tuple[Element, ...], ...]:
    """Read a script; `ConfigError` names the file, the item and what is wrong with it."""
    import yaml

    try:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Cannot read the script {path}: {error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"The script {path} is not YAML: {error}") from error
    if not isinstance(raw, list):
        raise ConfigError(f"The script {path} must be a list with one item per model response.")
    return tuple(_item(entry, f"{path}, item {n}") for n, entry in enumerate(raw, start=1))


def _item(entry: object, where: str) -> tuple[Element, ...]:
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: expected a map such as {{says: text}}, got {entry!r}.")
    known = FileItem.__struct_fields__
    for name in entry:
        if name not in known:
            raise ConfigError(f"{where}: {suggest(str(name), known, what='field')}")
    try:
        item = msgspec.convert(entry, FileItem)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}.") from error
    if not entry:
        raise ConfigError(f"{where} is empty; it needs one of says, thinks, calls, fails.")
    return tuple(_elements(item, where))


def _elements(item: FileItem, where: str) -> list[Element]:
    found: list[Element] = []
    if item.stalls is not None:
        found.append(Stall(item.stalls))
    if item.thinks is not None:
        found.append(Think(item.thinks))
    if item.says is not None or item.stop is not None:
        found.append(Say(text=item.says or "", stop=item.stop))
    found += [Call(c.tool, msgspec.json.encode(c.args).decode()) for c in item.calls]
    if item.usage is not None:
        found.append(Report(item.usage))
    if item.cuts is not None:
        found.append(Cut(after_parts=item.cuts))
    if item.fails is not None:
        failure = item.fails
        how = failure.status if failure.status is not None else failure.kind
        if how is None:
            raise ConfigError(f"{where}: fails needs a status or a kind.")
        try:
            found.append(
                fails(how, retry_after=failure.retry_after, message=failure.message)  # type: ignore[arg-type]
            )
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from error
    return found
