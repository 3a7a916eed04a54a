"""The words of a text by which facts are found: identifiers in parts, endings and filler off."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Scripts without blanks between words: two signs in a row say as much as a word elsewhere.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+")
_LEAST = 2  # characters of a word
_STEM = 3  # characters that stay at least
_HISSING = ("sses", "shes", "ches", "xes", "zes")

_FILLER = """
    a about after again all also always am an and any are as at be because been before being but by
    can could did do does doing don down each either else ever every few for from get give go got
    had has have he her here him his how if in into is it its just let like ll made make makes many
    may me might more most much must my need no not now of off ok on once one only or other our out
    over own please re same see set she should so some still such take tell than that the their them
    then there these they this those through to too try two under until up us use used using very
    want was way we well were what when where which while who whom why will with without would yes
    you your add change code edit file files fix function line lines look put read run show write
    der die das und ist ein eine nicht mit von zu den le la les et un une des est pas que el los y
"""
FILLER = frozenset(_FILLER.split())
"""Words that say nothing about what is meant; among them what nearly every prompt asks for."""


def terms(text: str) -> tuple[str, ...]:
    """The words of a text that tell, in order; the same word as often as it stands there."""
    found: list[str] = []
    for word in _WORD.findall(text):
        for run in _UNSPACED.findall(word):
            found += [run[at : at + 2] for at in range(max(len(run) - 1, 1))]
        rest = _UNSPACED.sub(" ", word)
        for plain in rest.split():
            parts = _PARTS.findall(plain) if plain.isascii() else [plain]
            whole = plain.casefold()
            found += [one for one in (whole, *_apart(parts, whole)) if _is_telling(one)]
    return tuple(map(_stem, found))


def _apart(parts: list[str], whole: str) -> list[str]:
    """The parts of a name such as ``parseHTTPHeader``, unless it has only one."""
    return [one.casefold() for one in parts] if parts and parts[0].casefold() != whole else []


def _is_telling(word: str) -> bool:
    return len(word) >= _LEAST and word not in FILLER


def _stem(word: str) -> str:
    """Off with the endings of English: ``tests`` and ``testing`` are found by ``test``."""
    if not word.isascii() or word.endswith("ss"):
        return word
    if word.endswith(_HISSING):
        return word[:-2]
    for ending in ("ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word
