"""Connects to an endpoint: finds its address, tests it, then stores address, model and key."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from indwell.errors import SettingsError, UserError, WrongArgument
from indwell.lazy_pattern import lazy_pattern
from indwell.providers.catalogue import BY_NAME, LOOPBACK, SMALL, row_of, size_in_name, title_of
from indwell.providers.endpoint import (
    NO_EXTRAS,
    EndpointStep,
    Extras,
    LoginOutcome,
    failure,
    host_of,
    shown,
)
from indwell.providers.offered_models import OfferedModel
from indwell.service.endpoint.connection_test import NAME_ONE, EndpointAnswer, look, talk
from indwell.service.user_settings import write_user_file
from indwell.settings.credentials import Secret, name_or_nothing, origin_of, redacted
from indwell.settings.endpoints import EDITOR, NAME
from indwell.settings.keys import KeyringUnusable, KeyStore, StoredKey
from indwell.settings.paths import read_user_file, user_file
from indwell.settings.values import check, convert, parse_toml

_HOST = lazy_pattern(r"(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+)(?P<port>:\d{1,5})?(?P<path>/\S*)?")


def address_of(provider: str) -> str:
    """Return the address for a provider's name, a host, or an address.

    Raises:
        WrongArgument: The text is not a provider, a host or an address.
    """
    if provider in BY_NAME:
        return BY_NAME[provider].base_url
    if "://" in provider:
        return _checked_address(provider)
    match = _HOST.fullmatch(provider)
    # Text that looks like a key is never resolved as a host name.
    if match is not None and _is_host(match) and redacted(match["host"]) == match["host"]:
        # A server on this machine has no certificate; elsewhere, a key must not be sent
        # unencrypted.
        is_here = match["host"].strip("[]") in LOOPBACK
        return _checked_address(f"{'http' if is_here else 'https'}://{provider}")
    names = ", ".join(BY_NAME)
    # The text may be a key that was typed into the wrong field.
    what = name_or_nothing(provider) or "what you named"
    raise WrongArgument(
        f"{what} is not a provider; use one of {names}, or an address 'https://…/v1'"
    )


def _checked_address(text: str) -> str:
    try:
        return str(convert("base_url", text))
    except SettingsError as error:
        raise WrongArgument(str(error)) from error


def address_place(environment: Mapping[str, str]) -> str:
    """Return the clause of a message that says where the user set the address; may be empty."""
    if environment.get("OPENAI_BASE_URL", "").strip():
        return " (the address is OPENAI_BASE_URL's)"
    path = user_file()
    has_own = "base_url" in (read_user_file(path) or "")
    return f" (the address is in {path})" if has_own else ""


async def found(
    base_url: str, key: str | None, extras: Extras = NO_EXTRAS
) -> tuple[str, EndpointAnswer]:
    """Return the base URL of the API at an address, and the API's answer.

    Most APIs are below ``/v1``.
    """
    tried = [(url, await look(url, key, extras=extras)) for url in spellings(base_url)[:1]]
    if not _has_list(tried[0][1]):
        tried += [(url, await look(url, key, extras=extras)) for url in spellings(base_url)[1:]]
    return next((one for one in tried if _has_list(one[1])), tried[-1])


def spellings(base_url: str) -> tuple[str, ...]:
    """Return the addresses to try for a typed address; for a bare host, ``/v1`` comes first."""
    is_bare = urlsplit(base_url).path in {"", "/"}
    return (f"{base_url.rstrip('/')}/v1", base_url) if is_bare else (base_url,)


def _has_list(looked: EndpointAnswer) -> bool:
    """Return whether the API sent the answer; a refusal or an empty list also counts."""
    return not any(step.name == "models" and step.state == "warn" for step in looked.steps)


def _is_host(match: re.Match[str]) -> bool:
    """Return whether the text is a host; a single word without a port is probably a typo."""
    return bool(match["port"]) or "." in match["host"] or match["host"].strip("[]") in LOOPBACK


MOST_NAMED = 8  # A sentence lists at most 8 models.

Pick = Callable[[tuple[OfferedModel, ...]], Awaitable[str | None]]
"""Lets the user choose a model; returns None if the user chooses none."""


class Endpoint(msgspec.Struct, frozen=True):
    """The endpoint to connect to.

    Attributes:
        base_url: The base URL of the API.
        key: The key for the address's origin; if None, a stored key is used.
        model: The model; if None, the user or Indwell chooses a model.
        is_tested: Whether to test the endpoint before it is stored.
        keep: Where the key is stored: in the system's keyring, or by the client.
        name: The name of the endpoint's table in the settings, or empty for the unnamed endpoint.
        extras: The user's own headers, parameters and proxy.
    """

    base_url: str
    key: Secret | None = None
    model: str | None = None
    is_tested: bool = True
    keep: Literal["keyring", "client"] = "keyring"
    name: str = ""
    extras: Extras = NO_EXTRAS


class EndpointPlaces(msgspec.Struct, frozen=True):
    """The user's settings and keys, and the environment variables that override the settings."""

    config: Path
    keys: KeyStore
    environment: Mapping[str, str]


