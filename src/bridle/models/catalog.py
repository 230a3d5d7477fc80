"""The providers: their variables, their addresses and the wire format they speak.

Facts only; what a user sets on top is in `endpoints.py`. Every provider reads its own variables
and no other's.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Wire = Literal["chat", "responses", "anthropic", "gemini"]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a provider without any configuration.

    `needs_key` is about its own host; a server at another address may ask for none. `local`
    providers run on the user's machines and cost nothing. `priced_as` is its id in genai-prices;
    `bare` are prefixes of model names that belong to it when no provider is written.
    """

    name: str
    title: str
    wire: Wire
    base_url: str
    key_vars: tuple[str, ...] = ()
    url_vars: tuple[str, ...] = ()
    header_vars: dict[str, str] = {}
    needs_key: bool = True
    local: bool = False
    priced_as: str | None = None
    default_model: str | None = None
    bare: tuple[str, ...] = ()
    key_page: str | None = None


_ALL = (
    Provider(
        name="anthropic",
        title="Anthropic",
        wire="anthropic",
        base_url="https://api.anthropic.com",
        key_vars=("ANTHROPIC_API_KEY",),
        url_vars=("ANTHROPIC_BASE_URL",),
        priced_as="anthropic",
        default_model="claude-sonnet-5-5",
        bare=("claude-",),
        key_page="https://console.anthropic.com/settings/keys",
    ),
    Provider(
        name="openai",
        title="OpenAI",
        wire="responses",
        base_url="https://api.openai.com/v1",
        key_vars=("OPENAI_API_KEY",),
        url_vars=("OPENAI_BASE_URL",),
        header_vars={
            "OpenAI-Organization": "OPENAI_ORG_ID",
            "OpenAI-Project": "OPENAI_PROJECT_ID",
        },
        priced_as="openai",
        default_model="gpt-6.1-sol",
        bare=("gpt-", "o1", "o3", "o4", "chatgpt-", "codex-"),
        key_page="https://platform.openai.com/api-keys",
    ),
    Provider(
        name="google",
        title="Google Gemini",
        wire="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        key_vars=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        url_vars=("GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"),
        priced_as="google",
        default_model="gemini-3.8-flash",
        bare=("gemini-",),
        key_page="https://aistudio.google.com/apikey",
    ),
    Provider(
        name="openrouter",
        title="OpenRouter",
        wire="chat",
        base_url="https://openrouter.ai/api/v1",
        key_vars=("OPENROUTER_API_KEY",),
        url_vars=("OPENROUTER_BASE_URL",),
        priced_as="openrouter",
        default_model="anthropic/claude-sonnet-5.5",
        key_page="https://openrouter.ai/settings/keys",
    ),
    Provider(
        name="deepseek",
        title="DeepSeek",
        wire="chat",
        base_url="https://api.deepseek.com/v1",
        key_vars=("DEEPSEEK_API_KEY",),
        url_vars=("DEEPSEEK_BASE_URL",),
        priced_as="deepseek",
        default_model="deepseek-v4-pro",
        bare=("deepseek-",),
        key_page="https://platform.deepseek.com/api_keys",
    ),
    Provider(
        name="mistral",
        title="Mistral",
        wire="chat",
        base_url="https://api.mistral.ai/v1",
        key_vars=("MISTRAL_API_KEY",),
        url_vars=("MISTRAL_BASE_URL",),
        priced_as="mistral",
        default_model="mistral-medium-3-5",
        bare=("mistral-", "ministral-", "codestral-", "devstral-", "magistral-"),
        key_page="https://console.mistral.ai/api-keys",
    ),
    Provider(
        name="groq",
        title="Groq",
        wire="chat",
        base_url="https://api.groq.com/openai/v1",
        key_vars=("GROQ_API_KEY",),
        url_vars=("GROQ_BASE_URL",),
        priced_as="groq",
        default_model="openai/gpt-oss-120b",
        key_page="https://console.groq.com/keys",
    ),
    Provider(
        name="together",
        title="Together AI",
        wire="chat",
        base_url="https://api.together.xyz/v1",
        key_vars=("TOGETHER_API_KEY",),
        url_vars=("TOGETHER_BASE_URL",),
        priced_as="together",
        default_model="openai/gpt-oss-120b",
        key_page="https://api.together.ai/settings/api-keys",
    ),
    Provider(
        name="ollama",
        title="Ollama",
        wire="chat",
        base_url="http://127.0.0.1:11434/v1",
        key_vars=("OLLAMA_API_KEY",),
        url_vars=("OLLAMA_BASE_URL", "OLLAMA_HOST"),
        needs_key=False,
        local=True,
    ),
    Provider(
        name="vllm",
        title="vLLM",
        wire="chat",
        base_url="http://127.0.0.1:8000/v1",
        key_vars=("VLLM_API_KEY",),
        url_vars=("VLLM_BASE_URL",),
        needs_key=False,
        local=True,
    ),
    Provider(
        name="lmstudio",
        title="LM Studio",
        wire="chat",
        base_url="http://127.0.0.1:1234/v1",
        key_vars=("LMSTUDIO_API_KEY",),
        url_vars=("LMSTUDIO_BASE_URL",),
        needs_key=False,
        local=True,
    ),
)

PROVIDERS: dict[str, Provider] = {provider.name: provider for provider in _ALL}
"""In the order in which a default is looked for."""

LONG_TAIL: dict[str, tuple[str, str]] = {
    "azure": ("azure", "azure"),
    "bedrock": ("bedrock", "aws"),
    "cerebras": ("cerebras", "cerebras"),
    "cohere": ("cohere", "cohere"),
    "fireworks": ("fireworks", "fireworks"),
    "github": ("github", "github-copilot"),
    "huggingface": ("huggingface", "huggingface"),
    "moonshotai": ("moonshotai", "moonshotai"),
    "vertex": ("google-cloud", "google"),
    "xai": ("xai", "x-ai"),
    "zai": ("zai", "zai"),
}
"""Providers reached through pydantic-ai: its name for each, and the name in the prices."""
