"""Keys that the client keeps: handed to this process when it starts, held in memory, never stored.

An editor that has a place of its own for secrets hands its keys over in ``INDWELL_KEYS``, a JSON
object from origin to key. What is wrong with it is said without any of its values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from indwell.errors import SettingsError
from indwell.settings.origins import origin_of
from indwell.settings.secret import Secret
from indwell.settings.values import convert

VARIABLE = "INDWELL_KEYS"
MOST_CHARACTERS = 100_000  # of the variable; systems allow hardly more
MOST_KEYS = 100


class HeldKeys:
    """One key an origin, as long as the process runs."""

    def __init__(self) -> None:
        self._keys: dict[str, Secret] = {}

    def get(self, origin: str) -> Secret | None:
        """The key of an origin; None if the client has handed none over."""
        return self._keys.get(origin)

    def origins(self) -> tuple[str, ...]:
        """Those that have one."""
        return tuple(self._keys)

    def hold(self, keys: Mapping[str, Secret]) -> None:
        """Hold these too; an origin that has one gets the new one."""
        self._keys.update(keys)

    def drop(self, origin: str) -> None:
        """Let go of one; nothing happens if there is none."""
        self._keys.pop(origin, None)


def parsed_keys(text: str) -> tuple[Mapping[str, Secret], str]:
    """The keys of ``INDWELL_KEYS`` by origin, and what was wrong with it; empty if all is well."""
    if not text.strip():
        return {}, ""
    try:
        table = json.loads(text) if len(text) <= MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict) or len(table) > MOST_KEYS:
        return {}, f"{VARIABLE} is no JSON object from origin to key, so it is ignored"
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
