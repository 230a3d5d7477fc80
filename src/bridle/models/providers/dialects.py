"""Where OpenAI-compatible servers differ, as values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bridle.models.providers.parts import COMMON_ID, NINE_LETTERS, CallIdRule
from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from bridle.ports.model import Reasoning

ReasoningFields = Callable[[str, "Reasoning"], dict[str, Any]]

_OPENAI_REASONING = lazy(r"(o\d|gpt-(?:[5-9]|\d\d)|codex)")
_KNOWS_NONE = lazy(r"gpt-(?:5\.[1-9]|[6-9]|\d\d)")


def reasons(model: str) -> bool:
    """Whether it is one of OpenAI's reasoning models, by its name."""
    return _OPENAI_REASONING.match(model.rpartition("/")[2]) is not None


def openai_effort(model: str, reasoning: Reasoning) -> str | None:
    """The effort word for OpenAI's own models; None where a model does not reason at all."""
    name = model.rpartition("/")[2]
    if not reasons(name):
        return None
    if reasoning != "off":
        return reasoning
    if _KNOWS_NONE.match(name):
        return "none"
    return "minimal" if name.startswith("gpt-5") else "low"


def _openai(model: str, reasoning: Reasoning) -> dict[str, Any]:
    effort = openai_effort(model, reasoning)
    return {} if effort is None else {"reasoning_effort": effort}


def _effort(model: str, reasoning: Reasoning) -> dict[str, Any]:  # noqa: ARG001
    return {"reasoning_effort": "none" if reasoning == "off" else reasoning}


def _object(model: str, reasoning: Reasoning) -> dict[str, Any]:  # noqa: ARG001
    return {"reasoning": {"enabled": False} if reasoning == "off" else {"effort": reasoning}}


def _switch(model: str, reasoning: Reasoning) -> dict[str, Any]:  # noqa: ARG001
    return {"thinking": {"type": "disabled" if reasoning == "off" else "enabled"}}


class ChatDialect(Fixed, frozen=True, kw_only=True):
    """How one server wants what others want differently.

    `cache_key` and `asks_usage` are off for servers that refuse fields they do not know.
    `returns_reasoning` sends reasoning back with the calls it led to, under the name it came by.
    `call_id` is what ids of other providers must look like to be sent as they are.
    """

    max_tokens_field: str = "max_tokens"
    cache_key: bool = True
    asks_usage: bool = True
    reasoning: ReasoningFields = _effort
    returns_reasoning: bool = True
    call_id: CallIdRule = COMMON_ID


OPENAI = ChatDialect(max_tokens_field="max_completion_tokens", reasoning=_openai)

DIALECTS: dict[str, ChatDialect] = {
    "openrouter": ChatDialect(reasoning=_object),
    "groq": ChatDialect(cache_key=False, returns_reasoning=False),
    "mistral": ChatDialect(
        cache_key=False, asks_usage=False, returns_reasoning=False, call_id=NINE_LETTERS
    ),
    "deepseek": ChatDialect(reasoning=_switch),
}


def dialect_for(provider: str, base_url: str) -> ChatDialect:
    """The dialect of a known provider or host; else what most servers take."""
    host = urlsplit(base_url).hostname or ""
    if host.endswith(("openai.com", "openai.azure.com")):
        return OPENAI
    return DIALECTS.get(provider, ChatDialect())
