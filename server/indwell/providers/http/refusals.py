"""Turns an endpoint's refusal into an error with a message for the user. Pure.

The patterns are messages of OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, Groq and DeepSeek, as
quoted in their issue trackers. Callers pass the time as ``now``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import msgspec

from indwell.errors import (
    ContextOverflow,
    NotAuthorised,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFault,
    ToolsUnsupported,
    Unreachable,
)
from indwell.lazy_pattern import lazy_pattern

MAX_QUOTE = 300  # At most 300 characters of the endpoint's own message are shown.
"""The limit of examined characters of an endpoint's message.

The patterns below take quadratic time: 64 kB of a single word delayed the loop by 12 s.
"""

_NO_CREDIT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_NO_CREDIT = lazy_pattern(
    r"insufficient (credit|balance|quota|funds)|credit balance", re.IGNORECASE
)
_NO_MODEL = lazy_pattern(
    r"model\b.{0,200}(not found|not exist|unknown|not available)|no such model", re.IGNORECASE
)
_OVERFLOW_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_OVERFLOW = lazy_pattern(
    r"(maximum|available) context|context (length|size|window)|prompt is too long"
    r"|reduce the length|too many (input )?tokens|input is too long",
    re.IGNORECASE,
)
_NO_TOOLS = lazy_pattern(
    r"(not|n't) support(ed)? (tool|function)|support tool|--jinja|tool[ _]choice"
    r"|(tools?( use| calling)?|function calling)['`\"]? (is|are) (not|un)[ -]?supported",
    re.IGNORECASE,
)


class EndpointRefusal(msgspec.Struct, frozen=True):
    """A response that refuses the request.

    Attributes:
        status: HTTP status; inside a stream the status that the endpoint names, or 500.
        words: The endpoint's own message, cut to ``MAX_QUOTE`` when shown; must not contain a key.
        code: The machine-readable codes and types, joined by blanks.
        retry_after_s: Seconds that the endpoint asks to wait.
        location: The target of a redirect, safe to show, or empty if unknown.
    """

    status: int
    words: str = ""
    code: str = ""
    retry_after_s: float | None = None
    location: str = ""


def error_of(
    refusal: EndpointRefusal, *, endpoint: str, model: str, has_tools: bool
) -> ProviderError:
    """Return the error for ``refusal``.

    Endpoints use one status for several errors, so the error's code and message take precedence.

    Args:
        refusal: The refusal.
        endpoint: The address without secrets.
        model: The requested model.
        has_tools: Whether the request had tools, which can then be the reason.
    """
    quoted = f": {quote(refusal.words)}" if refusal.words.strip() else ""
    return (
        _by_words(refusal, endpoint, model, quoted, has_tools=has_tools)
        or _by_client_status(refusal, endpoint, model, quoted)
        or _by_other_status(refusal, endpoint, quoted)
    )


def _by_words(
    refusal: EndpointRefusal, endpoint: str, model: str, quoted: str, *, has_tools: bool
) -> ProviderError | None:
    words = refusal.words
    codes = set(refusal.code.split())
    if codes & _NO_CREDIT_CODES or _NO_CREDIT.search(words):
        return _no_credit(endpoint, quoted)
    if refusal.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS}:
        # Messages of such a status mention many kinds of keys and limits, so the text is no help.
        return None
    if codes & _OVERFLOW_CODES or _OVERFLOW.search(words):
        return _too_long(endpoint, model, quoted)
    if has_tools and _NO_TOOLS.search(words):
        return ToolsUnsupported(
            f"{model!r} at {endpoint} does not support tool calls, which Indwell needs;"
            f" choose a model that supports them{quoted}"
        )
    return None


def _by_client_status(
    refusal: EndpointRefusal, endpoint: str, model: str, quoted: str
) -> ProviderError | None:
    match refusal.status:
        # The message is not quoted, because some servers repeat the key.
        case HTTPStatus.UNAUTHORIZED:
            return NotAuthorised(
                f"the API key is missing or not accepted at {endpoint}; `indwell login` stores"
                " another, or set OPENAI_API_KEY"
            )
        case HTTPStatus.PAYMENT_REQUIRED:
            return _no_credit(endpoint, quoted)
        case HTTPStatus.FORBIDDEN:
            return NotAuthorised(f"{endpoint} does not allow this key to do that{quoted}")
        case HTTPStatus.NOT_FOUND if _names_no_model(refusal):
            return RequestRejected(
                f"{endpoint} has no model {model!r}; choose one that it has{quoted}"
            )
        case HTTPStatus.NOT_FOUND:
            return RequestRejected(
                f"{endpoint} accepts no requests at this address; check it, it often ends in /v1,"
                f" or set `wire` to the API that the endpoint has{quoted}"
            )
        case HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return RequestRejected(
                f"the proxy on the way to {endpoint} needs a name and password; set them in"
                " HTTP_PROXY as http://name:password@host:port"
            )
        case HTTPStatus.REQUEST_TIMEOUT:
            return Unreachable(f"{endpoint} did not answer in time; try again")
        case HTTPStatus.CONFLICT:  # Another request uses the resource; OpenAI's SDK also retries.
            return ServerFault(f"{endpoint} is busy with another request; try again{quoted}")
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return _too_long(endpoint, model, quoted)
        case _:
            return None


def _by_other_status(refusal: EndpointRefusal, endpoint: str, quoted: str) -> ProviderError:
    status, wait = refusal.status, refusal.retry_after_s
    is_server_fault = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if status == HTTPStatus.TOO_MANY_REQUESTS or (is_server_fault and wait is not None):
        when = "" if wait is None else f" and asks to wait {duration(wait)}"
        return RateLimited(
            f"{endpoint} accepts no more requests now{when}; try again then{quoted}",
            retry_after_s=wait,
        )
    if is_server_fault:
        return ServerFault(f"{endpoint} failed with status {status}; try again later{quoted}")
    if status < HTTPStatus.BAD_REQUEST:
        where = repr(refusal.location) if refusal.location else "an unnamed address"
        return RequestRejected(
            f"{endpoint} redirects to {where}, and a prompt is not sent on to another address;"
            " if you trust it, set OPENAI_BASE_URL to the API there"
        )
    return RequestRejected(f"{endpoint} refused the request with status {status}{quoted}")


def _no_credit(endpoint: str, quoted: str) -> OutOfCredit:
    return OutOfCredit(
        f"no credit left at {endpoint}; add credit there or choose another endpoint{quoted}"
    )


def _too_long(endpoint: str, model: str, quoted: str) -> ContextOverflow:
    return ContextOverflow(f"the request is too long for {model!r} at {endpoint}{quoted}")


def _names_no_model(refusal: EndpointRefusal) -> bool:
    return "model_not_found" in refusal.code.split() or bool(_NO_MODEL.search(refusal.words))


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return how many seconds the headers ask to wait, never negative, or None if not given.

    ``Retry-After`` is seconds or an HTTP date (RFC 9110, 10.2.3); ``retry-after-ms`` is OpenAI's.

    Args:
        headers: Lower-case names.
        now: The time to compare a date with; has a time zone.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            seconds = _seconds_until(value, now)
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


_WAIT = lazy_pattern(
    r"try again in (?:(\d{1,3})h)?(?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d+)?) ?(ms|s\b|sec))?",
    re.IGNORECASE,
)


def wait_in(words: str) -> float | None:
    """Return how many seconds a message asks to wait, such as OpenAI's "try again in 6m0.5s"."""
    found = _WAIT.search(words)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, number, unit = found.groups()
    seconds = float(number or 0) / (1_000 if unit and unit.lower() == "ms" else 1)
    return int(hours or 0) * 3_600 + int(minutes or 0) * 60 + seconds


