"""The application's state: validated, kept with the thread, changed key by key."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from bridle.errors import UserError
from bridle.types.events import StateChanged

if TYPE_CHECKING:
    from bridle.app.attachment import Attachment
    from bridle.app.json_schema import JsonSchema
    from bridle.journal.state import ThreadState


class StateShape:
    """A state class and its initial value: msgspec structs, dataclasses, pydantic models.

    A mapping is a JSON Schema; the state is then a mapping too, and begins with its defaults.
    """

    def __init__(self, given: Any) -> None:
        self.schema: JsonSchema | None = None
        if given is None or isinstance(given, Mapping):
            self.kind: Any = None
            self.initial: dict[str, Any] = {}
            if given is not None:
                from bridle.app.json_schema import JsonSchema

                self.schema = JsonSchema(given)
                self.initial = self.schema.defaults()
                self.check(self.initial)
            return
        self.kind = given if isinstance(given, type) else type(given)
        if not _supported(self.kind):
            raise UserError(
                f"{self.kind.__name__} cannot hold state; use a msgspec Struct, a dataclass or a "
                "pydantic model."
            )
        try:
            value = given() if isinstance(given, type) else given
        except (TypeError, ValueError) as error:
            raise UserError(
                f"The state class {self.kind.__name__} cannot be built without arguments: {error}. "
                "Give every field a default, or give an instance."
            ) from error
        self.initial = dict(_plain(value))
        self.check(self.initial)

    def check(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Validate a whole state; raises `UserError` that names the field."""
        if self.kind is None:
            if self.schema is not None:
                self.schema.check(values)
            return dict(values)
        unknown = set(values) - set(self.initial)
        if unknown:
            from bridle.errors import suggest

            raise UserError(suggest(min(unknown), self.initial, what="state field"))
        try:
            if hasattr(self.kind, "model_validate"):
                return dict(_plain(self.kind.model_validate(dict(values))))
            return dict(_plain(msgspec.convert(dict(values), self.kind)))
        except (msgspec.ValidationError, ValueError) as error:
            raise UserError(f"The state would not be valid: {error}") from error

    def merged(self, kept: Mapping[str, Any] | None) -> dict[str, Any]:
        """What a thread kept over the initial state; fields that the class lost are left out."""
        known = {**self.initial, **(kept or {})}
        if self.kind is None:
            return known
        return {name: known[name] for name in self.initial}

    def build(self, values: Mapping[str, Any]) -> Any:
        """The state as its own class; a mapping where there is none. It shares nothing."""
        copied = msgspec.json.decode(msgspec.json.encode(values))
        if self.kind is None:
            return copied
        if hasattr(self.kind, "model_validate"):
            return self.kind.model_validate(copied)
        return msgspec.convert(copied, self.kind)


def _supported(kind: type) -> bool:
    return (
        issubclass(kind, msgspec.Struct)
        or dataclasses.is_dataclass(kind)
        or hasattr(kind, "model_validate")
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return msgspec.to_builtins(value)


class SessionState:
    """Read and change the state; an invalid change changes nothing."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._lock = anyio.Lock()

    @property
    def _shape(self) -> StateShape:
        return self._attachment.engine.blueprint.state

    def get(self) -> Any:
        """A snapshot of the state."""
        return self._shape.build(self._values(self._attachment.state))

    async def set(self, **updates: Any) -> None:
        """Change some fields."""
        await self._change(lambda values: {**values, **updates})

    async def update(self, fn: Callable[[Any], Any]) -> Any:
        """Change the state by a function of the latest one; nobody else's change is lost.

        The function returns the new state or a mapping with the fields to change, or changes the
        copy that it is given. It may be called again, so it is plain and does nothing else.
        """

        def apply(values: dict[str, Any]) -> dict[str, Any]:
            copy = self._shape.build(values)
            returned = fn(copy)
            if isinstance(returned, Coroutine):
                returned.close()
                raise UserError("The function given to state.update is async; give a plain one.")
            if returned is None and (changed := _plain(copy)) != values:
                returned = changed
            changes = returned if isinstance(returned, Mapping) else _plain(returned)
            if not isinstance(changes, Mapping):
                raise UserError(
                    f"The function given to state.update returned {returned!r}; return the new "
                    "state, or a mapping with the fields to change."
                )
            return {**values, **changes}

        await self._change(apply)
        return self.get()

    async def _change(self, function: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        def change(state: ThreadState) -> StateChanged | None:
            before = self._values(state)
            after = self._shape.check(function(dict(before)))
            changed = tuple(key for key in after if before.get(key) != after[key])
            return StateChanged(state=after, changed_keys=changed) if changed else None

        async with self._lock:
            await self._attachment.journal.change(self._attachment.thread.id, change)

    def _values(self, state: ThreadState) -> dict[str, Any]:
        return self._shape.merged(state.values)