async def connect(
    endpoint: Endpoint,
    places: EndpointPlaces,
    *,
    pick: Pick | None = None,
    looked: EndpointAnswer | None = None,
    on_step: Callable[[EndpointStep], None] = lambda _step: None,
) -> LoginOutcome:
    """Test an endpoint, choose a model, and store everything.

    Args:
        endpoint: The endpoint to connect to.
        places: The files and keyring in which to store it.
        pick: Asks the user to choose if there are several models; by default, the endpoint must
            name a model.
        looked: An earlier answer of the endpoint, which saves a request and is not reported.
        on_step: Called with each step when it is done.

    Raises:
        SettingsError: The user's file is broken, or a key cannot be read.
    """
    base_url = str(convert("base_url", endpoint.base_url))
    key = endpoint.key or await asyncio.to_thread(known_key, base_url, places, endpoint.name)
    tried: list[EndpointStep] = []

    def tell(*steps: EndpointStep) -> None:
        for step in steps:
            tried.append(step)
            on_step(step)

    def ended(message: str, model: str = "", notes: tuple[str, ...] | None = None) -> LoginOutcome:
        ok = notes is not None
        offered = looked.models if looked is not None and not model else ()
        return LoginOutcome(ok, base_url, model, tuple(tried), message, notes or (), offered)

    if looked is not None:
        tried.extend(looked.steps)
    elif endpoint.is_tested:
        given = key.reveal() if key is not None else None
        base_url, looked = await found(base_url, given, endpoint.extras)
        tell(*looked.steps)
    if failure(tuple(tried)) is not None:
        model = None
    else:
        offered = looked.models if looked is not None else ()
        model = await _tested(endpoint, base_url, key, offered, pick=pick, tell=tell)
    if model is None:
        return ended(f"{title_of(base_url)} cannot be used yet; nothing was stored")
    try:
        notes = await asyncio.to_thread(_store_alone, base_url, model, key, places, endpoint)
    except UserError as error:
        tell(EndpointStep("stored", "fail", str(error)))
        return ended("nothing was stored", model.name)
    tell(EndpointStep("stored", "ok", f"address and model are in {places.config}"))
    called = f"{model.name}@{endpoint.name}" if endpoint.name else model.name
    message = f"{called} at {title_of(base_url)} answers from now on"
    outcome = ended(message, called, notes)
    is_theirs = endpoint.keep == "client" and endpoint.key is not None
    return msgspec.structs.replace(outcome, origin=origin_of(base_url) if is_theirs else "")


async def _tested(
    endpoint: Endpoint,
    base_url: str,
    key: Secret | None,
    offered: tuple[OfferedModel, ...],
    *,
    pick: Pick | None,
    tell: Callable[..., None],
) -> OfferedModel | None:
    """Return the chosen model, another model if it fails, or None if no model works."""
    name = await _model(endpoint.model, offered, pick)
    if not name:
        tell(_no_model(offered))
        return None
    if offered and name not in {one.name for one in offered}:
        tell(EndpointStep("models", "warn", f"{name!r} is not in its list", "check the name"))
    if endpoint.is_tested:
        given = key.reveal() if key is not None else None
        talked = await talk(base_url, given, name, extras=endpoint.extras)
        tell(*talked)
        if failure(talked) is not None:
            return None
    model = next((one for one in offered if one.name == name), OfferedModel(name))
    if _is_running_window(model) and (window := model.window or 0) < LEAST_WINDOW:
        tell(
            EndpointStep(
                "window",
                "warn",
                f"{name} runs with a window of {window:,} tokens, which is little for work on code",
                _MORE.get(row.name if (row := row_of(base_url)) is not None else "", _MORE_OF_ANY),
            )
        )
    if _is_secretly_small(model):
        words = f"{name} has {model.size:g} billion parameters, so sessions with it are lean"
        tell(EndpointStep("profile", "ok", words))
    return model