def duration(seconds: float) -> str:
    """Return a duration for people, rounded up: ``45 s``, ``15 min``, ``2 h 5 min``."""
    whole = math.ceil(seconds)
    if whole < 60:  # noqa: PLR2004 -- seconds of a minute
        return f"{whole} s"
    minutes = math.ceil(whole / 60)
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def quote(words: str) -> str:
    """Return the endpoint's message as one line of at most ``MAX_QUOTE`` plain characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split()).rstrip(".")
    return line if len(line) <= MAX_QUOTE else line[: MAX_QUOTE - 1] + "…"


def _seconds_until(date: str, now: datetime) -> float:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return (then - now).total_seconds()


_STATUS_OF: Mapping[str, int] = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "usage_limit_reached": 429,
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
    "billing_error": 402,
    "request_too_large": 413,
    "timeout_error": 504,
    # Another attempt would not avoid errors with these codes.
    "invalid_prompt": 400,
    "invalid_encrypted_content": 400,
    "invalid_image": 400,
    "invalid_image_format": 400,
    "invalid_base64_image": 400,
    "invalid_image_url": 400,
    "invalid_image_mode": 400,
    "image_too_large": 400,
    "image_too_small": 400,
    "image_parse_error": 400,
    "image_content_policy_violation": 400,
    "image_file_too_large": 400,
    "image_file_not_found": 400,
    "unsupported_image_media_type": 400,
    "empty_image_file": 400,
    "failed_to_download_image": 400,
    "bio_policy": 400,
    "cyber_policy": 400,
    "misalignment_policy_violation": 400,
    "data_residency_mismatch": 400,
}


class EndpointError(msgspec.Struct, frozen=True):
    """An error as the endpoint reports it.

    Attributes:
        words: The message.
        code: The machine-readable codes and types, joined by blanks.
        param: The parameter that the error names.
        status: The status that the error itself names, or 0 if there is no status.
    """

    words: str
    code: str = ""
    param: str = ""
    status: int = 0


def said_in(body: bytes) -> EndpointError:
    """Return the error in an answer's body; a body that is not JSON counts as the message."""
    text = body.decode("utf-8", "replace")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return EndpointError(text)
    return said_by(value) or EndpointError(text)


def said_by(value: object) -> EndpointError | None:
    """Return the error in a decoded body or event, or None if there is no message."""
    if isinstance(value, list) and value:  # Gemini wraps its errors in a list.
        value = value[0]
    if isinstance(value, str):
        return EndpointError(value)
    if not isinstance(value, Mapping):
        return None
    inner = value.get("error") or value
    if isinstance(inner, str):
        return EndpointError(inner)
    if not isinstance(inner, Mapping):
        return None
    words = inner.get("message") or inner.get("detail") or value.get("detail")
    if not words:
        return None
    names = [str(inner[name]) for name in ("code", "type", "status") if inner.get(name)]
    return EndpointError(
        words=_with_cause(str(words), inner),
        code=" ".join(names),
        param=str(inner.get("param") or ""),
        status=next((status for status in map(_status, names) if status), 0),
    )


def _with_cause(words: str, error: Mapping[str, Any]) -> str:
    """Add the message of the provider behind OpenRouter, from the error's metadata."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{words}: {raw}" if isinstance(raw, str) and raw else words


def _status(name: str) -> int:
    if name.isdecimal() and len(name) == 3 and 400 <= int(name) <= 599:  # noqa: PLR2004 -- HTTP's error statuses
        return int(name)
    return _STATUS_OF.get(name.lower(), 0)
