"""Tokens as endpoints report them, wherever they put them (H39); pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.messages import Request, Usage


def usage_of(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a chunk reports: beside the choices, inside one (Moonshot), or in Groq's own field."""
    usage = chunk.get("usage")
    if isinstance(usage, Mapping):
        return usage
    groq = chunk.get("x_groq")
    if isinstance(groq, Mapping) and isinstance(usage := groq.get("usage"), Mapping):
        return usage
    choices = chunk.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        usage = choices[0].get("usage")
        if isinstance(usage, Mapping):
            return usage
    return {}


def used(
    reported: Mapping[str, Any], request: Request, said: Sequence[str], *, reasoning_apart: bool
) -> Usage:
    """Reported tokens; nulls count as 0; an estimate, flagged as one, if nothing was reported.

    Args:
        reported: The newest usage object.
        request: What was asked, for the estimate.
        said: What came, for the estimate.
        reasoning_apart: ``completion_tokens`` leaves the reasoning out; the total has it.
    """
    details = reported.get("prompt_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    tokens_in = _count(reported, "prompt_tokens")
    tokens_out = _count(reported, "completion_tokens")
    if reasoning_apart:
        tokens_out = max(tokens_out, _count(reported, "total_tokens") - tokens_in)
    usage = Usage(
        input=tokens_in,
        cached=_count(details, "cached_tokens")
        or _count(reported, "prompt_cache_hit_tokens")  # DeepSeek
        or _count(reported, "cached_tokens"),  # Moonshot
        cache_write=_count(details, "cache_write_tokens"),  # OpenRouter
        output=tokens_out,
    )
    if usage != Usage():
        return usage
    return Usage(
        input=request.tokens or request_tokens(request),
        output=sum(estimate_tokens(part) for part in said),
        reported=False,
    )


def _count(numbers: Mapping[str, Any], name: str) -> int:
    value = numbers.get(name)
    return value if isinstance(value, int) and value > 0 else 0
