"""Stores API keys of endpoints; each key belongs to one origin and is used for no other."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, SettingsError, ToolError, UserError, reason
from indwell.files.append_log import make_private_folder
from indwell.files.contents.atomic import write_atomic
from indwell.files.locks import locked
from indwell.files.private import read_own, write_private
from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern
from indwell.settings.credentials import Secret, origin_of
from indwell.settings.paths import read_user_file, user_file
from indwell.settings.values import convert

FILE_NAME = "keys.json"
LOCK_NAME = "settings.lock"
LIMIT_B = 1 << 20  # Indwell never writes a file with more bytes.
# The unit is seconds to wait for the lock; another login may wait for the keyring's password.
LOCK_S = 60.0

Where: TypeAlias = Literal["client", "keyring", "file", "none"]
"""Where the key of an origin is stored.

``none``: the origin needs no key. ``client``: the client has passed the key.
"""


class KeyringUnusable(SettingsError):
    """The system's keyring cannot be used; the message says why."""


class Ring(Protocol):
    """The system's keyring for Indwell; each method may raise ``KeyringUnusable``."""

    def get(self, origin: str) -> str | None:
        """Return the key of an origin, or None if missing."""
        ...

    def set(self, origin: str, key: str) -> None:
        """Store a key."""
        ...

    def delete(self, origin: str) -> None:
        """Delete a key, if it exists."""
        ...


class StoredKey(msgspec.Struct, frozen=True):
    """An origin's key, its location, and a note; an origin without authentication has no key."""

    where: Where
    key: Secret | None
    note: str = ""


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of the key file; the entry has the ``key`` only if no keyring works."""

    where: Where
    key: str | None = None


FORM: StoredForm[dict[str, _Entry]] = StoredForm(
    "keys", dict[str, _Entry], "the file of keys", member="keys"
)


class KeyStore:
    """The API keys of one user.

    Args:
        path: ``keys.json``; may be missing.
        open_ring: Opens the system's keyring, or raises ``KeyringUnusable``.
        held: Keys that the client passed in.
    """

    def __init__(
        self, path: Path, open_ring: Callable[[], Ring], held: HeldKeys | None = None
    ) -> None:
        self.path = path
        self.held = HeldKeys() if held is None else held
        self._open_ring = open_ring

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude all other logins and logouts of this user, in every process.

        Raises:
        SettingsError: Another login or logout does not finish in time.
        """
        with ExitStack() as stack:
            try:
                make_private_folder(self.path.parent)
                lock = self.path.with_name(LOCK_NAME)
                stack.enter_context(locked(lock, timeout_s=LOCK_S))
            except TimeoutError as error:
                raise SettingsError(
                    f"another login or logout has been busy with {quoted(self.path.parent)} for "
                    f"{LOCK_S:g} s; finish it and try again"
                ) from error
            except OSError as error:
                raise self._unwritable(error) from error
            yield

    def origins(self) -> Mapping[str, Where]:
        """Return all origins with an entry, and where each key is, without using the keyring.

        Raises:
        SettingsError: The key file cannot be read.
        """
        held: dict[str, Where] = dict.fromkeys(self.held.origins(), "client")
        return {origin: entry.where for origin, entry in self._entries().items()} | held

    def get(self, origin: str) -> StoredKey | None:
        """Return the key of an origin, which the client passed or the user stored, or None.

        Raises:
            SettingsError: See ``stored``.
        """
        held = self.held.get(origin)
        return self.stored(origin) if held is None else StoredKey("client", held)

    def stored(self, origin: str) -> StoredKey | None:
        """Return the stored key of an origin, or None if missing.

        Raises:
            SettingsError: The key file, or the keyring that holds the key, cannot be read.
        """
        entry = self._entries().get(origin)
        match entry:
            case None:
                return None
            case _Entry(where="keyring"):
                text = self._open_ring().get(origin)
                if text is None:
                    raise KeyringUnusable(
                        f"the keyring no longer has a key for {origin}; "
                        f"run `indwell login {origin}`"
                    )
                return StoredKey("keyring", Secret(text))
            case _Entry(where="file", key=str(text)):
                return StoredKey("file", Secret(text))
            case _:
                return StoredKey("none", None)

    def put(self, origin: str, key: Secret | None) -> StoredKey:
        """Store a key for an origin, or None if the origin needs no key.

        Raises:
            SettingsError: The key cannot be stored.
        """
        self._entries()  # A broken file is reported before waiting for a lock.
        with self.locked():
            return self._put(origin, key)

    def _put(self, origin: str, key: Secret | None) -> StoredKey:
        entries = self._entries()
        if key is None:
            self._drop_from_ring(origin, entries)
            self._write({**entries, origin: _Entry("none")})
            return StoredKey("none", None)
        try:
            self._put_in_ring(origin, key)
        except KeyringUnusable as error:
            self._write({**entries, origin: _Entry("file", key.reveal())})
            note = (
                f"{error}; so the key is in {quoted(self.path)}, which only you can read, but "
                "which is not encrypted"
            )
            return StoredKey("file", key, note)
        self._write({**entries, origin: _Entry("keyring")})
        return StoredKey("keyring", key, "the key is in the system's keyring")

    def forget(self, origin: str) -> bool:
        """Delete the entry of an origin; return False if there was no entry.

        Raises:
            SettingsError: The keyring or the key file could not be changed.
        """
        if origin not in self._entries():
            return False
        with self.locked():
            entries = self._entries()
            self._drop_from_ring(origin, entries)
            self._write({name: entry for name, entry in entries.items() if name != origin})
            return origin in entries

    def _put_in_ring(self, origin: str, key: Secret) -> None:
        ring = self._open_ring()
        ring.set(origin, key.reveal())
        if ring.get(origin) != key.reveal():
            raise KeyringUnusable("the keyring does not return the stored key")

    def _drop_from_ring(self, origin: str, entries: Mapping[str, _Entry]) -> None:
        if origin in entries and entries[origin].where == "keyring":
            self._open_ring().delete(origin)

    def _entries(self) -> dict[str, _Entry]:
        try:
            return FORM.decode(read_own(self.path, LIMIT_B), quoted(self.path))
        except FileNotFoundError:
            return {}
        except NewerVersion as error:
            raise SettingsError(str(error)) from error
        except (ToolError, OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            # The message of msgspec names a position in the file, never the content.
            raise SettingsError(
                f"the file of keys {quoted(self.path)} cannot be read ({reason(error)}); "
                "fix or delete it, and run `indwell login` again"
            ) from error

    def _write(self, entries: Mapping[str, _Entry]) -> None:
        data = FORM.encode(dict(sorted(entries.items())), is_for_people=True)
        try:
            folder = self.path.parent
            make_private_folder(folder)
            if not self.path.exists():
                write_private(
                    self.path, FORM.encode({})
                )  # The mode is 0600 from the first byte, and replacing the file keeps the mode.
            write_atomic(self.path, data, [folder])
        except (ToolError, OSError) as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> SettingsError:
        return SettingsError(
            f"the key cannot be stored in {quoted(self.path)} ({reason(error)}); "
            "make the folder writable and try again"
        )


VARIABLE = "INDWELL_KEYS"
MOST_CHARACTERS = 100_000  # Systems hardly allow more characters in a variable.
MOST_KEYS = 100


class HeldKeys:
    """Keys in memory, one for each origin, while the process runs."""

    def __init__(self) -> None:
        self._keys: dict[str, Secret] = {}

    def get(self, origin: str) -> Secret | None:
        """Return the key of an origin, or None if the client has not passed a key."""
        return self._keys.get(origin)

    def origins(self) -> tuple[str, ...]:
        """Return the origins with a key."""
        return tuple(self._keys)

    def hold(self, keys: Mapping[str, Secret]) -> None:
        """Add or replace keys."""
        self._keys.update(keys)

    def drop(self, origin: str) -> None:
        """Remove a key, if it exists."""
        self._keys.pop(origin, None)


def parsed_keys(text: str) -> tuple[Mapping[str, Secret], str]:
    """Parse ``INDWELL_KEYS`` to keys by origin, and an error message, which may be empty."""
    if not text.strip():
        return {}, ""
    try:
        table = json.loads(text) if len(text) <= MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict) or len(table) > MOST_KEYS:
        return {}, f"{VARIABLE} is not a JSON object from origin to key, so it is ignored"
    keys: dict[str, Secret] = {}
    for address, value in table.items():
        origin, key = _origin(address), _key(value)
        if origin and key is not None:
            keys[origin] = key
    n_wrong = len(table) - len(keys)
    return keys, f"{n_wrong} entries of {VARIABLE} are ignored" if n_wrong else ""


