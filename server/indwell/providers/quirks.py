"""The known endpoints and their quirks: a row each, with its sources. Data.

``docs/providers.md`` shows this table, and a test compares the two. For each row a test plays a
stream in that dialect through the real SDK.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from indwell.errors import SettingsError
from indwell.lazy_pattern import lazy_pattern
from indwell.providers.endpoint import OPENAI_URL, host_of
from indwell.providers.wires.dialect import Dialect

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 -- compared, not bound
_GITHUB = "https://github.com/"


class Row(msgspec.Struct, frozen=True):
    """One endpoint.

    Attributes:
        name: The name in a setting.
        dialect: Its dialect.
        streams: How its streams differ; every difference is accepted from all endpoints.
        sources: Where that is documented.
        hosts: Its hosts, with subdomains.
        ports: Its default ports on this machine, the present one first.
    """

    name: str
    dialect: Dialect
    streams: str
    sources: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


ROWS = (
    Row(
        "openai",
        Dialect(
            cache_key=True,
            output_limit="max_completion_tokens",
            effort_field="reasoning_effort",
            verbosity=True,
            phases=True,
        ),
        "the reference: calls by index, a last chunk with usage and no choices, then [DONE]",
        ("https://platform.openai.com/docs/api-reference/chat/create",),
        hosts=(
            "api.openai.com",
            *("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"),
        ),
    ),
    Row(
        "openrouter",
        Dialect(),
        "comments while it waits; errors as data with code and message, and finish_reason error; "
        "reasoning in `reasoning` and `reasoning_details`",
        (
            "https://openrouter.ai/docs/api-reference/streaming",
            "https://openrouter.ai/docs/api/reference/errors-and-debugging",
        ),
        hosts=("openrouter.ai",),
    ),
    Row(
        "deepseek",
        Dialect(reasoning_back="reasoning_content"),
        "reasoning in `reasoning_content`, refused with 400 if it does not come back; cached "
        "tokens in `prompt_cache_hit_tokens`; finish_reason insufficient_system_resource",
        (
            "https://api-docs.deepseek.com/guides/thinking_mode",
            _GITHUB + "abhigyanpatwari/GitNexus/issues/43",
        ),
        hosts=("api.deepseek.com",),
    ),
    Row(
        "qwen",
        Dialect(null_content=False),
        "ids are empty in the later pieces of a call; reasoning in `reasoning_content`; usage "
        "only if asked for, in a last chunk without choices",
        ("https://docs.qwencloud.com/developer-guides/text-generation/streaming",),
        hosts=(
            "dashscope.aliyuncs.com",
            "dashscope-intl.aliyuncs.com",
            "dashscope-us.aliyuncs.com",
        ),
    ),
    Row(
        "mistral",
        Dialect(usage_option=False, nine_ids=True, bridge=True),
        "whole calls in one chunk; content in parts, with thinking among them; usage beside the "
        "last choice; finish_reason model_length and error",
        (
            _GITHUB + "anomalyco/opencode/issues/1680",
            _GITHUB + "avante-corp/avante.nvim/pull/2695",
            _GITHUB + "datapizza-labs/datapizza-ai/issues/98",
        ),
        hosts=("api.mistral.ai", "codestral.mistral.ai"),
    ),
    Row(
        "xai",
        Dialect(reasoning_apart=True),
        "`completion_tokens` without the reasoning, which only `total_tokens` has; usage in every "
        "chunk",
        (
            _GITHUB + "vercel/ai/pull/12425",
            "https://docs.x.ai/docs/key-information/consumption-and-rate-limits",
        ),
        hosts=("api.x.ai",),
    ),
    Row(
        "gemini",
        Dialect(call_extras=True, reasoning_apart=True),
        "calls without an index; `extra_content` with a thought signature that must come back; "
        "finish_reason stop after calls",
        (
            _GITHUB + "open-webui/computer/issues/224",
            _GITHUB + "googleapis/python-genai/issues/2868",
            "https://ai.google.dev/gemini-api/docs/thought-signatures",
        ),
        hosts=("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
    ),
    Row(
        "anthropic",
        Dialect(wire="messages", cache_marks=True, cache_hours=True),
        "messages: blocks by index, thinking with signatures, usage in the first and the last "
        "event; chat completions there have no prompt cache and no reasoning",
        (
            "https://platform.claude.com/docs/en/build-with-claude/streaming",
            "https://platform.claude.com/docs/en/api/openai-sdk",
        ),
        hosts=("api.anthropic.com",),
    ),
    Row(
        "litellm",
        Dialect(id_limit=65_536),
        "Gemini's thought signatures inside the ids of calls, which must come back whole; all "
        "calls at index 0 with Ollama behind it; arguments as an object",
        (
            _GITHUB + "BerriAI/litellm/pull/16895",
            _GITHUB + "BerriAI/litellm/pull/37792",
        ),
        ports=(4000,),
    ),
    Row(
        "vllm",
        Dialect(think_tags=True),
        "reasoning in `reasoning`, in `reasoning_content` before, and in <think> without a parser; "
        "finish_reason stop after a forced call",
        (
            _GITHUB + "vllm-project/vllm/pull/9209",
            _GITHUB + "ogx-ai/ogx/pull/4244",
            _GITHUB + "vllm-project/vllm/issues/12468",
        ),
        ports=(8000,),
    ),
    Row(
        "ollama",
        Dialect(think_tags=True),
        "whole calls in one chunk, each at index 0; finish_reason stop after calls, or empty",
        (
            _GITHUB + "ollama/ollama/pull/7963",
            _GITHUB + "BerriAI/litellm/issues/35663",
        ),
        ports=(11434,),
    ),
    Row(
        "llama.cpp",
        Dialect(think_tags=True, null_content=False, progress=True),
        "`timings` beside the usage, and `prompt_progress` before the reply; errors as data; needs "
        "--jinja for tools; <think> with --reasoning-format none",
        (
            _GITHUB + "ggml-org/llama.cpp/pull/12379",
            _GITHUB + "ggml-org/llama.cpp/pull/15827",
        ),
        ports=(9931, 8080),
    ),
    Row(
        "lmstudio",
        Dialect(think_tags=True),
        "the name of a call is empty in its later pieces; <think> in the words; errors as events "
        "named error",
        (
            _GITHUB + "lmstudio-ai/lmstudio-bug-tracker/issues/649",
            _GITHUB + "lmstudio-ai/lmstudio-bug-tracker/issues/723",
        ),
        ports=(1234,),
    ),
)

_RESPONSES = lazy_pattern(r"^(gpt-[5-9]|gpt-\d\d|o\d|codex)|-codex|deep-research")
"""Models of OpenAI that think, or that chat completions do not have (its guide on reasoning)."""

NAMES = tuple(row.name for row in ROWS)


def row_for(base_url: str | None) -> Row | None:
    """Return the row of an address, by its host, or by its port on this machine; None is OpenAI."""
    url = base_url or OPENAI_URL
    host = host_of(url)
    for row in ROWS:
        if any(host == known or host.endswith("." + known) for known in row.hosts):
            return row
    if host in _LOCAL:
        try:
            port = urlsplit(url).port
        except ValueError:
            port = None
        return next((row for row in ROWS if port in row.ports), None)
    return None


def dialect_for(base_url: str | None, model: str = "", *, name: str = "") -> Dialect:
    """Return the dialect of an address, or of the row called ``name``; else the common core.

    OpenAI's models that think are reached through responses, also at Azure. OpenRouter passes
    ``cache_control`` on to Anthropic's models, and for Mistral's models it needs the order of roles
    and the call ids that Mistral needs. Gateways and clouds tell by the path that they speak
    Anthropic's messages.

    Raises:
        SettingsError: There is no row of that name.
    """
    if name and name not in NAMES:
        raise SettingsError(f"no dialect {name!r} is known; choose one of {', '.join(NAMES)}")
    shaped = None if name else _anthropic_shape(base_url or "")
    if shaped is not None:
        return shaped
    row = next((row for row in ROWS if row.name == name), None) if name else row_for(base_url)
    if row is None:
        return Dialect(think_tags=host_of(base_url or OPENAI_URL) in _LOCAL)
    is_old_azure = "/deployments/" in (base_url or "")  # has chat completions only
    if row.name == "openai" and _RESPONSES.search(model) and not is_old_azure:
        return msgspec.structs.replace(row.dialect, wire="responses")
    if row.name == "openrouter" and model.startswith("anthropic/"):
        return msgspec.structs.replace(row.dialect, cache_marks=True, cache_hours=True)
    if row.name == "openrouter" and model.startswith("mistralai/"):
        return msgspec.structs.replace(row.dialect, bridge=True, nine_ids=True)
    return row.dialect


_VERTEX = "/publishers/anthropic/models"


def _anthropic_shape(base_url: str) -> Dialect | None:
    """Return the dialect of an address whose path says that Anthropic's API is behind it.

    Bedrock, Microsoft's Foundry, LiteLLM and others have it below ``/anthropic``, Vertex and
    gateways like it below ``/publishers/anthropic/models``.
    """
    path = urlsplit(base_url).path.rstrip("/")
    is_vertex = path.endswith(_VERTEX)
    if not is_vertex and "anthropic" not in path.split("/"):
        return None
    return Dialect(wire="messages", cache_marks=True, cache_hours=True, model_in_path=is_vertex)
