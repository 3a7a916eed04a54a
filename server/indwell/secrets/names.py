"""Recognizes environment variables that hold secrets, by name. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from indwell.lazy_pattern import lazy_pattern

_SECRET_NAME = lazy_pattern(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:^|_)(?:PASS|PAT|PWD|DSN)$",
    re.IGNORECASE,
)
_OTHER_NAME = lazy_pattern(r"KEYRING|KEYLOG|KEYCHAIN|KEYBOARD|KEYMAP|KEYTIMEOUT|^PWD$|^OLDPWD$")
_PROXY = lazy_pattern(r"_proxy$", re.IGNORECASE)
_LEAST = 8  # characters; shorter values are words like "true"


def is_secret(name: str) -> bool:
    """Tell whether a variable's name suggests a secret."""
    return bool(_SECRET_NAME.search(name)) and not _OTHER_NAME.search(name)


def is_proxy(name: str) -> bool:
    """Tell whether a variable may hold an address with a password that our libraries need."""
    return bool(_PROXY.search(name))


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables with secret names, longest first."""
    found = {
        value.strip()
        for name, value in environment.items()
        if is_secret(name) and len(value.strip()) >= _LEAST
    }
    return tuple(sorted(found, key=len, reverse=True))
