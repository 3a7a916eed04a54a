"""An endpoint's address and key, and what a connection test reports of it. Pure."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from indwell.errors import SettingsError
from indwell.providers.models import OfferedModel
from indwell.settings.credentials import plain_address

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


State: TypeAlias = Literal["ok", "warn", "fail", "skipped"]


class EndpointStep(msgspec.Struct, frozen=True):
    """One thing that was tried.

    Attributes:
        name: ``reachable``, ``key``, ``models``, ``streaming``, ``tools``, ``stored``.
        state: How it went.
        sentence: What was seen, in plain words.
        mend: What to do about it; empty if nothing is to be done.
    """

    name: str
    state: State
    sentence: str
    mend: str = ""

    @property
    def words(self) -> str:
        """The sentence, with what to do."""
        return f"{self.sentence}; {self.mend}" if self.mend else self.sentence


class LocalServer(msgspec.Struct, frozen=True):
    """A model server that runs on this machine.

    Attributes:
        name: Of its row in the catalogue.
        title: As people call it.
        base_url: Where its API starts.
        models: What it offers; empty if nothing is loaded.
        needs_key: It answered that it wants a key.
        warning: What will disturb, such as a context that is too small; and how to mend it.
    """

    name: str
    title: str
    base_url: str
    models: tuple[OfferedModel, ...] = ()
    needs_key: bool = False
    warning: str = ""

    @property
    def is_ready(self) -> bool:
        """Can it be used as it runs now?"""
        return bool(self.models) and not self.needs_key


class LoginOutcome(msgspec.Struct, frozen=True):
    """How the attempt to connect to an endpoint, and to store it, ended.

    Attributes:
        ok: Endpoint, model and key were tested and are stored; else nothing is.
        base_url: Of the endpoint.
        model: The chosen one; empty if it did not come that far.
        steps: What was tried, in order.
        message: The end in one sentence.
        notes: What the user should know besides, a sentence each.
        offered: What can be chosen, where no model was: the same once more, with one of them.
        origin: The key is the client's to keep, for this origin; empty if it is kept here.
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
    """The first step that failed."""
    return next((step for step in steps if step.state == "fail"), None)
