"""From an id to a model: providers, keys, addresses, aliases, and what goes wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.errors import ConfigError, UserError
from bridle.models.build import Plan
from bridle.models.endpoints import ProviderConfig
from bridle.models.keys import Keys
from bridle.models.registry import ModelRegistry
from bridle.models.scripted import ScriptedModel
from bridle.ports.model import Model
from bridle.spec.compile import Compiled, compile_spec
from bridle.spec.load import parse_spec
from bridle.types.ledger import Price


class Built(ScriptedModel):
    """A model that remembers the plan it was built from."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(id=plan.id, price=plan.price, context_window=plan.context_window)
        self.plan = plan


def registry(env: dict[str, str] | None = None, **more: Any) -> ModelRegistry:
    more["providers"] = msgspec.convert(more.get("providers", {}), dict[str, ProviderConfig])
    return ModelRegistry(env or {}, build=Built, **more)


def plan(model: Model) -> Plan:
    assert isinstance(model, Built)
    return model.plan


def test_an_id_becomes_a_model_with_its_facts() -> None:
    made = registry({"ANTHROPIC_API_KEY": "k1"}).resolve("anthropic/claude-sonnet-4-5")
    assert made.id == "anthropic/claude-sonnet-4-5"
    assert made.context_window == 200_000
    assert made.price is not None
    got = plan(made)
    assert got.model == "claude-sonnet-4-5"
    assert got.endpoint.api_key == "k1"
    assert got.endpoint.base_url == "https://api.anthropic.com"
    assert got.endpoint.wire == "anthropic"


def test_a_model_name_may_hold_slashes() -> None:
    made = registry({"OPENROUTER_API_KEY": "k"}).resolve("openrouter/anthropic/claude-sonnet-4.5")
    assert plan(made).model == "anthropic/claude-sonnet-4.5"
    assert made.price is not None


def test_the_same_id_is_the_same_model_until_forgotten() -> None:
    models = registry({"OPENAI_API_KEY": "k"})
    first = models.resolve("openai/gpt-4o")
    assert models.resolve("gpt-4o") is first
    models.forget()
    assert models.resolve("openai/gpt-4o") is not first


@pytest.mark.parametrize(
    ("env", "config", "wire"),
    [
        ({}, {}, "responses"),
        ({"OPENAI_BASE_URL": "https://api.openai.com/v1/"}, {}, "responses"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, {}, "chat"),
        ({}, {"base_url": "https://gateway.example/v1"}, "chat"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, {"wire": "responses"}, "responses"),
        ({}, {"wire": "chat"}, "chat"),
    ],
)
def test_openai_speaks_responses_at_home_and_chat_elsewhere(
    env: dict[str, str], config: dict[str, Any], wire: str
) -> None:
    models = registry({"OPENAI_API_KEY": "k", **env}, providers={"openai": config})
    assert models.endpoints.of("openai").wire == wire


def test_nothing_of_one_provider_reaches_another() -> None:
    env = {
        "OPENAI_API_KEY": "openai-key",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "OPENAI_ORG_ID": "org",
        "GROQ_API_KEY": "groq-key",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:2",
    }
    models = registry(env, providers={"openai": {"headers": {"X-Team": "a"}}})
    groq = models.endpoints.of("groq")
    assert (groq.base_url, groq.api_key) == ("https://api.groq.com/openai/v1", "groq-key")
    assert groq.headers == {}
    assert models.endpoints.of("anthropic").api_key is None
    assert models.endpoints.of("vllm").api_key is None
    openai = models.endpoints.of("openai")
    assert openai.headers == {"OpenAI-Organization": "org", "X-Team": "a"}
    seen = {n: models.endpoints.of(n) for n in models.endpoints.names() if n != "openai"}
    assert not any("openai-key" in str((e.api_key, e.headers)) for e in seen.values())
    assert not any(e.base_url == "http://127.0.0.1:1/v1" for e in seen.values())


def test_the_environment_is_read_and_never_written() -> None:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    before, process = dict(env), dict(os.environ)
    registry(env, providers={"mine": {"base_url": "http://h/v1"}}).resolve("openai/x")
    assert env == before
    assert dict(os.environ) == process


def test_an_unknown_provider_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"Unknown provider 'antropic'.*Did you mean 'anthropic'"):
        registry().resolve("antropic/claude-sonnet-4-5")


def test_a_name_that_openrouter_has_is_pointed_there() -> None:
    with pytest.raises(ConfigError, match=r"openrouter/meta-llama/llama-3\.3-70b-instruct"):
        registry().resolve("meta-llama/llama-3.3-70b-instruct")


