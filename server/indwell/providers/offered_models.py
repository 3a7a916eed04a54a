"""The models of an endpoint, read from the lists of a dozen kinds of servers. Pure.

All servers use OpenAI's ``data[]``. OpenRouter adds prices per token, Mistral capabilities, vLLM
``max_model_len``, llama.cpp ``meta``, LM Studio (``/api/v0/models``) context lengths and a type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from indwell.providers.pricing import ModelPrices, Prices, Tier

MAX_MODELS = 2_000  # At most 2,000 models are returned; OpenRouter lists 400.
# At most 20,000 entries of a list are examined, including models that cannot chat.
MAX_ENTRIES = 20_000
MAX_PRICE = 1.0  # The unit is dollars per token; a higher price is a mistake in the list.
MAX_PARAMETERS = 10**14  # A larger number of parameters is a mistake.
TRAINED = "as trained"
# The unit is tokens; no served model has a smaller window, so a smaller number is a mistake.
LEAST_WINDOW = 1_024
_MAX_NAME = 200  # The unit is characters of a model's name.
_MAX_PARAMETERS = 10_000  # The unit is characters of a model file's settings.
# A tuple is used because a hostile type may be a list, which a set cannot look up.
_NO_CHAT = ("embeddings", "embedding")


class OfferedModel(msgspec.Struct, frozen=True):
    """What is known about a model at an endpoint; an unknown attribute is None.

    Attributes:
        name: The endpoint's name of the model.
        window: Tokens of prompt and reply together.
        max_output: Tokens of one reply.
        price_in: US dollars per million prompt tokens.
        price_out: US dollars per million reply tokens.
        price_cached: US dollars per million prompt tokens read from a cache.
        price_cache_write: US dollars per million prompt tokens written to a cache.
        price_cache_hour: US dollars per million prompt tokens that a cache keeps for an hour.
        tiers: The prices of longer prompts.
        tools: Whether the model accepts tools.
        images: Whether the model accepts pictures.
        reasoning: Whether the model reasons before it answers.
        source: The source of the window: ``endpoint``, ``TRAINED`` for the window of the training
            (the server may use less), or the name of a data set.
        size: Billions of parameters, as the server reports them.
    """

    name: str
    window: int | None = None
    max_output: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    tools: bool | None = None
    source: str = "endpoint"
    size: float | None = None
    price_cached: float | None = None
    price_cache_write: float | None = None
    price_cache_hour: float | None = None
    tiers: tuple[Tier, ...] = ()
    images: bool | None = None
    reasoning: bool | None = None

    @property
    def prices(self) -> Prices | None:
        """The model's price list, or None if the price of the prompt or of the reply is unknown."""
        if self.price_in is None or self.price_out is None:
            return None
        rates = ModelPrices(
            input=self.price_in,
            output=self.price_out,
            cached=self.price_in if self.price_cached is None else self.price_cached,
            cache_write=self.price_in if self.price_cache_write is None else self.price_cache_write,
            cache_hour=self.price_cache_hour,
        )
        return Prices(rates, self.tiers)


def parse_models(answer: object) -> tuple[OfferedModel, ...] | None:
    """Return the first ``MAX_MODELS`` models, or None if ``answer`` is not a list of models."""
    entries = answer
    if isinstance(answer, Mapping):
        entries = answer.get("data", answer.get("models"))
        if entries is None and answer.get("object") == "list":
            return ()  # Ollama without a model sends `"data": null`.
    if not isinstance(entries, Sequence) or isinstance(entries, str | bytes):
        return None
    found: dict[str, OfferedModel] = {}
    for entry in entries[:MAX_ENTRIES]:
        model = _model(entry) if isinstance(entry, Mapping) else None
        if len(found) == MAX_MODELS:
            break
        if model is not None:
            found.setdefault(model.name, model)
    return tuple(found.values())


