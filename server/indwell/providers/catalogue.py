"""Providers that are known by name, with address, page for keys, and local port. Data only.

Addresses and key pages come from each provider's documentation (November 2026). The user must give
the address of any other endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from indwell.lazy_pattern import lazy_pattern


class KnownModel(msgspec.Struct, frozen=True):
    """A provider that is known by name.

    Attributes:
        name: The argument of ``indwell login NAME``.
        title: The name for people.
        base_url: The address of the provider's API.
        needs_key: Whether the provider needs a key.
        key_page: The page where the user creates a key.
        variables: Environment variables that usually hold the key.
        port: The usual port on this machine, or None for a provider on the network.
        other_port: Another port to try, such as the port of older or newer versions.
        key_path: A path that answers 401 to a bad key, for providers with a public list of models.
        begin: The command that downloads a first model for a local server.
    """

    name: str
    title: str
    base_url: str
    needs_key: bool = True
    key_page: str = ""
    variables: tuple[str, ...] = ()
    port: int | None = None
    other_port: int | None = None
    key_path: str = ""
    begin: str = ""


CATALOGUE: tuple[KnownModel, ...] = (
    KnownModel(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        key_page="https://platform.openai.com/api-keys",
        variables=("OPENAI_API_KEY",),
    ),
    KnownModel(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        key_page="https://openrouter.ai/settings/keys",
        variables=("OPENROUTER_API_KEY",),
        key_path="/key",
    ),
    KnownModel(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        key_page="https://console.anthropic.com/settings/keys",
        variables=("ANTHROPIC_API_KEY",),
    ),
    KnownModel(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        key_page="https://aistudio.google.com/apikey",
        variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    KnownModel(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        key_page="https://platform.deepseek.com/api_keys",
        variables=("DEEPSEEK_API_KEY",),
    ),
    KnownModel(
        "qwen",
        "Qwen (DashScope)",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_page="https://bailian.console.alibabacloud.com/?tab=model#/api-key",
        variables=("DASHSCOPE_API_KEY",),
    ),
    KnownModel(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        key_page="https://console.mistral.ai/api-keys",
        variables=("MISTRAL_API_KEY",),
    ),
    KnownModel(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        key_page="https://console.x.ai",
        variables=("XAI_API_KEY",),
    ),
    KnownModel(
        "ollama",
        "Ollama",
        "http://127.0.0.1:11434/v1",
        needs_key=False,
        port=11434,
        begin="ollama pull qwen3-coder",
    ),
    KnownModel(
        "lmstudio",
        "LM Studio",
        "http://127.0.0.1:1234/v1",
        needs_key=False,
        variables=("LM_API_TOKEN",),
        port=1234,
        begin="load a model in LM Studio",
    ),
    KnownModel(
        "llamacpp",
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        needs_key=False,
        variables=("LLAMA_API_KEY",),
        port=8080,
        other_port=9931,  # The port is llama.cpp's default since the autumn of 2026.
        begin="llama-server --jinja -c 32768 -m MODEL.gguf",
    ),
    KnownModel(
        "vllm",
        "vLLM",
        "http://127.0.0.1:8000/v1",
        needs_key=False,
        variables=("VLLM_API_KEY",),
        port=8000,
        begin="vllm serve MODEL --enable-auto-tool-choice",
    ),
    KnownModel(
        "litellm",
        "LiteLLM",
        "http://127.0.0.1:4000/v1",
        needs_key=False,
        variables=("LITELLM_API_KEY", "LITELLM_MASTER_KEY"),
        port=4000,
        begin="litellm --config config.yaml",
    ),
)


def _at_port(row: KnownModel, port: int) -> KnownModel:
    url = row.base_url.replace(f":{row.port}/", f":{port}/")
    return msgspec.structs.replace(row, base_url=url, port=port)


BY_NAME: Mapping[str, KnownModel] = {row.name: row for row in CATALOGUE}
LOCAL: tuple[KnownModel, ...] = tuple(
    here
    for row in CATALOGUE
    if row.port is not None
    for here in (row, *((_at_port(row, row.other_port),) if row.other_port else ()))
)
"""The servers to look for on this machine, with one entry for each port."""


def row_of(base_url: str) -> KnownModel | None:
    """Return the entry for an address, by its host or by its port on this machine, or None."""
    parts = urlsplit(base_url)
    for row in CATALOGUE:
        known = urlsplit(row.base_url)
        ports = {row.port, row.other_port} - {None}
        is_here = parts.hostname in LOOPBACK and parts.port in ports
        if is_here or (row.port is None and parts.hostname == known.hostname):
            return row
    return None


SMALL = 10.0
"""The size in billion parameters below which a model works better with a short prompt."""

_SIZE = lazy_pattern(r"(?<![a-z0-9.])(?:(\d{1,2})x|e)?(\d{1,4}(?:\.\d{1,2})?)(b|m)(?![a-z0-9])")
_LEAST_M = 50  # A smaller number before an `m` is not a size: `1m` is a window.


def size_in_name(model: str) -> float | None:
    """Return how many billion parameters a model's name states, or None if it states none.

    If the name has several sizes, the largest is used: `30b-a3b` means 30 billion, of which 3 work
    on each token.
    """
    sizes = [
        int(experts or 1) * float(number) / (1 if unit == "b" else 1_000)
        for experts, number, unit in _SIZE.findall(model.lower())
        if unit == "b" or float(number) >= _LEAST_M
    ]
    return max(sizes, default=None)


LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_local_model(base_url: str | None) -> bool:
    """Return whether a server on this machine runs the model itself; LiteLLM is only a gateway."""
    if not base_url or urlsplit(base_url).hostname not in LOOPBACK:
        return False
    row = row_of(base_url)
    return row is None or row.name != "litellm"


def title_of(base_url: str) -> str:
    """Return the endpoint's name for people: the entry's title, or the host with the port."""
    row = row_of(base_url)
    return row.title if row is not None else urlsplit(base_url).netloc.rpartition("@")[2]
