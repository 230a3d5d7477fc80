"""Providers that have no wire of our own, through the model classes of pydantic-ai.

The extra `[providers]`. These classes read their credentials from the process environment and from
the files of their SDKs, as their own documentation says; they are slower to start than our wires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from bridle.errors import ConfigError, ModelError, ModelErrorKind
from bridle.models import prices
from bridle.models.catalog import LONG_TAIL
from bridle.ports.model import CallDelta, CallStart, Finish, TextDelta, ThinkingDelta
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bridle.ports.model import ModelRequest, ModelSettings, StreamPart
    from bridle.types.content import Part
    from bridle.types.ledger import Price
    from bridle.types.messages import Message, StopReason


def make(provider: str, model: str) -> PydanticModel:
    """The model `provider/model`; `ConfigError` says what is missing."""
    theirs, priced = LONG_TAIL[provider]
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        raise ConfigError(
            f'{provider}/… needs an extra: pip install "bridle[providers]"'
        ) from error
    try:
        inner = infer_model(f"{theirs}:{model}")
    except ImportError as error:
        raise ConfigError(f"{provider}/… needs another package: {error}") from error
    except (UserError, ValueError) as error:
        raise ConfigError(f"{provider}/{model} cannot be used: {error}") from error
    price, window = prices.look_up(priced, model)
    return PydanticModel(inner, id=f"{provider}/{model}", price=price, context_window=window)


class PydanticModel:
    """A model of pydantic-ai behind our port."""

    def __init__(
        self,
        inner: Any,
        *,
        id: str,
        price: Price | None = None,
        context_window: int | None = None,
    ) -> None:
        self.id = id
        self.price = price
        self.context_window = context_window
        self._inner = inner

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request; see `Model`."""
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import AgentRunError, UserError

        reading = _Reading(self.id)
        try:
            async with model_request_stream(
                self._inner,
                history(request, self.id),
                model_settings=_settings(request.settings),
                model_request_parameters=_parameters(request),
            ) as answer:
                async for event in answer:
                    for part in reading.feed(event):
                        yield part
                for part in reading.end(answer.get()):
                    yield part
        except (AgentRunError, UserError) as error:
            raise _failure(error, self.id) from error


def history(request: ModelRequest, model: str) -> list[Any]:
    """The messages of a request as pydantic-ai has them."""
    from pydantic_ai import messages as theirs

    turns: list[Any] = []
    for message in request.messages:
        if message.role == "assistant":
            parts = [made for part in message.parts if (made := _said(part, model)) is not None]
            if parts:
                turns.append(theirs.ModelResponse(parts=parts))
        else:
            turns.append(
                theirs.ModelRequest(parts=_asked(message), instructions=request.system or None)
            )
    return turns


def _said(part: Part, model: str) -> Any:
    from pydantic_ai import messages as theirs

    match part:
        case Text():
            return theirs.TextPart(content=part.text)
        case Thinking():
            if part.origin != model or part.private is None:
                return None
            return theirs.ThinkingPart(content=part.text, **part.private)
        case ToolCall():
            return theirs.ToolCallPart(part.tool, part.args, part.provider_id or part.id)
        case Image() | File() | ToolResult():
            return None
        case other:
            assert_never(other)


def _asked(message: Message) -> list[Any]:
    from base64 import b64decode

    from pydantic_ai import messages as theirs

    results: list[Any] = []
    content: list[Any] = []
    for part in message.parts:
        match part:
            case Text():
                content.append(part.text)
            case Image() | File():
                content.append(
                    theirs.BinaryContent(data=b64decode(part.data), media_type=part.media_type)
                )
            case ToolResult():
                results.append(
                    theirs.ToolReturnPart(
                        tool_name=part.tool,
                        content=part.text,
                        tool_call_id=part.provider_id or part.call_id,
                        outcome="failed" if part.is_error else "success",
                    )
                )
                content += [
                    theirs.BinaryContent(data=b64decode(i.data), media_type=i.media_type)
                    for i in part.images
                ]
            case _:
                continue
    return results + ([theirs.UserPromptPart(content=content)] if content else [])


