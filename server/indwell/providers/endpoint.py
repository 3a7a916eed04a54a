"""An endpoint's address and key, and the report of its connection test. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from indwell.errors import SettingsError
from indwell.providers.offered_models import OfferedModel
from indwell.settings.credentials import plain_address

OPENAI_URL = "https://api.openai.com/v1"


def is_openai(url: str) -> bool:
    """Return whether ``url`` is OpenAI's own API, in any region."""
    host = host_of(url)
    return host == "api.openai.com" or host.endswith(".api.openai.com")


def is_anthropic(url: str) -> bool:
    """Return whether ``url`` is Anthropic's own API."""
    return host_of(url) == "api.anthropic.com"


def host_of(url: str) -> str:
    """Return the host in lower case, or an empty text if missing."""
    return urlsplit(url).hostname or ""


def endpoint_address(url: str) -> str:
    """Return the address in the form for messages.

    Raises:
        SettingsError: The text is not an http address.
    """
    address = shown(url)
    if not re.match(r"https?://[^/]", address):
        raise SettingsError(
            f"the endpoint {address!r} is not an http address; set OPENAI_BASE_URL to one"
            " such as 'http://127.0.0.1:11434/v1'"
        )
    return address


def shown(url: str) -> str:
    """Return ``url`` in the form for messages, or an empty text if ``url`` is not an address.

    See ``plain_address``.
    """
    return plain_address(url)


def origin_shown(url: str) -> str:
    """Return only the origin of ``url``, an untrusted address, or empty if there is no origin."""
    parts = urlsplit(shown(url))
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def sendable_key(key: str | None) -> str:
    """Return the key without the line break of a pasted text; a missing key is an empty text.

    Raises:
        SettingsError: A header cannot carry the key. The message does not contain the key.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SettingsError(
            "the API key contains a character that no header can carry; set OPENAI_API_KEY again"
        )
    return key


AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


class Extras(msgspec.Struct, frozen=True):
    """Values that an endpoint needs with each request, in addition to the key and the body.

    Attributes:
        headers: More headers, by their names in lower case; the values may be secret.
        query: Query parameters that are added to each address.
        key_header: The header that has only the key, or empty for the usual header.
        proxy: The address of the proxy, or empty for the system's proxy.
    """

    headers: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    key_header: str = ""
    proxy: str = ""

    def key_name(self, url: str) -> str:
        """Return the header for the key at an address; an empty name means ``Authorization``."""
        return self.key_header or ("api-key" if host_of(url).endswith(AZURE) else "")

    def all_headers(self, url: str, key: str) -> dict[str, str]:
        """Return the headers, with a header for the key if the key needs its own header."""
        name = self.key_name(url)
        return {**({name: key} if name and key else {}), **self.headers}

    @property
    def hidden(self) -> tuple[str, ...]:
        """Return the values that no message may show."""
        return tuple(value for value in self.headers.values() if len(value) >= LEAST_SECRET)


NO_EXTRAS = Extras()
LEAST_SECRET = 8  # A shorter value of a header, in characters, is not treated as a secret.


State: TypeAlias = Literal["ok", "warn", "fail", "skipped"]


class EndpointStep(msgspec.Struct, frozen=True):
    """One step of a connection test.

    Attributes:
        name: ``reachable``, ``key``, ``models``, ``streaming``, ``tools``, ``stored``.
        state: The result of the step.
        sentence: The observation, in plain words.
        fix: The next step for the user, or empty if nothing has to be done.
    """

    name: str
    state: State
    sentence: str
    fix: str = ""

    @property
    def words(self) -> str:
        """The result of the step as text, with advice for the user."""
        return f"{self.sentence}; {self.fix}" if self.fix else self.sentence


class LocalServer(msgspec.Struct, frozen=True):
    """A model server that runs on this machine.

    Attributes:
        name: The name of the server's entry in the catalogue.
        title: The name for people.
        base_url: The address of the server's API.
        models: The server's models, or empty if no model is loaded.
        needs_key: Whether the server asked for a key.
        warning: A problem, such as a context that is too small, with advice.
    """

    name: str
    title: str
    base_url: str
    models: tuple[OfferedModel, ...] = ()
    needs_key: bool = False
    warning: str = ""

    @property
    def is_ready(self) -> bool:
        """Return whether the server can be used without further steps."""
        return bool(self.models) and not self.needs_key


class LoginOutcome(msgspec.Struct, frozen=True):
    """The result of testing an endpoint and storing it.

    Attributes:
        ok: Whether endpoint, model and key were tested and stored; otherwise nothing was stored.
        base_url: The address of the endpoint.
        model: The chosen model, or empty if there is no choice.
        steps: The steps in order.
        message: The result in one sentence.
        notes: Further notes for the user, one sentence each.
        offered: Models to choose from, if no model was chosen.
        origin: The origin for which the client must keep the key, or empty if Indwell keeps the
            key.
    """

    ok: bool
    base_url: str
    model: str
    steps: tuple[EndpointStep, ...]
    message: str
    notes: tuple[str, ...] = ()
    offered: tuple[OfferedModel, ...] = ()
    origin: str = ""


def failure(steps: tuple[EndpointStep, ...]) -> EndpointStep | None:
    """Return the first failed step, or None."""
    return next((step for step in steps if step.state == "fail"), None)
