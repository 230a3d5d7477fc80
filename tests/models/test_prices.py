"""Prices: the table that ships, tiers, prices of the user, and what is not known."""

from __future__ import annotations

import msgspec
import pytest

from bridle.models import prices
from bridle.models.catalog import PROVIDERS
from bridle.models.prices import PerMillion
from bridle.types.ledger import Price
from bridle.types.usage import Usage


def test_the_table_says_where_it_comes_from() -> None:
    assert prices.table().source.startswith("genai-prices ")
    assert prices.table().day.startswith("20")


@pytest.mark.parametrize("provider", [p for p in PROVIDERS.values() if p.priced_as])
def test_every_default_model_has_a_price_and_a_window(provider: object) -> None:
    price, window = prices.look_up(provider.name, provider.default_model)  # type: ignore[attr-defined]
    assert price is not None
    assert price.output > price.input > 0
    assert window is not None
    assert window > 30_000


def test_every_row_of_the_table_can_be_read() -> None:
    count = 0
    for provider in prices.table().providers:
        for row in prices.rows(provider):
            assert row.as_price().input >= 0
            count += 1
    assert count > 1000


def test_cached_tokens_are_cheaper_and_counted_once() -> None:
    price, window = prices.look_up("openai", "gpt-4o-mini")
    assert price == Price(input=0.15e-6, output=0.6e-6, cached=0.075e-6)
    assert window == 128_000
    usage = Usage(input_tokens=1000, cached_tokens=400, output_tokens=10)
    assert price is not None
    assert price.cost(usage) == pytest.approx(600 * 0.15e-6 + 400 * 0.075e-6 + 10 * 0.6e-6)


def test_a_dated_name_and_a_compact_date_find_their_model() -> None:
    assert prices.find("anthropic", "claude-sonnet-4-5-20250929") is not None
    dashed, compact = prices.find("openai", "gpt-4o-2024-11-20"), "gpt-4o-20241120"
    assert dashed is not None
    assert prices.find("openai", compact) == dashed


def test_a_tier_prices_the_whole_request() -> None:
    price, _ = prices.look_up("anthropic", "claude-sonnet-4-5")
    assert price is not None
    assert price.tiers
    below, above = Usage(input_tokens=200_000), Usage(input_tokens=200_001)
    assert price.cost(below) == pytest.approx(200_000 * 3e-6)
    assert price.cost(above) == pytest.approx(200_001 * 6e-6)
    assert price.at(300_000).output == pytest.approx(22.5e-6)
    assert price.at(10).output == pytest.approx(15e-6)
    assert Price(input=1.0).at(10) == Price(input=1.0)


def test_tiers_survive_encoding() -> None:
    price, _ = prices.look_up("anthropic", "claude-sonnet-4-5")
    raw = msgspec.json.encode(price)
    assert msgspec.json.decode(raw, type=Price) == price


def test_an_unknown_model_has_no_price() -> None:
    assert prices.look_up("openai", "no-such-model") == (None, None)
    assert prices.look_up("no-such-provider", "x") == (None, None)


def test_names_with_odd_characters_do_not_break_the_tests_of_names() -> None:
    for name in ("", "*", "(", "a" * 10_000, "gpt-4o\n", "İ"):
        prices.look_up("openai", name)


def test_prices_of_the_user_are_per_million() -> None:
    assert PerMillion(input=3, output=15, cached=0.3).price() == Price(
        input=3e-6, output=15e-6, cached=0.3e-6
    )
    with pytest.raises(ValueError, match="USD per million"):
        PerMillion(input=-1, output=1)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"input": 1, "output": 1, "inptu": 2}, PerMillion)


def test_the_package_prices_what_the_table_does_not_hold() -> None:
    pytest.importorskip("genai_prices")
    price, window = prices.look_up("x-ai", "grok-4-0709")
    assert price is not None
    assert price.output > 0
    assert window
    assert prices.look_up("x-ai", "no-such-model") == (None, None)


def test_the_table_agrees_with_the_package() -> None:
    genai = pytest.importorskip("genai_prices")
    used = genai.Usage(input_tokens=1000, output_tokens=100, cache_read_tokens=200)
    ours = Usage(input_tokens=1000, output_tokens=100, cached_tokens=200)
    for provider, model in [
        ("openai", "gpt-4o"),
        ("openai", "o3"),
        ("anthropic", "claude-haiku-4-5"),
        ("google", "gemini-2.5-pro"),
        ("groq", "openai/gpt-oss-120b"),
        ("mistral", "mistral-medium-3-5"),
    ]:
        theirs = genai.calc_price(used, model_ref=model, provider_id=provider)
        price, _ = prices.look_up(provider, model)
        assert price is not None
        assert price.cost(ours) == pytest.approx(float(theirs.total_price)), model
