"""Builds the attributes of spans, by OpenTelemetry's conventions for generative AI. Pure.

The names are those of version 0.1.0 of the conventions (status "development"). Names of Indwell
begin with ``indwell.``. Costs are in US dollars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

import msgspec

from indwell.agent.core.events import TurnFinished
from indwell.messages import Usage
from indwell.settings.model import Settings

Attributes: TypeAlias = Mapping[str, str | bool | int | float]

_PROVIDERS: Mapping[str, str] = {
    "api.anthropic.com": "anthropic",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.moonshot.ai": "moonshot_ai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
}


def provider_name(settings: Settings) -> str:
    """Return the convention's name of the endpoint's provider; ``openai`` for other endpoints."""
    if settings.provider != "openai":
        return settings.provider
    try:
        host = urlsplit(settings.base_url or "").hostname or ""
    except ValueError:
        host = ""
    is_azure = host.endswith(".openai.azure.com")
    return "azure.ai.openai" if is_azure else _PROVIDERS.get(host, "openai")


def turn_begins(session: str, turn: int, provider: str, version: str) -> Attributes:
    """Return the attributes that the span of a turn has from its start."""
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider,
        "gen_ai.agent.name": "indwell",
        "gen_ai.agent.version": version,
        "gen_ai.conversation.id": session,
        "indwell.turn": turn,
    }


def turn_ends(finished: TurnFinished) -> Attributes:
    """Return the attributes of a turn's end; an unknown cost is left out."""
    changes = finished.changes
    found = {
        **usage_of(finished.usage, finished.cost),
        "indwell.ending": finished.ending,
        "indwell.rounds": finished.rounds,
        "indwell.files.changed": len(changes),
        "indwell.lines.added": sum(one.added for one in changes),
        "indwell.lines.removed": sum(one.removed for one in changes),
        "indwell.review.pending": finished.to_review,
    }
    return {**found, "error.type": finished.ending} if finished.ending == "failed" else found


def call_begins(session: str, model: str, provider: str, *, max_output: int) -> Attributes:
    """Return the attributes that the span of a model call has from its start."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": max_output,
        "gen_ai.request.stream": True,
        "gen_ai.conversation.id": session,
    }


def usage_of(usage: Usage, cost: float | None) -> Attributes:
    """Return the tokens and the cost of one call or several calls."""
    found: dict[str, str | bool | int | float] = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.reasoning.output_tokens": usage.thinking,
        "indwell.usage.is_estimated": not usage.reported,
    }
    return found if cost is None else {**found, "indwell.cost": cost}


def tool_begins(session: str, call: str, tool: str) -> Attributes:
    """Return the attributes that the span of a tool call has from its start."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": call,
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": session,
    }


def content_of(role: str, text: str) -> str:
    """Return a text of the user or the model as the JSON of messages that the conventions use."""
    parts = [{"type": "text", "content": text}]
    return msgspec.json.encode([{"role": role, "parts": parts}]).decode()


def review(session: str, *, accepted: int, rejected: int) -> Attributes:
    """Return the attributes of a span about the user's verdicts, counted in hunks."""
    return {
        "gen_ai.conversation.id": session,
        "indwell.review.accepted": accepted,
        "indwell.review.rejected": rejected,
    }
