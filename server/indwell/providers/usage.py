"""Tokens as endpoints report them, wherever they put them (H39); pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.messages import Request, Usage

MOST_TOKENS = 100_000_000  # in one number; the largest windows have 10 million
_LONG = 120_000  # characters
_N_PIECES, _PIECE = 61, 487  # of a longer text, together as many as are counted without sampling


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
    reported: Mapping[str, Any],
    request: Request,
    said: Callable[[], Sequence[str]],
    *,
    reasoning_apart: bool,
) -> Usage:
    """Reported tokens; nulls count as 0; an estimate, flagged as one, if that cannot be.

    Budgets and summaries go by these numbers, so those of a liar must not: what is reported is
    compared with what was asked and what came, with room for every tokenizer.

    Args:
        reported: The newest usage object.
        request: What was asked, for the estimate.
        said: Gives what came; asked only if an estimate is needed.
        reasoning_apart: ``completion_tokens`` leaves the reasoning out; the total has it.
    """
    usage = _as_reported(reported, reasoning_apart=reasoning_apart)
    asked = request.tokens or request_tokens(request)
    if usage != Usage() and usage.input <= 4 * asked + 4_000:
        if usage.output <= 2 * request.max_output + 1_000:
            return usage
        answered = _answered(said)
        if usage.output <= 2 * answered + 1_000:
            return usage
        return Usage(input=asked, output=answered, reported=False)
    return Usage(input=asked, output=_answered(said), reported=False)


def _as_reported(reported: Mapping[str, Any], *, reasoning_apart: bool) -> Usage:
    details = reported.get("prompt_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    tokens_in = _count(reported, "prompt_tokens")
    tokens_out = _count(reported, "completion_tokens")
    if reasoning_apart:
        tokens_out = max(tokens_out, _count(reported, "total_tokens") - tokens_in)
    cached = (
        _count(details, "cached_tokens")
        or _count(reported, "prompt_cache_hit_tokens")  # DeepSeek
        or _count(reported, "cached_tokens")  # Moonshot
    )
    cached = min(cached, tokens_in)
    written = min(_count(details, "cache_write_tokens"), tokens_in - cached)  # OpenRouter
    return Usage(input=tokens_in, cached=cached, cache_write=written, output=tokens_out)


def _count(numbers: Mapping[str, Any], name: str) -> int:
    """A number of tokens; anything that is none counts as 0, also a bool, which is an int."""
    value = numbers.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(value, 0), MOST_TOKENS)


def _answered(said: Callable[[], Sequence[str]]) -> int:
    return sum(_estimated(part) for part in said())


def _estimated(text: str) -> int:
    """An estimate in 2 ms, however long the text is: of a very long one some pieces are counted."""
    if len(text) <= _LONG:
        return estimate_tokens(text)
    step = len(text) // _N_PIECES
    sample = "".join(text[at : at + _PIECE] for at in range(0, len(text), step))
    return int(estimate_tokens(sample) * len(text) / len(sample))