def _is_secretly_small(model: OfferedModel) -> bool:
    """Return whether a model is small, but its name hides the size, which is then stored."""
    return model.size is not None and model.size < SMALL and size_in_name(model.name) is None


LEAST_WINDOW = 16_000  # The unit is tokens.
_MORE = {
    "llama.cpp": "start it with more: `llama-server --jinja -c 32768 -m MODEL.gguf`",
    "ollama": "start it with more: `OLLAMA_CONTEXT_LENGTH=32768 ollama serve`",
    "lmstudio": "load the model with a context of 32768",
    "vllm": "start it with more: `vllm serve MODEL --max-model-len 32768`",
}
_MORE_OF_ANY = (
    "start the server with more: `-c 32768` for llama.cpp, `OLLAMA_CONTEXT_LENGTH=32768` for "
    "Ollama; `window` in the settings says it otherwise"
)


def known_key(base_url: str, places: EndpointPlaces, name: str = "") -> Secret | None:
    """Return the key for an address: from the user's settings file, or from the key store.

    ``name`` is the name of the endpoint's table in the settings, or empty for the unnamed endpoint.

    The call blocks for as long as the keyring waits for its password.

    Raises:
        SettingsError: The user's file is broken, or a key cannot be read.
    """
    given = _given(places.config)
    given = _named(given, name) if name else given
    from_file = given.get("api_key")
    if isinstance(from_file, Secret) and origin_of(_text(given.get("base_url"))) == origin_of(
        base_url
    ):
        return from_file
    kept = places.keys.get(origin_of(base_url))
    return kept.key if kept is not None else None


async def _model(
    wanted: str | None, offered: tuple[OfferedModel, ...], pick: Pick | None
) -> str | None:
    if wanted:
        return wanted
    if len(offered) == 1:
        return offered[0].name
    return await pick(offered) if pick is not None and offered else None


def _no_model(offered: tuple[OfferedModel, ...]) -> EndpointStep:
    names = ", ".join(one.name for one in offered[:MOST_NAMED])
    more = " …" if len(offered) > MOST_NAMED else ""
    sentence = "no model was chosen" + (f" of {names}{more}" if names else "")
    return EndpointStep("models", "fail", sentence, NAME_ONE)


def _store_alone(
    base_url: str,
    model: OfferedModel,
    key: Secret | None,
    places: EndpointPlaces,
    endpoint: Endpoint,
) -> tuple[str, ...]:
    """Call ``_store`` under a lock, because each login reads the settings of the earlier one."""
    held, origin = places.keys.held, origin_of(base_url)
    is_new = endpoint.key is not None
    is_theirs = endpoint.keep == "client" if is_new else held.get(origin) is not None
    with places.keys.locked():
        notes = _store(base_url, model, key, places, name=endpoint.name, is_theirs=is_theirs)
    if not is_theirs:
        held.drop(origin)
    elif key is not None:
        held.hold({origin: key})
    return notes


def _store(
    base_url: str,
    model: OfferedModel,
    key: Secret | None,
    places: EndpointPlaces,
    *,
    name: str,
    is_theirs: bool,
) -> tuple[str, ...]:
    """Store keys and then the settings file; restore the keys if that fails; return notes.

    With ``is_theirs``, the client keeps the key, so Indwell does not store the key.
    """
    before = read_user_file(places.config)
    given = _given(places.config)
    old = given if not name else _named(given, name)
    is_openai = base_url.rstrip("/") == BY_NAME["openai"].base_url
    changes: dict[str, str | int | None]
    table = f"endpoints.{name}"
    if name:
        changes = {
            "model": f"{model.name}@{name}",
            "provider": None,
            f"{table}.base_url": base_url,
            f"{table}.api_key": None,
        }
    else:
        changes = {
            "model": model.name,
            "base_url": None if is_openai else base_url,
            "api_key": None,
            "provider": None,
        }
        if _is_running_window(model):
            changes["window"] = model.window
    if _is_secretly_small(model) and "profile" not in old:
        changes[f"{table}.profile" if name else "profile"] = "lean"
    # The import is here, because tomlkit takes 15 ms and only a login needs it.
    from indwell.settings.edit import edited

    text = edited(before or "", changes, places.config.name)
    origin = origin_of(base_url)
    wanted: dict[str, Secret | None] = {} if is_theirs else {origin: key}
    old_key = old.get("api_key")
    old_origin = origin_of(_text(old.get("base_url")))
    if isinstance(old_key, Secret) and old_origin != origin:
        wanted[old_origin] = old_key  # The old key must not go to the new address.
    kept = _keep_all(wanted, places.keys, lambda: write_user_file(places.config, text, before))
    notes = _notes(base_url, model, name, old, places)
    return (*(one.note for one in kept if one.note), *notes)


