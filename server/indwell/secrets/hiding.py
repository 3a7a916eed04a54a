"""Texts without the secrets in them, and how that is said to the model. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from indwell.secrets.detector import entropy, find

MARK = "[secret " + "hidden:"  # in two parts, so that a tool may write this very file
_LEAST = 12  # characters of a known secret; shorter ones may be words of a program
_LEAST_OWN = 8
_LEAST_ENTROPY = 3.0  # bits a character; words of a language have about as much
_ASSIGNED = re.compile(r"[=:][ \t]{0,4}[\"']?([^\s\"',;]+)")
_PLAIN = re.compile(r"[a-z]+|[A-Z]+|[0-9.]+")
_PATH = re.compile(r"[~./]|[A-Za-z]:[\\/]|[a-z]+://[^@]*\Z")


class Hider:
    """Takes secrets out of texts: those with a form of their own, and those that are known.

    Args:
        own: Keys of ours; hidden wherever they stand.
        known: Values of variables that hold secrets; hidden unless they look like a word or path.
        knows_forms: Hide what is a secret by its form?
    """

    def __init__(
        self, own: Iterable[str] = (), known: Iterable[str] = (), *, knows_forms: bool = True
    ) -> None:
        self._knows_forms = knows_forms
        kept = {one for one in own if len(one) >= _LEAST_OWN}
        kept |= {one for one in known if _is_telling(one)}
        self._known = tuple(sorted(kept, key=len, reverse=True))

    def hide(self, text: str) -> str:
        """The text with a mark in place of each secret; the same object if there is none."""
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
    """What stands in place of a secret."""
    return f"{MARK} {kind}]"


def kinds_in(text: str) -> tuple[str, ...]:
    """What kinds of secrets a text seems to hold; for a question to the user (SEC-07)."""
    return tuple(dict.fromkeys(one.kind for one in find(text)))


def values_in(text: str) -> frozenset[str]:
    """The values of a file that assigns them, such as ``NAME=value``: no words, numbers, paths."""
    values = {match[1] for match in _ASSIGNED.finditer(text)}
    return frozenset(
        one for one in values if len(one) >= _LEAST_OWN and not _PLAIN.fullmatch(one)
        and not _PATH.match(one)
    )  # fmt: skip


def has_mark(text: str) -> bool:
    """Does it hold a mark, which would overwrite a secret if it were written to a file?"""
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
