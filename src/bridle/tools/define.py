"""`@tool`: a function becomes something that a model may call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    overload,
)

import anyio.to_thread
import msgspec

from bridle.errors import ToolError, UserError
from bridle.ports.tools import CallScope, Outcome, Recorded, Suspended
from bridle.tools.schema import Parameters, hints_of
from bridle.types.base import Fixed
from bridle.types.ids import derive_id
from bridle.types.tools import CATEGORIES, CallFacts, Category, Done, Effect, Failed, ToolSpec

if TYPE_CHECKING:
    from bridle.types.content import ToolCall

Deps = TypeVar("Deps")
V = TypeVar("V")
Of: TypeAlias = V | Callable[[dict[str, Any]], V]
"""A value, or a function of the call's arguments."""


class ToolContext(Fixed, Generic[Deps], frozen=True, kw_only=True):
    """What a tool knows of its call.

    `key` is the same when the call is run again after a crash: use it to make an effect happen
    once. `values` is the request's context.
    """

    thread_id: str
    run_id: str
    call_id: str
    key: str
    repeated: bool = False
    deps: Deps | None = None
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    scope: CallScope

    @property
    def resumed(self) -> Any:
        """What a call that had suspended itself was given; None before."""
        return self.scope.resumed

    def progress(self, text: str) -> None:
        """Tell whoever watches how it goes."""
        self.scope.progress(text)