def test_a_missing_key_names_the_variable_and_the_command() -> None:
    with pytest.raises(
        ConfigError, match=r"set ANTHROPIC_API_KEY or run `bridle connect anthropic`"
    ):
        registry().resolve("anthropic/claude-sonnet-4-5")
    with pytest.raises(ConfigError, match="GEMINI_API_KEY or GOOGLE_API_KEY"):
        registry().resolve("google/gemini-2.5-pro")


def test_an_empty_key_is_no_key() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        registry({"OPENAI_API_KEY": "  "}).resolve("openai/gpt-4o")


def test_a_server_of_ones_own_needs_no_key() -> None:
    for env, id in [
        ({}, "ollama/qwen3:8b"),
        ({}, "vllm/m"),
        ({}, "lmstudio/m"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "openai/x"),
    ]:
        assert plan(registry(env).resolve(id)).endpoint.api_key is None


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box:1234", "http://box:1234/v1"),
        ("http://box:1234/", "http://box:1234/v1"),
        ("https://ollama.example", "https://ollama.example/v1"),
    ],
)
def test_ollama_host_is_read_as_its_server_reads_it(value: str, url: str) -> None:
    assert registry({"OLLAMA_HOST": value}).endpoints.of("ollama").base_url == url


def test_the_version_is_added_to_a_gemini_address_without_one() -> None:
    for value, url in [
        ("http://box:9", "http://box:9/v1beta"),
        ("http://box:9/", "http://box:9/v1beta"),
        ("http://box:9/v1alpha", "http://box:9/v1alpha"),
    ]:
        made = registry({"GOOGLE_GEMINI_BASE_URL": value}).endpoints.of("google")
        assert made.base_url == url


def test_local_servers_cost_nothing_and_unknown_models_have_no_price() -> None:
    models = registry({"OPENAI_API_KEY": "k"})
    assert models.resolve("ollama/qwen3").price == Price()
    assert models.resolve("openai/brand-new").price is None


def test_prices_and_windows_of_the_user_win() -> None:
    config = {
        "openai": {
            "models": {
                "gpt-4o": {"context_window": 5, "price": {"input": 1, "output": 2}},
                "new": {"price": {"input": 1, "output": 2}},
            }
        }
    }
    models = registry({"OPENAI_API_KEY": "k"}, providers=config)
    assert models.resolve("openai/gpt-4o").context_window == 5
    assert models.resolve("openai/gpt-4o").price == Price(input=1e-6, output=2e-6)
    assert models.resolve("new").id == "openai/new"


def test_any_compatible_server_can_be_a_provider() -> None:
    config = {"my-box": {"base_url": "http://box/v1/", "headers": {"A": "b"}, "local": True}}
    models = registry({"MY_BOX_API_KEY": "own"}, providers=config)
    made = models.resolve("my-box/some/model")
    got = plan(made)
    assert (got.endpoint.base_url, got.endpoint.wire) == ("http://box/v1", "chat")
    assert (got.endpoint.api_key, got.endpoint.headers) == ("own", {"A": "b"})
    assert (made.id, got.model, made.price) == ("my-box/some/model", "some/model", Price())


def test_a_key_variable_that_is_named_must_be_set() -> None:
    config = {"gate": {"base_url": "http://gate/v1", "api_key_env": "GATE_TOKEN"}}
    with pytest.raises(ConfigError, match="set GATE_TOKEN"):
        registry(providers=config).resolve("gate/m")
    made = registry({"GATE_TOKEN": "t"}, providers=config).resolve("gate/m")
    assert plan(made).endpoint.api_key == "t"


def compiled(**policy: Any) -> Compiled:
    spec = {"version": 1, "name": "x", "model_policy": policy}
    return compile_spec(parse_spec(json.dumps(spec), file="harness.yaml"))


