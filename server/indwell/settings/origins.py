"""The origin of an address: scheme, host and port, which a key belongs to. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from indwell.errors import SettingsError
from indwell.settings.redaction import told_address

OPENAI_URL = "https://api.openai.com/v1"
_PORTS = {"http": 80, "https": 443}


def origin_of(base_url: str | None) -> str:
    """The origin of an endpoint, such as ``https://host`` or ``http://127.0.0.1:8000``.

    A default port is left out, so each origin has one spelling. None is OpenAI itself.

    Raises:
        SettingsError: It is no http address.
    """
    try:
        parts = urlsplit((base_url or OPENAI_URL).strip())
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if scheme not in _PORTS or not host:
        told = told_address(base_url or "")
        raise SettingsError(f"{told!r} is no address; write one such as 'https://host/v1'")
    name = f"[{host}]" if ":" in host else host.lower().rstrip(".")
    return f"{scheme}://{name}" + (f":{port}" if port and port != _PORTS[scheme] else "")
