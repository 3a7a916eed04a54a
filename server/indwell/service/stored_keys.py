"""Chooses the key for the endpoint in the settings, from the user's stored keys."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from indwell import edges
from indwell.errors import SettingsError
from indwell.providers.catalogue import LOOPBACK
from indwell.providers.endpoint import Extras, host_of, is_openai, shown
from indwell.settings.credentials import OPENAI_URL, origin_of
from indwell.settings.endpoints import in_force, is_editors
from indwell.settings.keys import (
    FILE_NAME,
    VARIABLE,
    HeldKeys,
    KeyringUnusable,
    KeyStore,
    Ring,
    parsed_keys,
)
from indwell.settings.model import Settings
from indwell.settings.paths import user_file

# The keys are shared by the whole process, as is the environment that has the keys.
_HELD = HeldKeys()


def hold_keys(environment: Mapping[str, str]) -> str:
    """Take keys that the client passed in the environment; return problems with these keys."""
    keys, problem = parsed_keys(environment.get(VARIABLE, ""))
    _HELD.hold(keys)
    return problem


def key_store() -> KeyStore:
    """Return the user's keys; the keyring is opened only when a key is needed."""
    return KeyStore(user_file().parent / FILE_NAME, _open_ring, _HELD)


def has_key(settings: Settings, store: KeyStore) -> bool:
    """Return whether there is a key for the endpoint, without opening a keyring.

    Raises:
    SettingsError: The file of keys cannot be read.
    """
    settings = in_force(settings)
    kept = store.origins().get(origin_of(settings.base_url), "none")
    return settings.api_key is not None or kept != "none"


def with_stored_key(settings: Settings, store: KeyStore) -> Settings:
    """Return the settings of the model's endpoint, with the stored key if no key is set.

    Blocks while the keyring waits for its password. A key from the environment or the settings is
    never sent unencrypted to another machine. A key that ``indwell login`` stored for an
    unencrypted address is sent, because the login warned the user (NET-05).

    Raises:
        SettingsError: The key cannot be read or would be sent unencrypted, or the endpoint is
            unknown.
    """
    if settings.provider == "scripted":
        return settings
    settings = in_force(settings)
    if is_editors(settings.model):
        return settings
    origin = origin_of(settings.base_url)
    is_clear = origin.startswith("http:") and host_of(origin) not in LOOPBACK
    if settings.api_key is not None and not (is_clear and origin in store.origins()):
        if is_clear:
            address = shown(settings.base_url or "")
            raise SettingsError(
                f"the key would go to {origin} unencrypted, so it is not sent; use https, unset "
                f"the key if none is needed, or run `indwell login {address}`"
            )
        return settings
    settings = msgspec.structs.replace(settings, api_key=None)
    try:
        kept = store.get(origin)
    except KeyringUnusable as error:
        raise SettingsError(
            f"the key for {origin} is in the keyring, but {error}; unlock it, set "
            "OPENAI_API_KEY, or run `indwell login` again"
        ) from error
    if kept is None or kept.key is None:
        return settings
    return msgspec.structs.replace(settings, api_key=kept.key)


def extras_of(settings: Settings) -> Extras:
    """Return the extra headers and fields that the endpoint of ``settings`` requires."""
    headers = {name: value.reveal() for name, value in settings.headers.items()}
    return Extras(headers, settings.query, settings.key_header, settings.proxy)


def is_foreign_key(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Return whether the environment's key belongs to another endpoint than ``settings``.

    ``OPENAI_API_KEY`` alone belongs to OpenAI. If ``OPENAI_BASE_URL`` is set as well, the key
    belongs to that address. An address in ``config.toml`` does not claim the key, because a key
    goes only to its own origin.
    """
    is_from_environment = bool(environment.get("OPENAI_API_KEY", "").strip())
    names_endpoint = bool(environment.get("OPENAI_BASE_URL", "").strip())
    if not is_from_environment or names_endpoint or settings.provider == "scripted":
        return False
    url = settings.base_url or OPENAI_URL
    return not (url.lower().startswith("https:") and is_openai(url))


def foreign_key_notice(settings: Settings, store: KeyStore) -> str:
    """Return a notice that the environment's key is not sent, if the user may expect it.

    Raises:
    SettingsError: The file of keys cannot be read.
    """
    origin = origin_of(settings.base_url)
    is_local = host_of(settings.base_url or "") in LOOPBACK
    if is_local or settings.api_key is not None or origin in store.origins():
        return ""
    return (
        f"OPENAI_API_KEY is not sent to {origin}: without OPENAI_BASE_URL it is OpenAI's; "
        f"`indwell login {shown(settings.base_url or '')}` keeps a key for that endpoint, or set "
        "OPENAI_BASE_URL, too"
    )


def _open_ring() -> Ring:
    try:
        # The package for keyrings loads the module that a file in the home folder names.
        edges.current().before_contact("the system's keyring")
    except OSError as error:
        raise KeyringUnusable(str(error.strerror)) from error
    from indwell.settings.system_keyring import system_ring

    return system_ring()
