"""Keys that never appear in output, the origin of a key, and texts with keys removed. Pure."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from typing import NoReturn
from urllib.parse import urlsplit, urlunsplit

from indwell.errors import SettingsError


class Secret:
    """A text that no log, traceback or settings dump shows; ``reveal`` is the only way in.

    No struct on purpose: ``msgspec`` refuses to encode it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself; for the one place that sends it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(
            self._text.encode("utf-8", "surrogatepass"),
            other._text.encode("utf-8", "surrogatepass"),
        )

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled or copied; hand on the object")


_SHAPES = re.compile(
    r"(?i:\bbearer\s+)[\w.~+/=-]{8,}"  # an Authorization header
    r"|(?<![A-Za-z0-9])(?:sk|rk|pk|xai|gsk|ghp|gho|glpat|hf)[-_][\w-]{8,}"  # by their beginnings
    r"|\bAIza[\w-]{20,}"  # Google's
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"  # a user and password inside an address
)
_RANDOM = re.compile(r"[A-Za-z0-9+=~]{16,}")  # no name of a host's folder is so long a word …
_MIXED = re.compile(r"[A-Za-z]\d|\d[A-Za-z]")  # … with digits in it
_LONGEST_NAME = 24  # characters; no provider's name is longer
_MANY_DIGITS = 4


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without the ``secrets``, nor what looks like one."""
    for secret in secrets:
        text = text.replace(secret, "[secret]")
    return _SHAPES.sub("[secret]", text)


def plain_address(url: str) -> str:
    """Origin and path of ``url``, without user, password, query, fragment and key-like parts.

    Empty if it is no address.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # checked only when it is asked for
    except ValueError:
        return ""
    return told_address(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))


def told_address(text: str) -> str:
    """``text``, which should be an address and may be none, without the same."""
    scheme, separator, rest = re.split(r"[?#]", text, maxsplit=1)[0].rpartition("://")
    host, *path = rest.split("/")
    host = host.rpartition("@")[2] if separator else _plain_part(host)
    return scheme + separator + "/".join((host, *map(_plain_part, path)))


def name_or_nothing(text: str) -> str:
    """A name that somebody typed, quoted; empty if it might as well be a key."""
    n_digits = sum(character.isdigit() for character in text)
    is_key = len(text) > _LONGEST_NAME or n_digits >= _MANY_DIGITS or redacted(text) != text
    return "" if is_key or not text.isprintable() else repr(text)


def _plain_part(part: str) -> str:
    part = _SHAPES.sub("[secret]", part)
    return _RANDOM.sub(lambda run: "[secret]" if _MIXED.search(run[0]) else run[0], part)


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