def _named(given: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the table of a named endpoint, or an empty mapping if missing."""
    tables = given.get("endpoints")
    table = tables.get(name) if isinstance(tables, Mapping) else None
    return {"model": given.get("model"), **table} if isinstance(table, Mapping) else {}


def checked_name(name: str) -> str:
    """Return the name of an endpoint.

    Raises:
        WrongArgument: The text cannot be a name of an endpoint.
    """
    if name == EDITOR:
        raise WrongArgument(
            f"{name!r} is the endpoint of VS Code's own models; take another name for yours"
        )
    if NAME.fullmatch(name):
        return name
    raise WrongArgument(
        f"{name!r} is not a name for an endpoint; take small letters, digits, '-' and '_', "
        "beginning with a letter"
    )


def store_model(model: str, config: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Store a model that needs no address and no key; return notes.

    Raises:
        UserError: The settings file is broken, or cannot be written.
    """
    # The import is here, because tomlkit takes 15 ms and only a login needs it.
    from indwell.settings.edit import edited

    before = read_user_file(config)
    changes: dict[str, str | int | None] = {"model": model, "provider": None}
    write_user_file(config, edited(before or "", changes, config.name), before)
    return tuple(
        f"{name} is set in this environment and wins over what was stored"
        for name, wanted in (("INDWELL_MODEL", model), ("INDWELL_PROVIDER", "openai"))
        if environment.get(name, "").strip() not in {"", wanted}
    )


def _keep_all(
    wanted: Mapping[str, Secret | None], store: KeyStore, then: Callable[[], None]
) -> tuple[StoredKey, ...]:
    """Store keys, then call ``then``; restore the earlier keys if anything fails.

    Keys for origins that are not in ``wanted`` are unchanged.
    """
    before = {origin: _kept(origin, store) for origin in wanted}
    try:
        kept = tuple(store.put(origin, key) for origin, key in wanted.items())
        then()
    except BaseException:
        for origin, old in before.items():
            if old is None:
                store.forget(origin)
            else:
                store.put(origin, old.key)
        raise
    return kept


def _kept(origin: str, store: KeyStore) -> StoredKey | None:
    try:
        return store.stored(origin)
    except KeyringUnusable:
        return None  # The key is already lost, so it cannot be restored.


def _notes(
    base_url: str,
    model: OfferedModel,
    endpoint: str,
    given: Mapping[str, object],
    places: EndpointPlaces,
) -> tuple[str, ...]:
    called = f"{model.name}@{endpoint}" if endpoint else model.name
    notes = []
    winning = dict(zip(_WINNING, (base_url, called, "openai"), strict=True))
    if endpoint:
        del winning["OPENAI_BASE_URL"]  # The variable is the address of the unnamed endpoint.
    for name, wanted in winning.items():
        set_here = places.environment.get(name, "").strip()
        if set_here and set_here.rstrip("/") != wanted.rstrip("/"):
            notes.append(
                f"{name} is set in this environment and takes precedence over the stored value"
            )
    if base_url.startswith("http://") and host_of(base_url) not in LOOPBACK:
        notes.append(f"{shown(base_url)} is not encrypted: key and code can be read on the way")
    if given.get("model") not in {None, called}:
        stale = [name for name in ("window", "price_in", "price_out") if name in given]
        if "window" in stale and _is_running_window(model) and not endpoint:
            stale.remove("window")
        if given.get("profile") == "lean" and not _is_secretly_small(model):
            stale.append("profile")
        notes += [f"{name} in config.toml was for the earlier model; check it" for name in stale]
    return tuple(notes)


_WINNING = ("OPENAI_BASE_URL", "INDWELL_MODEL", "INDWELL_PROVIDER")


def _is_running_window(model: OfferedModel) -> bool:
    """Return whether the endpoint itself reports the model's context size.

    A report is better than a guess.
    """
    return model.source == "endpoint" and model.window is not None


def _given(config: Path) -> Mapping[str, object]:
    """Return the values that the user's file sets.

    Raises:
        SettingsError: The file is broken.
    """
    return check(parse_toml(read_user_file(config) or "", config.name), config.name).values


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