def _settings(settings: ModelSettings) -> Any:
    wanted: dict[str, Any] = {
        "temperature": settings.temperature,
        "max_tokens": settings.max_output_tokens,
        "stop_sequences": list(settings.stop_sequences) or None,
        "thinking": False if settings.reasoning == "off" else settings.reasoning,
        "parallel_tool_calls": None if settings.parallel_tool_calls else False,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _parameters(request: ModelRequest) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.parameters or {"type": "object", "properties": {}},
        )
        for tool in request.tools
    ]
    schema = request.settings.output_schema
    if schema is None:
        return ModelRequestParameters(function_tools=tools)
    return ModelRequestParameters(
        function_tools=tools,
        output_mode="native",
        output_object=OutputObjectDefinition(json_schema=schema, name="output"),
    )


class _Reading:
    """Turns the events of pydantic-ai into parts."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls: dict[int, int] = {}

    def feed(self, event: Any) -> Iterator[StreamPart]:
        kind = getattr(event, "event_kind", "")
        if kind == "part_start":
            yield from self._start(event.index, event.part)
        elif kind == "part_delta":
            yield from self._delta(event.index, event.delta)

    def _start(self, index: int, part: Any) -> Iterator[StreamPart]:
        if part.part_kind == "text" and part.content:
            yield TextDelta(part.content)
        elif part.part_kind == "thinking" and part.content:
            yield ThinkingDelta(part.content)
        elif part.part_kind == "tool-call":
            at = self._calls[index] = len(self._calls)
            yield CallStart(at, part.tool_name, provider_id=part.tool_call_id)
            if text := _json(part.args):
                yield CallDelta(at, text)

    def _delta(self, index: int, delta: Any) -> Iterator[StreamPart]:
        if delta.part_delta_kind == "text":
            yield TextDelta(delta.content_delta)
        elif delta.part_delta_kind == "thinking" and delta.content_delta:
            yield ThinkingDelta(delta.content_delta)
        elif delta.part_delta_kind == "tool_call" and (text := _json(delta.args_delta)):
            yield CallDelta(self._calls[index], text)

    def end(self, response: Any) -> Iterator[StreamPart]:
        for part in response.parts:
            if part.part_kind == "thinking" and part.signature:
                private = {
                    "id": part.id,
                    "signature": part.signature,
                    "provider_name": part.provider_name,
                }
                yield ThinkingDelta("", private)
        used = response.usage
        yield Finish(
            stop=self._stop(response.finish_reason),
            usage=Usage(
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                cached_tokens=used.cache_read_tokens,
                cache_write_tokens=used.cache_write_tokens,
                reasoning_tokens=getattr(used, "output_reasoning_tokens", 0) or 0,
            ),
            model=self._model,
        )

    def _stop(self, reason: str | None) -> StopReason:
        if reason == "length":
            return "max_tokens"
        if reason == "content_filter":
            return "refused"
        if reason == "error":
            raise ModelError("the provider ended with an error", kind="unavailable")
        return "tool_use" if self._calls else "end_turn"


def _json(args: Any) -> str:
    if args is None or isinstance(args, str):
        return args or ""
    return msgspec.json.encode(args).decode()


_KINDS: tuple[tuple[str, ModelErrorKind], ...] = (
    ("ModelContextWindowExceededError", "context_overflow"),
    ("ModelAuthenticationError", "authentication"),
    ("ModelRateLimitError", "rate_limit"),
    ("ModelQuotaExceededError", "rate_limit"),
    ("ModelTimeoutError", "timeout"),
    ("ModelRequestTimeout", "timeout"),
    ("ModelRequestRejectedError", "bad_request"),
    ("ModelUnavailableError", "unavailable"),
    ("ModelServerError", "unavailable"),
    ("ModelConnectionError", "unavailable"),
    ("ContentFilterError", "refused"),
    ("UserError", "bad_request"),
    ("UnexpectedModelBehavior", "protocol"),
)


def _failure(error: Exception, model: str) -> ModelError:
    from bridle.models.script import kind_of_status

    names = {base.__name__ for base in type(error).__mro__}
    status = getattr(error, "status_code", None)
    kind = next((kind for name, kind in _KINDS if name in names), None)
    if kind is None:
        kind = kind_of_status(status) if isinstance(status, int) else "unavailable"
    return ModelError(str(error), kind=kind, status=status, provider=model.partition("/")[0])
