"""From what a user types to the address of an API: names, ``host:8471``, a missing ``/v1``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from indwell.errors import UserError
from indwell.providers.catalogue import BY_NAME, LOOPBACK
from indwell.service.endpoint.trial import Looked, look
from indwell.settings.places import read_user_file, user_file
from indwell.settings.redaction import name_or_nothing, redacted
from indwell.settings.values import convert

_HOST = re.compile(r"(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+)(?P<port>:\d{1,5})?(?P<path>/\S*)?")


def address_of(provider: str) -> str:
    """The address that a name of the catalogue, a host, or an address itself, stands for.

    Raises:
        UserError: It is none of them.
    """
    if provider in BY_NAME:
        return BY_NAME[provider].base_url
    if "://" in provider:
        return str(convert("base_url", provider))
    match = _HOST.fullmatch(provider)
    # What looks like a key is not even looked up as a name.
    if match is not None and _is_host(match) and redacted(match["host"]) == match["host"]:
        # On this machine nobody has a certificate; elsewhere a key must not go out in the clear.
        is_here = match["host"].strip("[]") in LOOPBACK
        return str(convert("base_url", f"{'http' if is_here else 'https'}://{provider}"))
    names = ", ".join(BY_NAME)
    what = name_or_nothing(provider) or "what you named"  # it may be a key in the wrong place
    raise UserError(f"{what} is no provider; take one of {names}, or an address 'https://…/v1'")


def address_place(environment: Mapping[str, str]) -> str:
    """The end of a sentence: where the user wrote the address down; empty if nowhere."""
    if environment.get("OPENAI_BASE_URL", "").strip():
        return " (the address is OPENAI_BASE_URL's)"
    path = user_file()
    has_own = "base_url" in (read_user_file(path) or "")
    return f" (the address stands in {path})" if has_own else ""


async def found(base_url: str, key: str | None) -> tuple[str, Looked]:
    """Where the API of an address starts, and what it said there: ``/v1`` is where most have it."""
    tried = [(url, await look(url, key)) for url in spellings(base_url)[:1]]
    if not _has_list(tried[0][1]):
        tried += [(url, await look(url, key)) for url in spellings(base_url)[1:]]
    return next((one for one in tried if _has_list(one[1])), tried[-1])


def spellings(base_url: str) -> tuple[str, ...]:
    """The addresses to try for one that was typed: a bare host with ``/v1`` first."""
    is_bare = urlsplit(base_url).path in {"", "/"}
    return (f"{base_url.rstrip('/')}/v1", base_url) if is_bare else (base_url,)


def _has_list(looked: Looked) -> bool:
    """Is it the API, even if it wants another key, has no model, or is not there at all?"""
    return not any(step.name == "models" and step.state == "warn" for step in looked.steps)


def _is_host(match: re.Match[str]) -> bool:
    """A single word without a port is rather a mistyped name."""
    return bool(match["port"]) or "." in match["host"] or match["host"].strip("[]") in LOOPBACK
