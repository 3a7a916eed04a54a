"""What an endpoint says went wrong: its words, codes and status, wherever it put them; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

_STATUS_OF: Mapping[str, int] = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "too_many_requests": 429,
    "insufficient_quota": 429,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "overloaded_error": 529,
}


class Said(msgspec.Struct, frozen=True):
    """An error in the endpoint's own words.

    Attributes:
        words: Its message.
        code: Its machine-readable codes and types, joined by blanks.
        param: The parameter that it names.
        status: The status that the error itself names; 0 for none.
    """

    words: str
    code: str = ""
    param: str = ""
    status: int = 0


def said_in(body: bytes) -> Said:
    """What an answer's body says; one that is no JSON says itself."""
    text = body.decode("utf-8", "replace")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return Said(text)
    return said_by(value) or Said(text)


def said_by(value: object) -> Said | None:
    """What a decoded body or event says; None if there are no words in it."""
    if isinstance(value, list) and value:  # Gemini wraps its errors in a list
        value = value[0]
    if isinstance(value, str):
        return Said(value)
    if not isinstance(value, Mapping):
        return None
    inner = value.get("error") or value
    if isinstance(inner, str):
        return Said(inner)
    if not isinstance(inner, Mapping):
        return None
    words = inner.get("message") or inner.get("detail") or value.get("detail")
    if not words:
        return None
    names = [str(inner[name]) for name in ("code", "type", "status") if inner.get(name)]
    return Said(
        words=_with_cause(str(words), inner),
        code=" ".join(names),
        param=str(inner.get("param") or ""),
        status=next((status for status in map(_status, names) if status), 0),
    )


def _with_cause(words: str, error: Mapping[str, Any]) -> str:
    """OpenRouter keeps the words of the endpoint behind it in the metadata."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{words}: {raw}" if isinstance(raw, str) and raw else words


def _status(name: str) -> int:
    if name.isdecimal() and len(name) == 3 and 400 <= int(name) <= 599:  # noqa: PLR2004 -- HTTP's error statuses
        return int(name)
    return _STATUS_OF.get(name.lower(), 0)