class Tool(Fixed, frozen=True, kw_only=True):
    """A tool with its attributes; what is omitted is taken as unsafe."""

    name: str
    description: str
    parameters: dict[str, Any]
    execute: Callable[[dict[str, Any], CallScope], Awaitable[Outcome]]
    check: Callable[[dict[str, Any]], dict[str, Any]]
    category: Of[Category] = "other"
    read_only: Of[bool] = False
    destructive: Of[bool] = False
    concurrency_safe: Of[bool] = False
    timeout: Of[float | None] = None
    effect: Of[Effect] | None = None
    paths: Callable[[dict[str, Any]], tuple[str, ...]] | None = None
    hosts: Callable[[dict[str, Any]], tuple[str, ...]] | None = None
    command: Callable[[dict[str, Any]], str | None] | None = None
    cwd: Callable[[dict[str, Any]], str | None] | None = None
    fills: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Completes the arguments before they are decided on: the call runs with what was decided."""
    cost: Of[float | None] = None
    asks_user: bool = False
    delegates: bool = False

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.parameters)

    def describe(self, call: ToolCall) -> CallFacts:
        """Validate a call and evaluate the attributes for its arguments."""
        if call.invalid is not None:
            return CallFacts(problem=f"{call.invalid}\nHint: {self._hint()}")
        try:
            self.check(call.args)
        except ValueError as error:
            return CallFacts(
                problem=f"Invalid arguments for {self.name}: {error}\nHint: {self._hint()}"
            )
        try:
            return self._facts(call.args)
        except ToolError as error:
            return CallFacts(problem=f"{error.message}\nHint: {error.hint or self._hint()}")
        except Exception as error:  # noqa: BLE001 - a call that cannot be described cannot run
            what = f"{type(error).__name__}: {error}"
            return CallFacts(
                problem=f"{self.name} cannot tell what this call would do ({what})\n"
                f"Hint: {self._hint()}",
            )

    def _facts(self, given: dict[str, Any]) -> CallFacts:
        args = self.fills(given) if self.fills is not None else given
        read_only = _value(self.read_only, args)
        effect: Effect = "safe" if read_only else "once"
        if self.effect is not None:
            effect = _value(self.effect, args)
        return CallFacts(
            args=args if args != given else None,
            category=_value(self.category, args),
            read_only=read_only,
            destructive=_value(self.destructive, args),
            concurrency_safe=_value(self.concurrency_safe, args),
            effect=effect,
            timeout=_value(self.timeout, args),
            paths=self.paths(args) if self.paths else (),
            hosts=self.hosts(args) if self.hosts else (),
            command=self.command(args) if self.command else None,
            cwd=self.cwd(args) if self.cwd else None,
            cost_usd=_value(self.cost, args),
            asks_user=self.asks_user,
            delegates=self.delegates,
        )

    def _hint(self) -> str:
        required = self.parameters.get("required", [])
        names = [name if name in required else f"{name}?" for name in self.parameters["properties"]]
        return f"{self.name} takes {{{', '.join(names)}}}."


def _value(attribute: Any, args: dict[str, Any]) -> Any:
    return attribute(args) if callable(attribute) else attribute


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    category: Of[Category] = "other",
    read_only: Of[bool] = False,
    destructive: Of[bool] = False,
    concurrency_safe: Of[bool] = False,
    timeout: Of[float | None] = None,
    effect: Of[Effect] | None = None,
    paths: Callable[[dict[str, Any]], tuple[str, ...]] | None = None,
    hosts: Callable[[dict[str, Any]], tuple[str, ...]] | None = None,
    command: Callable[[dict[str, Any]], str | None] | None = None,
    cwd: Callable[[dict[str, Any]], str | None] | None = None,
    cost: Of[float | None] = None,
    fills: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    asks_user: bool = False,
    delegates: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **attributes: Any) -> Any:
    """Make a tool of a function: schema from its hints, description from its docstring.

    An argument hinted as `ToolContext` gets the call's context and is not shown to the model.
    Sync functions run in a thread. Attributes are values or functions of the arguments.
    """
    if function is None:
        return lambda inner: _define(inner, sys._getframe(1).f_locals, **attributes)  # noqa: SLF001
    return _define(function, sys._getframe(1).f_locals)  # noqa: SLF001


def _define(
    function: Callable[..., Any],
    around: dict[str, Any],
    *,
    name: str | None = None,
    description: str | None = None,
    **attributes: Any,
) -> Tool:
    category = attributes.get("category", "other")
    if not callable(category) and category not in CATEGORIES:
        raise UserError(f"Unknown category {category!r}; have {', '.join(CATEGORIES)}.")
    effect = attributes.get("effect")
    if effect is not None and not callable(effect) and effect not in ("safe", "keyed", "once"):
        raise UserError(f"Unknown effect {effect!r}; have safe, keyed, once.")
    described = description or inspect.getdoc(function) or ""
    if not described:
        raise UserError(f"Tool {function.__name__!r} needs a docstring or a description.")
    hints = hints_of(function, around)
    context = _context_parameter(hints)
    parameters = Parameters(function, hints, skip=context)
    return Tool(
        name=name or function.__name__,
        description=described,
        parameters=parameters.schema,
        execute=_executor(function, parameters, context),
        check=parameters.convert,
        **attributes,
    )


def _context_parameter(hints: dict[str, Any]) -> str | None:
    for name, hint in hints.items():
        if name != "return" and _is_context(hint):
            return name
    return None


def _is_context(hint: Any) -> bool:
    """Also `ToolContext | None`, for a function that is called without one elsewhere."""
    return any(
        one is ToolContext or get_origin(one) is ToolContext for one in (hint, *get_args(hint))
    )


def _executor(
    function: Callable[..., Any], parameters: Parameters, context: str | None
) -> Callable[[dict[str, Any], CallScope], Awaitable[Outcome]]:
    is_async = inspect.iscoroutinefunction(function)

    async def execute(args: dict[str, Any], scope: CallScope) -> Outcome:
        values = parameters.convert(args)
        if context is not None:
            values[context] = context_of(scope)
        if is_async:
            returned = await function(**values)
        else:
            returned = await anyio.to_thread.run_sync(
                lambda: function(**values), abandon_on_cancel=True
            )
        found = outcome(returned)
        if isinstance(found, Suspended) and not found.id:
            return msgspec.structs.replace(found, id=derive_id("sus", scope.call_id))
        return found

    return execute


def context_of(scope: CallScope) -> ToolContext[Any]:
    """The context that a tool is given for a call."""
    return ToolContext(
        thread_id=scope.thread_id,
        run_id=scope.run_id,
        call_id=scope.call_id,
        key=scope.key,
        repeated=scope.repeated,
        deps=scope.deps,
        values=scope.values,
        scope=scope,
    )


def outcome(returned: object) -> Outcome:
    """Read what a tool function returned."""
    if isinstance(returned, Done | Failed | Suspended | Recorded):
        return returned
    if returned is None:
        return Done("done")
    if isinstance(returned, str):
        return Done(returned)
    if hasattr(returned, "model_dump_json"):
        return Done(returned.model_dump_json())
    try:
        return Done(msgspec.json.encode(returned).decode())
    except (TypeError, ValueError) as error:
        raise ToolError(f"The tool returned something that is not JSON: {error}") from error
