"""The user's stored keys, put together with the settings: which key goes to the chosen endpoint."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from indwell.errors import SettingsError
from indwell.providers.catalogue import LOOPBACK
from indwell.providers.endpoint import host_of, is_openai, shown
from indwell.settings.credentials import OPENAI_URL, origin_of
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

_HELD = HeldKeys()  # of the process, as the environment is that they come from


def hold_keys(environment: Mapping[str, str]) -> str:
    """Take the keys that the client has handed over; gives what was wrong with them."""
    keys, problem = parsed_keys(environment.get(VARIABLE, ""))
    _HELD.hold(keys)
    return problem


def key_store() -> KeyStore:
    """The keys of this user; no keyring is opened before one is needed."""
    return KeyStore(user_file().parent / FILE_NAME, _open_ring, _HELD)


def has_key(settings: Settings, store: KeyStore) -> bool:
    """Is there a key for their endpoint, as far as can be said without opening a keyring?

    Raises:
        SettingsError: The file of keys cannot be read.
    """
    kept = store.origins().get(origin_of(settings.base_url), "none")
    return settings.api_key is not None or kept != "none"


def with_stored_key(settings: Settings, store: KeyStore) -> Settings:
    """``settings`` with the key that is stored for their endpoint, unless they name one.

    Blocks for as long as the keyring waits for its password.

    A key of the environment or the settings goes to no other machine in the clear; one that was
    kept for such an address by ``indwell login`` does, which has said so (NET-05).

    Raises:
        SettingsError: There is one, and it cannot be read now, or would go out in the clear.
    """
    if settings.provider == "scripted":
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
            f"the key for {origin} lies in the keyring, but {error}; unlock it, set "
            "OPENAI_API_KEY, or run `indwell login` again"
        ) from error
    if kept is None or kept.key is None:
        return settings
    return msgspec.structs.replace(settings, api_key=kept.key)


def is_foreign_key(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Is the environment's key none for the endpoint of ``settings``?

    ``OPENAI_API_KEY`` alone, in a shell where other programs use it, is OpenAI's. Who names the
    endpoint beside it, in ``OPENAI_BASE_URL``, says that it is that one's; ``config.toml`` does not
    say so, and a key goes only to the origin that it is for.
    """
    is_from_environment = bool(environment.get("OPENAI_API_KEY", "").strip())
    names_endpoint = bool(environment.get("OPENAI_BASE_URL", "").strip())
    if not is_from_environment or names_endpoint or settings.provider == "scripted":
        return False
    url = settings.base_url or OPENAI_URL
    return not (url.lower().startswith("https:") and is_openai(url))


def foreign_key_notice(settings: Settings, store: KeyStore) -> str:
    """Say that the environment's key stays here, where that may surprise; else nothing.

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
    from indwell.settings.system_keyring import system_ring

    return system_ring()
