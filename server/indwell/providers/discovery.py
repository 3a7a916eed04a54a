"""Finds model servers on this machine by their usual ports, and asks for their models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from indwell.errors import NotAuthorised, ProviderError
from indwell.providers.catalogue import LOCAL, LOOPBACK, KnownModel
from indwell.providers.endpoint import LocalServer
from indwell.providers.fetch import Fetcher, fetching
from indwell.providers.offered_models import (
    OfferedModel,
    num_ctx,
    ollama_facts,
    owners,
    parse_models,
    running_contexts,
    token_count,
)

# The unit is seconds for all requests together; local servers answer within milliseconds.
SEARCH_S = 1.0
# The unit is tokens: enough for system prompt, tools, one file and an edit of the file.
SMALL_CONTEXT = 16_384
# The unit is tokens, with less than 24 GB of memory (docs.ollama.com/context-length).
OLLAMA_DEFAULT = 4_096


async def find_servers(
    rows: Sequence[KnownModel] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = SEARCH_S,
) -> tuple[LocalServer, ...]:
    """Return the model servers that answer, in the order of ``rows``.

    Args:
        rows: The servers to look for; by default those of the catalogue on this machine.
        environment: The source of ``OLLAMA_HOST`` and ``OLLAMA_CONTEXT_LENGTH``.
        timeout_s: Seconds for all requests together.
    """
    variables = environment or {}
    places = rows if rows is not None else local_rows(variables)
    found = await asyncio.gather(*(_look(row, variables, timeout_s) for row in places))
    return tuple(server for server in found if server is not None)


def local_rows(environment: Mapping[str, str]) -> tuple[KnownModel, ...]:
    """Return the catalogue's local servers, with Ollama's address from ``OLLAMA_HOST``.

    An address on another machine is ignored, because the user has not chosen that machine.
    """
    host = environment.get("OLLAMA_HOST", "").strip()
    try:
        parts = urlsplit(host if "://" in host else f"http://{host}")
        port = parts.port
    except ValueError:
        return LOCAL
    if not host or (parts.hostname or "0.0.0.0") not in {*LOOPBACK, "0.0.0.0", "::"}:  # noqa: S104 -- compared, not bound
        return LOCAL
    url = f"http://127.0.0.1:{port or 11434}/v1"
    return tuple(
        msgspec.structs.replace(row, base_url=url) if row.name == "ollama" else row for row in LOCAL
    )


async def _look(
    row: KnownModel, environment: Mapping[str, str], timeout_s: float
) -> LocalServer | None:
    server: LocalServer | None = None
    try:
        async with (
            asyncio.timeout(timeout_s),
            fetching(row.base_url, None, timeout_s=timeout_s) as fetcher,
        ):
            answer = await fetcher.get("/models")
            models = await asyncio.to_thread(parse_models, answer)
            if models is None:
                return None  # Another program listens on this port.
            owned_by = owners(answer)
            server = _server(row, models)
            server = _server(row, await enriched(fetcher, models, owned_by, timeout_s))
            if "library" in owned_by:
                warning = await _small_context(fetcher, server.models, environment)
                server = msgspec.structs.replace(server, warning=warning)
    except NotAuthorised:
        return LocalServer(row.name, row.title, row.base_url, needs_key=True)
    except (ProviderError, TimeoutError):
        return server  # Return the facts that arrived in time.
    return server


def _server(row: KnownModel, models: tuple[OfferedModel, ...]) -> LocalServer:
    warning = "" if models else f"{row.title} runs, but has no model; {row.begin}"
    return LocalServer(row.name, row.title, row.base_url, models, warning=warning)


async def _small_context(
    fetcher: Fetcher, models: tuple[OfferedModel, ...], environment: Mapping[str, str]
) -> str:
    """Return a warning if Ollama's context is small; Ollama silently cuts longer prompts."""
    running = running_contexts(await fetcher.get("/api/ps", at_root=True))
    if running:
        name, size = min(running.items(), key=lambda item: item[1])
        return _too_small(f"Ollama runs {name!r} with {size:,} tokens of context", size)
    said = environment.get("OLLAMA_CONTEXT_LENGTH", "")
    if said.isdecimal():
        return _too_small(f"OLLAMA_CONTEXT_LENGTH is {int(said):,}", int(said))
    if not models:
        return ""
    shown = await fetcher.post("/api/show", {"model": models[0].name}, at_root=True)
    own = num_ctx(shown)
    if own is not None:
        return _too_small(f"{models[0].name!r} sets num_ctx {own:,}", own)
    return _too_small(
        f"Ollama gives a model {OLLAMA_DEFAULT:,} tokens of context unless told otherwise",
        OLLAMA_DEFAULT,
    )


def _too_small(what: str, size: int) -> str:
    if size >= SMALL_CONTEXT:
        return ""
    return (
        f"{what}, which is too little for work on code; start it with "
        "OLLAMA_CONTEXT_LENGTH=32768 (or more) in its environment"
    )


N_SHOWN = 40  # At most 40 models of Ollama are queried one by one.
AT_ONCE = 8


async def enriched(
    fetcher: Fetcher,
    models: tuple[OfferedModel, ...],
    owned_by: frozenset[str],
    timeout_s: float,
) -> tuple[OfferedModel, ...]:
    """Return ``models`` with facts from other pages of their local server; best effort.

    Args:
        fetcher: Asks the server.
        models: The models of the server's list.
        owned_by: The models' owners, which identify the kind of server.
        timeout_s: Seconds for all requests; facts that arrive later are ignored.
    """
    told = [*models]
    try:
        async with asyncio.timeout(timeout_s):
            if "library" in owned_by:  # Ollama names this owner of models.
                await _ask_one_by_one(fetcher, told)
            elif "organization_owner" in owned_by:  # LM Studio names this owner of models.
                page = parse_models(await fetcher.get("/api/v0/models", at_root=True)) or ()
                by_name = {model.name: model for model in page}
                return tuple(by_name.get(model.name, model) for model in models)
            elif "llamacpp" in owned_by:
                return _with_running_window(await fetcher.get("/props", at_root=True), models)
    except (ProviderError, TimeoutError):
        pass  # The server is older or slow, or a gateway hides this page.
    return tuple(told)


async def _ask_one_by_one(fetcher: Fetcher, told: list[OfferedModel]) -> None:
    """Replace each model by the model with its facts, as facts arrive."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def ask(at: int) -> None:
        async with limit:
            try:
                shown = await fetcher.post("/api/show", {"model": told[at].name}, at_root=True)
            except ProviderError:
                return
        told[at] = ollama_facts(told[at], shown)

    await asyncio.gather(*(ask(at) for at in range(min(N_SHOWN, len(told)))))


def _with_running_window(
    properties: object, models: tuple[OfferedModel, ...]
) -> tuple[OfferedModel, ...]:
    """Return models with the context in which llama.cpp runs them, not the trained context."""
    settings = properties if isinstance(properties, dict) else {}
    generation = settings.get("default_generation_settings")
    window = token_count(generation.get("n_ctx")) if isinstance(generation, dict) else None
    if window is None:
        return models
    return tuple(
        msgspec.structs.replace(model, window=window, source="endpoint") for model in models
    )