def owners(answer: object) -> frozenset[str]:
    """Return the owners that a server names; owners distinguish Ollama, vLLM and llama.cpp."""
    entries = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(entries, list):
        return frozenset()
    named = (entry.get("owned_by") for entry in entries[:MAX_MODELS] if isinstance(entry, Mapping))
    return frozenset(one for one in named if isinstance(one, str))


def ollama_facts(model: OfferedModel, shown: object) -> OfferedModel:
    """Return ``model`` with the facts from Ollama's ``/api/show``."""
    if not isinstance(shown, Mapping):
        return model
    information = _mapping(shown.get("model_info"))
    trained = next(
        (
            token_count(value)
            for name, value in islice(information.items(), MAX_ENTRIES)
            if name.endswith(".context_length")
        ),
        None,
    )
    capabilities = shown.get("capabilities")
    tools = "tools" in capabilities if isinstance(capabilities, list) else None
    own = num_ctx(shown)
    return msgspec.structs.replace(
        model,
        window=own or trained,
        tools=tools,
        source="endpoint" if own or not trained else TRAINED,
        size=_size(information.get("general.parameter_count")),
    )


def litellm_facts(model: OfferedModel, answer: object) -> OfferedModel:
    """Return ``model`` with facts from LiteLLM's ``/model/info``, which has prices per token.

    If several deployments have one name, the smallest window and the highest price are used.
    LiteLLM reports a price of 0 if it does not know the price.
    """
    entries = answer.get("data") if isinstance(answer, Mapping) else None
    found = [
        _mapping(entry.get("model_info"))
        for entry in (entries if isinstance(entries, list) else ())[:MAX_MODELS]
        if isinstance(entry, Mapping) and entry.get("model_name") == model.name
    ]
    if not found:
        return model
    dearest = max(found, key=lambda info: _price(info.get("input_cost_per_token")) or 0)
    windows = [token_count(info.get("max_input_tokens")) for info in found]
    limits = [token_count(info.get("max_output_tokens")) for info in found]
    window = min((one for one in windows if one), default=model.window)
    rates = _litellm_rates(dearest)
    if rates is None:
        rates_told: dict[str, float | None] = {}
    else:
        rates_told = {
            "price_in": rates.input,
            "price_out": rates.output,
            "price_cached": rates.cached,
            "price_cache_write": rates.cache_write,
            "price_cache_hour": rates.cache_hour,
        }
    tiers = (
        Tier(int(above) * 1_000, tier)
        for above in _LITELLM_TIERS
        if rates is not None and (tier := _litellm_rates(dearest, f"_above_{above}k_tokens"))
    )
    return msgspec.structs.replace(
        model,
        **rates_told,
        window=window,
        max_output=min((one for one in limits if one), default=model.max_output),
        tiers=tuple(tiers),
        source="endpoint" if window != model.window else model.source,
        **{
            name: all(info[field] for info in found)
            for name, field in _LITELLM_ABILITIES.items()
            if all(isinstance(info.get(field), bool) for info in found)
        },
    )


# LiteLLM's names of prices for long prompts contain these thousands of tokens.
_LITELLM_TIERS = ("128", "200", "256", "272")
_LITELLM_ABILITIES: Mapping[str, str] = {
    "tools": "supports_function_calling",
    "images": "supports_vision",
    "reasoning": "supports_reasoning",
}


def _litellm_rates(info: Mapping[str, Any], ending: str = "") -> ModelPrices | None:
    """Return the prices whose names end with ``ending``, if prompt and reply have one."""
    plain, output, cached, written, hour = (
        _price(info.get(name + ending)) or None
        for name in (
            *("input_cost_per_token", "output_cost_per_token"),
            *("cache_read_input_token_cost", "cache_creation_input_token_cost"),
            "cache_creation_input_token_cost_above_1hr",
        )
    )
    if plain is None or output is None:
        return None
    return ModelPrices(plain, output, cached or plain, written or plain, hour)


