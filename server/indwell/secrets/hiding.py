"""Replaces secrets in texts by marks for the model. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from indwell.lazy_pattern import lazy_pattern
from indwell.secrets.detector import entropy, find

MARK = "[secret " + "hidden:"  # in two parts, so that a tool may write this very file
_LEAST = 12  # characters of a known secret; shorter ones may be ordinary words
_LEAST_OWN = 8
_LEAST_ENTROPY = 3.0  # bits a character; natural language has about as much
_ASSIGNED = lazy_pattern(r"[=:][ \t]{0,4}[\"']?([^\s\"',;]+)")
_PLAIN = lazy_pattern(r"[a-z]+|[A-Z]+|[0-9.]+")
_PATH = lazy_pattern(r"[~./]|[A-Za-z]:[\\/]|[a-z]+://[^@]*\Z")


class Hider:
    """Hides secrets in texts: those with a known pattern, and known values.

    Args:
        own: Our own keys; always hidden.
        known: Values of secret variables; hidden unless they look like a word or path.
        knows_forms: Whether to hide secrets by pattern.
    """

    def __init__(
        self, own: Iterable[str] = (), known: Iterable[str] = (), *, knows_forms: bool = True
    ) -> None:
        self._knows_forms = knows_forms
        kept = {one for one in own if len(one) >= _LEAST_OWN}
        kept |= {one for one in known if _is_telling(one)}
        self._known = tuple(sorted(kept, key=len, reverse=True))

    def hide(self, text: str) -> str:
        """Replace each secret with a mark; returns the same object if there is none."""
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, mark("of this machine's environment"))
        found = find(text) if self._knows_forms else ()
        if not found:
            return text
        parts, at = [], 0
        for one in found:
            parts += [text[at : one.start], mark(one.kind)]
            at = one.stop
        return "".join([*parts, text[at:]])


def mark(kind: str) -> str:
    """Return the mark for a secret of this kind."""
    return f"{MARK} {kind}]"


def kinds_in(text: str) -> tuple[str, ...]:
    """Return the kinds of secrets that a text seems to contain, for a question (SEC-07)."""
    return tuple(dict.fromkeys(one.kind for one in find(text)))


def values_in(text: str) -> frozenset[str]:
    """Return values that a file assigns (``NAME=value``), except words, numbers and paths."""
    values = {match[1] for match in _ASSIGNED.finditer(text)}
    return frozenset(
        one for one in values if len(one) >= _LEAST_OWN and not _PLAIN.fullmatch(one)
        and not _PATH.match(one)
    )  # fmt: skip


def has_mark(text: str) -> bool:
    """Tell whether a text has a mark; writing it to a file would overwrite a secret."""
    return MARK in text


def _is_telling(value: str) -> bool:
    is_word = not any(map(str.isdigit, value)) or not any(map(str.isalpha, value))
    return (
        len(value) >= _LEAST
        and not is_word
        and not _PATH.match(value)
        and not any(map(str.isspace, value))
        and entropy(value) >= _LEAST_ENTROPY
    )


_SECRET_NAME = lazy_pattern(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:^|_)(?:PASS|PAT|PWD|DSN)$",
    re.IGNORECASE,
)
_OTHER_NAME = lazy_pattern(r"KEYRING|KEYLOG|KEYCHAIN|KEYBOARD|KEYMAP|KEYTIMEOUT|^PWD$|^OLDPWD$")
_PROXY = lazy_pattern(r"_proxy$", re.IGNORECASE)
_LEAST_CHARACTERS = 8  # characters; shorter values are words like "true"


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
        if is_secret(name) and len(value.strip()) >= _LEAST_CHARACTERS
    }
    return tuple(sorted(found, key=len, reverse=True))
