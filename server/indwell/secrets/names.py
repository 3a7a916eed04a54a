"""Which environment variables hold secrets, by their names. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:^|_)(?:PASS|PAT|PWD|DSN)$",
    re.IGNORECASE,
)
_OTHER_NAME = re.compile(r"KEYRING|KEYLOG|KEYCHAIN|KEYBOARD|KEYMAP|KEYTIMEOUT|^PWD$|^OLDPWD$")
_PROXY = re.compile(r"_proxy$", re.IGNORECASE)
_LEAST = 8  # characters; shorter values are words like "true"


def is_secret(name: str) -> bool:
    """Does the name of a variable speak of a secret?"""
    return bool(_SECRET_NAME.search(name)) and not _OTHER_NAME.search(name)


def is_proxy(name: str) -> bool:
    """May it hold an address with a password, which libraries in this process need?"""
    return bool(_PROXY.search(name))


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of variables whose names speak of secrets, longest first."""
    found = {
        value.strip()
        for name, value in environment.items()
        if is_secret(name) and len(value.strip()) >= _LEAST
    }
    return tuple(sorted(found, key=len, reverse=True))