def _origin(address: str) -> str:
    try:
        return origin_of(address) if address.strip() else ""
    except SettingsError:
        return ""


def _key(value: object) -> Secret | None:
    try:
        key: Secret = convert("api_key", value)
    except SettingsError:
        return None
    return key


_SECRET_NAMES = lazy_pattern(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
# A shorter value is a flag, and hiding a flag would damage other text.
_SHORTEST_SECRET = 6


def known_secrets(environment: Mapping[str, str], store: KeyStore) -> tuple[str, ...]:
    """Return secrets of the user: of variables, the settings file, and the file of keys."""
    found = [value for name, value in environment.items() if _SECRET_NAMES.search(name)]
    for path in (user_file(), store.path):
        try:
            text = read_user_file(path) or ""
        except (SettingsError, UserError):
            continue
        # A file with an error is searched, too.
        found += re.findall(r"(?m)^\s*\"?(?:api_)?key\"?\s*[=:]\s*[\"']([^\"']+)[\"']", text)
        with suppress(ValueError, RecursionError):
            found += _values_in(tomllib.loads(text) if path == user_file() else json.loads(text))
    found += [key.reveal() for key in parsed_keys(environment.get(VARIABLE, ""))[0].values()]
    return tuple(value.strip() for value in found if len(value.strip()) >= _SHORTEST_SECRET)


_SETTING_NAMES = lazy_pattern(
    r"(?:^|[-_])(?:KEY|TOKEN|SECRET|PASS\w*|CREDENTIALS?|AUTHORI[SZ]ATION|COOKIE)$", re.IGNORECASE
)


def _values_in(value: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - TOML or JSON
    """Yield the texts whose names say that they are secret; of a header, also the last word."""
    match value:
        case dict():
            for one, inner in value.items():
                yield from _values_in(inner, one)
        case list():
            for inner in value:
                yield from _values_in(inner)
        case str() if _SETTING_NAMES.search(name) and not value.startswith("$"):
            yield from (value, *value.split()[1:])
