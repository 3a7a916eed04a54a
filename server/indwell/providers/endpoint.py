"""An endpoint's address and key: checked, and shown without secrets; pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from indwell.errors import SettingsError
from indwell.settings.redaction import plain_address

OPENAI_URL = "https://api.openai.com/v1"


def is_openai(url: str) -> bool:
    """Whether ``url`` is OpenAI's own API, one of its regions included."""
    host = host_of(url)
    return host == "api.openai.com" or host.endswith(".api.openai.com")


def host_of(url: str) -> str:
    """The host in lower case; empty if there is none."""
    return urlsplit(url).hostname or ""


def endpoint_address(url: str) -> str:
    """The address as every sentence names it.

    Raises:
        SettingsError: It is no http address.
    """
    address = shown(url)
    if not re.match(r"https?://[^/]", address):
        raise SettingsError(
            f"the endpoint {address!r} is no http address; set OPENAI_BASE_URL to one"
            " such as 'http://127.0.0.1:11434/v1'"
        )
    return address


def shown(url: str) -> str:
    """``url`` as a sentence shows it; empty if it is no address. See ``plain_address``."""
    return plain_address(url)


def origin_shown(url: str) -> str:
    """The origin of ``url`` alone, for an address that someone else wrote; empty if it has none."""
    parts = urlsplit(shown(url))
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def sendable_key(key: str | None) -> str:
    """The key without the line break that a paste leaves; empty if there is none.

    Raises:
        SettingsError: A header cannot carry it. The message does not hold the key.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SettingsError(
            "the API key holds a character that no header can carry; set OPENAI_API_KEY again"
        )
    return key