def test_a_base_url_of_the_policy_goes_to_one_provider() -> None:
    found = compiled(base_url="http://x/v1", providers={"groq": {"wire": "chat"}})
    models = ModelRegistry({}, providers=found.providers)
    assert models.endpoints.of("openai").base_url == "http://x/v1"
    assert models.endpoints.of("groq").base_url == "https://api.groq.com/openai/v1"


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"openai": {"base_ur": "x"}}, "Unknown field.*'base_ur'.*Did you mean 'base_url'"),
        ({"openai": {"wire": "soap"}}, "model_policy.providers.wire"),
        ({"openai": "x"}, "Expected `object`"),
        ({"mine": {}}, "providers.mine: .*needs a base_url"),
        ({"opnai": {"wire": "chat"}}, "Did you mean 'openai'"),
        ({"My Box": {"base_url": "http://x"}}, "lower case"),
        ({"local": {"base_url": "http://x"}}, "not a server"),
        ({"openai": {"models": {"x": {"price": {"input": 1}}}}}, "output"),
        ({"openai": {"models": {"x": {"price": {"input": -1, "output": 1}}}}}, "per million"),
    ],
)
def test_bad_settings_say_where_and_what(raw: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        compiled(providers=raw)


def test_a_provider_of_ones_own_may_have_its_address_from_the_policy() -> None:
    found = compiled(primary="mine/m", base_url="http://x/v1", providers={"mine": {"wire": "chat"}})
    assert found.providers["mine"].base_url == "http://x/v1"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://", "/v1"])
def test_a_bad_address_names_its_variable(url: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL is not a base URL"):
        registry({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url}).resolve("openai/x")


@pytest.mark.parametrize(
    ("alias", "id"),
    [
        ("gpt-4o-mini", "openai/gpt-4o-mini"),
        ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("o3", "openai/o3"),
        ("deepseek-chat", "deepseek/deepseek-chat"),
        ("codestral-latest", "mistral/codestral-latest"),
        ("gpt-99-future", "openai/gpt-99-future"),
    ],
)
def test_a_bare_name_finds_the_provider_that_has_it(alias: str, id: str) -> None:
    assert registry().full_id(alias) == id


def test_a_bare_name_prefers_a_provider_with_a_key() -> None:
    config = {"gate": {"base_url": "http://g/v1", "models": {"gpt-4o-mini": {}}}}
    assert registry({"GATE_API_KEY": "k"}, providers=config).full_id("gpt-4o-mini") == (
        "gate/gpt-4o-mini"
    )
    both = {"GATE_API_KEY": "k", "OPENAI_API_KEY": "k"}
    assert registry(both, providers=config).full_id("gpt-4o-mini") == "openai/gpt-4o-mini"


def test_aliases_of_the_user() -> None:
    models = registry(aliases={"fast": "groq/openai/gpt-oss-20b", "gemma4-local": "ollama/gemma4"})
    assert models.full_id("fast") == "groq/openai/gpt-oss-20b"
    assert models.resolve("gemma4-local").id == "ollama/gemma4"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gemma4-local", "No provider is known for the model 'gemma4-local'"),
        ("gtp-4o-mini", "Did you mean 'openai/gpt-4o-mini'"),
        ("openai:gpt-4o", "Did you mean 'openai/gpt-4o'"),
        ("openai", "'openai' is a provider; name a model of it: openai/"),
        ("openai/", "no name after the slash"),
        ("", "name is empty"),
        ("/x", "Unknown provider ''"),
    ],
)
def test_bad_names_are_told_what_to_write(name: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        registry().resolve(name)


def test_sources_without_a_server(tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text("- says: hi\n")
    made = registry().resolve(f"scripted/{script}")
    assert made.id == f"scripted/{script}"
    replay = ScriptedModel(id="replay/run_1")
    models = registry(sources={"replay": lambda run: replay if run == "run_1" else ScriptedModel()})
    assert models.resolve("replay/run_1") is replay
    with pytest.raises(ConfigError, match="Cannot read the script"):
        registry().resolve("scripted/none.yaml")


async def test_the_http_client_is_made_late_and_closed_once(tmp_path: Path) -> None:
    class Client:
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    made: list[Client] = []

    def http() -> Client:
        made.append(Client())
        return made[-1]

    models = registry({"OPENAI_API_KEY": "k", "GROQ_API_KEY": "k"}, http=http)
    await models.aclose()
    assert made == []
    one, two = models.resolve("openai/a"), models.resolve("groq/b")
    assert plan(one).http is plan(two).http is made[0]
    await models.aclose()
    await models.aclose()
    assert made[0].closed == 1


def test_stored_keys_are_used_after_the_environment(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys", keyring=None)
    keys.store("openai", "stored-key")
    assert registry(keys=keys).endpoints.of("openai").api_key == "stored-key"
    assert registry(keys=keys).endpoints.of("openai").key_from == "file"
    first = registry({"OPENAI_API_KEY": "env-key"}, keys=keys).endpoints.of("openai")
    assert (first.api_key, first.key_from) == ("env-key", "OPENAI_API_KEY")


def test_a_damaged_key_file_hurts_only_its_provider(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys")
    keys.store("anthropic", "k")
    (tmp_path / "keys/anthropic.json").write_text("{")
    models = registry({"OPENAI_API_KEY": "k"}, keys=keys)
    assert models.resolve("openai/gpt-4o").id == "openai/gpt-4o"
    with pytest.raises(ConfigError, match="damaged"):
        models.resolve("anthropic/claude-sonnet-4-5")


def test_no_text_form_shows_a_key(tmp_path: Path) -> None:
    secret = "sk-secret-1234"
    config = {"mine": ProviderConfig(base_url="http://x/v1", api_key=secret)}
    models = ModelRegistry({"OPENAI_API_KEY": secret}, providers=config, build=Built)
    shown = [models.endpoints.of("openai"), models.endpoints.of("mine"), config, models.endpoints]
    assert secret not in repr(shown)
