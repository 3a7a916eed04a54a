"""The known endpoints and how their APIs differ: one entry for each, with sources. Data only.

``docs/providers.md`` shows this table, and a test compares the page with the table. Another test
plays a stream of each dialect through the real SDK.
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
    """An endpoint and how its API differs.

    Attributes:
        name: The endpoint's name in settings.
        dialect: The differences of requests and replies.
        streams: A description of how streams differ; every difference is accepted from all
            endpoints.
        sources: The pages that document the differences.
        hosts: The hosts; subdomains match, too.
        ports: The default ports on this machine, the current port first.
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
        "The reference for all other endpoints. Each call has an index. The last chunk has the "
        "usage and no choices, and then `[DONE]` follows.",
        ("https://platform.openai.com/docs/api-reference/chat/create",),
        hosts=(
            "api.openai.com",
            *("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"),
        ),
    ),
    Row(
        "openrouter",
        Dialect(),
        "It sends comments while it waits. It sends an error as data with a code and a message, "
        "and with the finish_reason error. Reasoning is in `reasoning` and `reasoning_details`.",
        (
            "https://openrouter.ai/docs/api-reference/streaming",
            "https://openrouter.ai/docs/api/reference/errors-and-debugging",
        ),
        hosts=("openrouter.ai",),
    ),
    Row(
        "deepseek",
        Dialect(reasoning_back="reasoning_content"),
        "Reasoning is in `reasoning_content`, and must come back, or the endpoint answers 400. "
        "Cached tokens are in `prompt_cache_hit_tokens`. It has the finish_reason "
        "insufficient_system_resource.",
        (
            "https://api-docs.deepseek.com/guides/thinking_mode",
            _GITHUB + "abhigyanpatwari/GitNexus/issues/43",
        ),
        hosts=("api.deepseek.com",),
    ),
    Row(
        "qwen",
        Dialect(null_content=False),
        "Later pieces of a call have an empty id. Reasoning is in `reasoning_content`. It sends "
        "the usage only on request, in a last chunk without choices.",
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
        "A call comes whole in one chunk. Content comes in parts, and some of them are "
        "thinking. The usage comes with the last choice. It has the finish_reasons model_length "
        "and error.",
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
        "`completion_tokens` does not count the reasoning; only `total_tokens` does. Every "
        "chunk has the usage.",
        (
            _GITHUB + "vercel/ai/pull/12425",
            "https://docs.x.ai/docs/key-information/consumption-and-rate-limits",
        ),
        hosts=("api.x.ai",),
    ),
    Row(
        "gemini",
        Dialect(call_extras=True, reasoning_apart=True),
        "Calls have no index. `extra_content` has a thought signature, which must come back. "
        "The finish_reason after calls is stop.",
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
        "Messages: blocks have an index, thinking has signatures, and the first and the last "
        "event have the usage. Its chat completions have no prompt cache and no reasoning.",
        (
            "https://platform.claude.com/docs/en/build-with-claude/streaming",
            "https://platform.claude.com/docs/en/api/openai-sdk",
        ),
        hosts=("api.anthropic.com",),
    ),
    Row(
        "litellm",
        Dialect(id_limit=65_536),
        "The ids of calls contain Gemini's thought signatures, and must come back whole. With "
        "Ollama behind it, all calls have index 0. Arguments may be an object.",
        (
            _GITHUB + "BerriAI/litellm/pull/16895",
            _GITHUB + "BerriAI/litellm/pull/37792",
        ),
        ports=(4000,),
    ),
    Row(
        "vllm",
        Dialect(think_tags=True),
        "Reasoning is in `reasoning`, in older versions in `reasoning_content`, and without a "
        "parser in `<think>`. The finish_reason after a forced call is stop.",
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
        "A call comes whole in one chunk, and always has index 0. The finish_reason after calls "
        "is stop or empty.",
        (
            _GITHUB + "ollama/ollama/pull/7963",
            _GITHUB + "BerriAI/litellm/issues/35663",
        ),
        ports=(11434,),
    ),
    Row(
        "llama.cpp",
        Dialect(think_tags=True, null_content=False, progress=True),
        "`timings` come with the usage, and `prompt_progress` comes before the reply. It sends "
        "an error as data. Tools need --jinja. With --reasoning-format none, thinking is in "
        "`<think>`.",
        (
            _GITHUB + "ggml-org/llama.cpp/pull/12379",
            _GITHUB + "ggml-org/llama.cpp/pull/15827",
        ),
        ports=(9931, 8080),
    ),
    Row(
        "lmstudio",
        Dialect(think_tags=True),
        "Later pieces of a call have an empty name. Thinking may be in `<think>` in the text. It "
        "sends an error as an event named error.",
        (
            _GITHUB + "lmstudio-ai/lmstudio-bug-tracker/issues/649",
            _GITHUB + "lmstudio-ai/lmstudio-bug-tracker/issues/723",
        ),
        ports=(1234,),
    ),
)

_RESPONSES = lazy_pattern(r"^(gpt-[5-9]|gpt-\d\d|o\d|codex)|-codex|deep-research")
"""Matches OpenAI's models that reason, or are missing in chat completions (reasoning guide)."""

NAMES = tuple(row.name for row in ROWS)


def row_for(base_url: str | None) -> Row | None:
    """Return an address's entry, by host or by port on this machine; no address means OpenAI."""
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
    """Return the dialect of an address, or of the entry ``name``; by default the common dialect.

    OpenAI's reasoning models use the Responses API, also at Azure. OpenRouter passes
    ``cache_control`` on to Anthropic's models, and needs Mistral's order of roles and call ids for
    Mistral's models. The path of a gateway or a cloud shows whether the gateway or cloud uses
    Anthropic's Messages API.

    Raises:
        SettingsError: There is no entry of that name.
    """
    if name and name not in NAMES:
        raise SettingsError(f"no dialect {name!r} is known; choose one of {', '.join(NAMES)}")
    shaped = None if name else _anthropic_shape(base_url or "")
    if shaped is not None:
        return shaped
    row = next((row for row in ROWS if row.name == name), None) if name else row_for(base_url)
    if row is None:
        return Dialect(think_tags=host_of(base_url or OPENAI_URL) in _LOCAL)
    # Azure's older form of address only has chat completions.
    is_old_azure = "/deployments/" in (base_url or "")
    if row.name == "openai" and _RESPONSES.search(model) and not is_old_azure:
        return msgspec.structs.replace(row.dialect, wire="responses")
    if row.name == "openrouter" and model.startswith("anthropic/"):
        return msgspec.structs.replace(row.dialect, cache_marks=True, cache_hours=True)
    if row.name == "openrouter" and model.startswith("mistralai/"):
        return msgspec.structs.replace(row.dialect, bridge=True, nine_ids=True)
    return row.dialect


_VERTEX = "/publishers/anthropic/models"


def _anthropic_shape(base_url: str) -> Dialect | None:
    """Return the dialect of an address whose path belongs to Anthropic's API, or None.

    Bedrock, Microsoft's Foundry, LiteLLM and others offer this API below ``/anthropic``. Vertex and
    similar gateways offer it below ``/publishers/anthropic/models``.
    """
    path = urlsplit(base_url).path.rstrip("/")
    is_vertex = path.endswith(_VERTEX)
    if not is_vertex and "anthropic" not in path.split("/"):
        return None
    return Dialect(wire="messages", cache_marks=True, cache_hours=True, model_in_path=is_vertex)