def num_ctx(shown: object) -> int | None:
    """Return the context size in a model file of Ollama (``num_ctx``), or None if missing."""
    parameters = shown.get("parameters") if isinstance(shown, Mapping) else None
    text = parameters[:_MAX_PARAMETERS] if isinstance(parameters, str) else ""
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdecimal():
            return int(value.strip()[:9])
    return None


def running_contexts(answer: object) -> Mapping[str, int]:
    """Return the context with which Ollama runs each loaded model, from ``/api/ps``."""
    entries = answer.get("models") if isinstance(answer, Mapping) else None
    found: dict[str, int] = {}
    for entry in map(_mapping, entries[:MAX_MODELS] if isinstance(entries, list) else ()):
        name, size = entry.get("name"), token_count(entry.get("context_length"))
        if isinstance(name, str) and size is not None:
            found[name] = size
    return found


def _model(entry: Mapping[str, Any]) -> OfferedModel | None:
    name = entry.get("id") or entry.get("name") or entry.get("model")
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _MAX_NAME:
        return None
    if entry.get("type") in _NO_CHAT or _is_no_chat(entry):
        return None
    top, meta, pricing = (_mapping(entry.get(key)) for key in ("top_provider", "meta", "pricing"))
    # LM Studio reports a state, and may have loaded the model with a smaller context.
    most = entry.get("max_context_length")
    is_most_only = "state" in entry
    running = _first_count(
        entry.get("loaded_context_length"),
        entry.get("max_model_len"),
        entry.get("context_length"),
        entry.get("context_window"),
        meta.get("n_ctx"),
        None if is_most_only else most,
    )
    trained = _first_count(most, meta.get("n_ctx_train"))
    return OfferedModel(
        name=name,
        window=running or trained,
        max_output=_first_count(
            top.get("max_completion_tokens"),
            entry.get("max_output_tokens"),
            entry.get("max_completion_tokens"),
        ),
        price_in=_price(pricing.get("prompt")),
        price_out=_price(pricing.get("completion")),
        price_cached=_price(pricing.get("input_cache_read")) or None,
        price_cache_write=_price(pricing.get("input_cache_write")) or None,
        tools=_tools(entry),
        images=_images(entry),
        source=TRAINED if trained and not running else "endpoint",
        size=_size(meta.get("n_params")),
    )


def _is_no_chat(entry: Mapping[str, Any]) -> bool:
    capabilities = entry.get("capabilities")
    return isinstance(capabilities, Mapping) and capabilities.get("completion_chat") is False


def _tools(entry: Mapping[str, Any]) -> bool | None:
    supported = entry.get("supported_parameters")  # OpenRouter sends this field.
    if isinstance(supported, list):
        return "tools" in supported
    capabilities = entry.get("capabilities")
    # Mistral sends this field.
    if isinstance(capabilities, Mapping) and "function_calling" in capabilities:
        return bool(capabilities["function_calling"])
    if isinstance(capabilities, list):  # LM Studio sends a list.
        return "tool_use" in capabilities or "tools" in capabilities
    return None


def _images(entry: Mapping[str, Any]) -> bool | None:
    # OpenRouter sends this field.
    kinds = _mapping(entry.get("architecture")).get("input_modalities")
    return "image" in kinds if isinstance(kinds, list) else None


def _price(value: object) -> float | None:
    """Convert dollars per token, as text, to dollars per million; -1 and invalid text give None."""
    if isinstance(value, bool):
        return None
    try:
        price = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return round(price * 1e6, 6) if 0 <= price <= MAX_PRICE else None


def _first_count(*values: object) -> int | None:
    return next((count for value in values if (count := token_count(value)) is not None), None)


def token_count(value: object) -> int | None:
    """Return a number of tokens, or None for any other value, or an impossible number."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 10**9
    return value if is_count and isinstance(value, int) else None


def _size(value: object) -> float | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return round(value / 1e9, 1) if 0 < value <= MAX_PARAMETERS else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
