"""What the servers of one machine say of their models beside the list."""

from __future__ import annotations

import asyncio

import msgspec

from indwell.errors import ProviderError
from indwell.providers.fetch import Fetcher
from indwell.providers.models import OfferedModel, ollama_facts, parse_models

N_SHOWN = 40  # models of Ollama that are asked for one by one; nobody has more on one machine
AT_ONCE = 8


async def enriched(
    fetcher: Fetcher, models: tuple[OfferedModel, ...], owned_by: frozenset[str]
) -> tuple[OfferedModel, ...]:
    """``models`` with what their kind of local server tells elsewhere; all best effort."""
    try:
        if "library" in owned_by:  # Ollama's name for it
            return await _asked_one_by_one(fetcher, models)
        if "organization_owner" in owned_by:  # LM Studio's
            told = parse_models(await fetcher.get("/api/v0/models", at_root=True)) or ()
            by_name = {model.name: model for model in told}
            return tuple(by_name.get(model.name, model) for model in models)
        if "llamacpp" in owned_by:
            return _with_running_window(await fetcher.get("/props", at_root=True), models)
    except ProviderError:
        return models  # an older server, or a gateway in front: the plain list will do
    return models


async def _asked_one_by_one(
    fetcher: Fetcher, models: tuple[OfferedModel, ...]
) -> tuple[OfferedModel, ...]:
    limit = asyncio.Semaphore(AT_ONCE)

    async def ask(model: OfferedModel) -> OfferedModel:
        async with limit:
            try:
                shown = await fetcher.post("/api/show", {"model": model.name}, at_root=True)
            except ProviderError:
                return model
        return ollama_facts(model, shown)

    asked = await asyncio.gather(*(ask(model) for model in models[:N_SHOWN]))
    return (*asked, *models[N_SHOWN:])


def _with_running_window(
    properties: object, models: tuple[OfferedModel, ...]
) -> tuple[OfferedModel, ...]:
    """llama.cpp runs one model with the context it was started with, not the trained one."""
    settings = properties if isinstance(properties, dict) else {}
    generation = settings.get("default_generation_settings")
    window = generation.get("n_ctx") if isinstance(generation, dict) else None
    if not isinstance(window, int) or window <= 0:
        return models
    return tuple(
        msgspec.structs.replace(model, window=window, source="endpoint") for model in models
    )
