"""Hides secret values, computes origins of endpoints, and removes secrets from texts. Pure."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from typing import NoReturn
from urllib.parse import urlsplit, urlunsplit

from indwell.errors import SettingsError
from indwell.lazy_pattern import lazy_pattern


class Secret:
    """A text that no log, traceback or settings dump shows; only ``reveal`` returns it.

    The class is deliberately not a struct, so that ``msgspec`` refuses to encode a secret.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text; call this method only to send the secret."""
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
        raise TypeError("a secret cannot be pickled or copied; pass the object itself")


_SHAPES = lazy_pattern(
    r"(?i:\bbearer\s+)[\w.~+/=-]{8,}"  # The group matches the value of an Authorization header.
    # The following lines match keys with well-known prefixes.
    r"|(?<![A-Za-z0-9])(?:sk|rk|pk|xai|gsk|ghp|gho|glpat|hf)[-_][\w-]{8,}"
    r"|\bAIza[\w-]{20,}"  # The group matches keys of Google.
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"  # The group matches a user and password inside an address.
)
# A word of this length in an address is hardly the name of a folder.
_RANDOM = lazy_pattern(r"[A-Za-z0-9+=~]{16,}")
_MIXED = lazy_pattern(r"[A-Za-z]\d|\d[A-Za-z]")  # Letters and digits are next to each other.
# A message repeats at most 24 characters of a name; the longest provider name is shorter.
_LONGEST_NAME = 24
_MANY_DIGITS = 4


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Remove ``secrets``, and everything that looks like a secret, from ``text``."""
    for secret in secrets:
        text = text.replace(secret, "[secret]")
    return _SHAPES.sub("[secret]", text)


def plain_address(url: str) -> str:
    """Return origin and path of ``url``, without user, password, query, fragment and keys.

    The result is empty if the text is not an address.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # The port is only checked on access.
    except ValueError:
        return ""
    return told_address(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))


def told_address(text: str) -> str:
    """Return the same as ``plain_address`` for a ``text`` that may not be an address."""
    scheme, separator, rest = re.split(r"[?#]", text, maxsplit=1)[0].rpartition("://")
    host, *path = rest.split("/")
    host = host.rpartition("@")[2] if separator else _plain_part(host)
    return scheme + separator + "/".join((host, *map(_plain_part, path)))


def name_or_nothing(text: str) -> str:
    """Return a name that the user typed, in quotes, or an empty text if the name could be a key."""
    n_digits = sum(character.isdigit() for character in text)
    is_key = len(text) > _LONGEST_NAME or n_digits >= _MANY_DIGITS or redacted(text) != text
    return "" if is_key or not text.isprintable() else repr(text)


def _plain_part(part: str) -> str:
    part = _SHAPES.sub("[secret]", part)
    return _RANDOM.sub(lambda run: "[secret]" if _MIXED.search(run[0]) else run[0], part)


OPENAI_URL = "https://api.openai.com/v1"
EDITOR_URL = "vscode:"
"""The placeholder for the address of the editor's own models; no request can be sent to it."""
_PORTS = {"http": 80, "https": 443}


def origin_of(base_url: str | None) -> str:
    """Return the origin of an endpoint, such as ``https://host`` or ``http://127.0.0.1:8000``.

    A default port is left out, so each origin has only one form. None means OpenAI.

    Raises:
        SettingsError: The text is not an http address.
    """
    if base_url == EDITOR_URL:
        return EDITOR_URL
    try:
        parts = urlsplit((base_url or OPENAI_URL).strip())
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if scheme not in _PORTS or not host:
        told = told_address(base_url or "")
        raise SettingsError(f"{told!r} is not an address; write one such as 'https://host/v1'")
    name = f"[{host}]" if ":" in host else host.lower().rstrip(".")
    return f"{scheme}://{name}" + (f":{port}" if port and port != _PORTS[scheme] else "")


_DATA = (
    *("json", "y*ml", "toml", "ini", "cfg", "conf", "xml", "csv", "txt", "properties"),
    *("db", "sqlite", "enc", "gpg", "age", "bak", "old"),
)
"""Suffixes of data files; a file such as ``credentials.py`` is source text, not a secret."""

SECRETS = (
    *(".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.keystore"),
    *("id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*"),
    *("*.env", ".envrc", ".netrc", ".pgpass", ".htpasswd", ".git-credentials", ".npmrc", ".pypirc"),
    "credentials",
    *(f"credentials*.{ending}" for ending in _DATA),
    # The glob matches `secrets.json` and `secrets.prod.json`.
    *(f"secrets.*{ending}" for ending in _DATA),
    *("*.jks", "*.tfstate", "*.tfvars", ".docker/config.json", ".kube/config"),
    *(".aws/**", ".ssh/**", ".gnupg/**"),
    *("*.kdbx", "*.kwl", "keyring_pass.cfg", ".vault-token", ".databrickscfg", ".authinfo*"),
)
"""Globs of files that usually hold keys; ``!`` excludes templates without keys."""
