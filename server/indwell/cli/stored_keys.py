"""The user's stored keys, put together with the settings: which key goes to the chosen endpoint."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from indwell.errors import SettingsError
from indwell.settings.keys import FILE_NAME, KeyringUnusable, KeyStore, Ring
from indwell.settings.model import Settings
from indwell.settings.origins import OPENAI_URL, origin_of
from indwell.settings.places import user_file


def key_store() -> KeyStore:
    """The keys of this user; no keyring is opened before one is needed."""
    return KeyStore(user_file().parent / FILE_NAME, _open_ring)


def with_stored_key(settings: Settings, store: KeyStore) -> Settings:
    """``settings`` with the key that is stored for their endpoint, unless they name one.

    Blocks for as long as the keyring waits for its password.

    Raises:
        SettingsError: There is one, and it cannot be read now.
    """
    if settings.api_key is not None or settings.provider == "scripted":
        return settings
    origin = origin_of(settings.base_url)
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


def without_foreign_key(
    settings: Settings, environment: Mapping[str, str], store: KeyStore
) -> Settings:
    """Take the environment's key away from an endpoint that it is not for.

    ``OPENAI_API_KEY`` alone, in a shell where other programs use it, is OpenAI's: an endpoint that
    the user's own file names, and for which ``indwell login`` has stored a key (or that it needs
    none), gets that one.

    Raises:
        SettingsError: The file of keys cannot be read.
    """
    is_from_environment = bool(environment.get("OPENAI_API_KEY", "").strip())
    names_endpoint = bool(environment.get("OPENAI_BASE_URL", "").strip())
    origin = origin_of(settings.base_url)
    if not is_from_environment or names_endpoint or origin == origin_of(OPENAI_URL):
        return settings
    if origin not in store.origins():
        return settings
    return msgspec.structs.replace(settings, api_key=None)


def _open_ring() -> Ring:
    from indwell.settings.system_keyring import system_ring

    return system_ring()
