"""Lists the models of an endpoint, with facts from the endpoint and from price data.

Importing this module takes a third of a second (the price data), so import it only when needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from indwell.errors import BadReply, ProviderError
from indwell.providers.catalogue import row_of
from indwell.providers.discovery import enriched
from indwell.providers.endpoint import NO_EXTRAS, OPENAI_URL, Extras
from indwell.providers.facts import facts_for
from indwell.providers.fetch import Fetcher, fetching, unreachable
from indwell.providers.offered_models import (
    OfferedModel,
    litellm_facts,
    owners,
    parse_models,
    running_contexts,
)

# The unit is seconds; OpenRouter's list takes two, but a gateway may ask other servers first.
LIST_S = 10.0


async def list_models(
    base_url: str | None,
    key: str | None,
    *,
    timeout_s: float = LIST_S,
    extras: Extras = NO_EXTRAS,
) -> tuple[OfferedModel, ...]:
    """Return the endpoint's models, sorted by name; at most ``MAX_MODELS``.

    Args:
        base_url: The address of the API; None means OpenAI itself.
        key: The key for the address's origin.
        timeout_s: Seconds for the whole listing; facts of single models that come later are left
            out.
        extras: The user's own headers, parameters and proxy.

    Raises:
        ProviderError: The endpoint does not answer, refuses the key, or has no list of models.
        SettingsError: The address is invalid, or the key cannot be sent.
    """
    url = base_url or OPENAI_URL
    async with fetching(url, key, timeout_s=timeout_s, extras=extras) as fetcher:
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout_s
        try:
            async with asyncio.timeout_at(deadline):
                answer = await _list(fetcher, url, has_key=bool(key))
        except TimeoutError as error:  # Each request was in time, but all together took too long.
            raise unreachable(error, fetcher.address) from error
        # Parse in a thread, because a list may have thousands of entries.
        models = await asyncio.to_thread(parse_models, answer)
        if models is None:
            raise BadReply(
                f"{fetcher.address} did not answer with a list of models; check the address"
            )
        models = await enriched(fetcher, models, owners(answer), deadline - clock())
    with_facts = await asyncio.to_thread(_with_facts, models, url)
    return tuple(sorted(with_facts, key=lambda model: model.name.lower()))


async def _list(fetcher: Fetcher, url: str, *, has_key: bool) -> object:
    row = row_of(url)
    if row is not None and row.key_path and has_key:
        # The page needs a valid key, unlike the public list of models.
        await fetcher.get(row.key_path)
    return await fetcher.get("/models")


async def told_of(
    model: str,
    base_url: str | None,
    key: str | None,
    *,
    timeout_s: float,
    extras: Extras = NO_EXTRAS,
) -> OfferedModel:
    """Return what the endpoint reports about one model; at least the name.

    The list of models is read first, then up to three further pages, depending on the kind of
    server. For a known provider on the network, only the list is read.

    Args:
        model: The endpoint's name of the model.
        base_url: See ``list_models``.
        key: See ``list_models``.
        timeout_s: Seconds for each request.
        extras: See ``list_models``.

    Raises:
        ProviderError: The endpoint does not answer, or refuses the key.
        SettingsError: The address is invalid, or the key cannot be sent.
    """
    url = base_url or OPENAI_URL
    async with fetching(url, key, timeout_s=timeout_s, extras=extras) as fetcher:
        answer = await fetcher.get("/models")
        listed = await asyncio.to_thread(parse_models, answer) or ()
        one = next((one for one in listed if one.name == model), OfferedModel(model))
        owned_by = owners(answer)
        one = (await enriched(fetcher, (one,), owned_by, timeout_s))[0]
        if "library" in owned_by:
            return await _as_ollama_runs_it(fetcher, one)
        row = row_of(url)
        if one.prices is None and (row is None or row.name == "litellm"):
            return litellm_facts(one, await _page(fetcher, "/model/info"))
        return one


async def _as_ollama_runs_it(fetcher: Fetcher, model: OfferedModel) -> OfferedModel:
    """Return a running model with the context in which Ollama runs the model."""
    running = running_contexts(await _page(fetcher, "/api/ps", at_root=True))
    size = running.get(model.name) or running.get(f"{model.name}:latest")
    return msgspec.structs.replace(model, window=size, source="endpoint") if size else model


async def _page(fetcher: Fetcher, path: str, *, at_root: bool = False) -> object:
    """Return a page that only one kind of server has, or None if missing."""
    try:
        return await fetcher.get(path, at_root=at_root)
    except ProviderError:
        return None


def _with_facts(models: Iterable[OfferedModel], url: str) -> list[OfferedModel]:
    """Fill in only the facts that the endpoint did not report."""
    now = datetime.now(UTC)
    return [_with_fact(model, url, now) for model in models]


def _with_fact(model: OfferedModel, url: str, now: datetime) -> OfferedModel:
    if model.window is not None and model.price_in is not None:
        return model
    facts = facts_for(model.name, url, now=now)
    rates = facts.prices.rates if facts.prices is not None else None
    if not facts.known and rates is None:
        return model
    has_own = model.window is not None
    return msgspec.structs.replace(
        model,
        window=model.window or (facts.window if facts.known else None),
        price_in=rates.input if model.price_in is None and rates else model.price_in,
        price_out=rates.output if model.price_out is None and rates else model.price_out,
        source=f"endpoint; {facts.source}" if has_own else facts.source,
    )
