"""Reads what a sentence of the user is about: words, values and plain statements. Pure.

A value is a date, a number with its unit, or a name from a table, such as *MySQL*. A plain
statement is a subject with a verb and a value, such as *the contact is Oskar Lind*.
``note_changes`` compares these parts of two sentences.
"""

from __future__ import annotations

# ruff: noqa: RUF001 -- words and marks of many scripts are meant
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from indwell.context.compaction.summarising import note_words as words_of
from indwell.lazy_pattern import lazy_pattern

MOST_PLAIN = 4  # A plain statement has at most 4 words in its subject, and 4 in its value.

_LEAST_TERM = 2  # a shorter word says nothing, unless it has a digit
_PLAIN_LETTERS = frozenset("AIOYEÀ")  # words of one letter at the beginning of a sentence
_STEM = 6  # Two words are the same if their first 6 letters are equal.
_WIDE = "\u2e80"  # words from this character on have no blanks between them
_TERM = lazy_pattern(r"[\u3400-\u9fff]+|[^\W_]+(?:[.:/_+-][^\W_]+)*")
_ENDING = lazy_pattern(r"(?<=\w{3})(?:ing|ed|es|s|e)\Z")


def term_list(text: str) -> Iterator[str]:
    """Yield the words that tell the subject, in order, shortened to their beginnings."""
    for match in _TERM.finditer(text):
        word = match[0].lower()
        if len(word) == 1 and match[0].isupper() and match[0] not in _PLAIN_LETTERS:
            yield match[0]  # the name of a thing, such as *dataset B*
            continue
        if word[0] >= _WIDE:
            pairs = (word[at : at + 2] for at in range(len(word) - 1))
            yield from (one for one in pairs if not words_of.EMPTY_WIDE & set(one))
        elif word not in words_of.EMPTY and (
            len(word) >= _LEAST_TERM or any(map(str.isdigit, word))
        ):
            yield stem(word) if word.isalpha() else word


def stem(word: str) -> str:
    """Return the beginning of a word, so that *stored* and *store* are the same word."""
    return _ENDING.sub("", word)[:_STEM]


def terms_of(text: str) -> frozenset[str]:
    """Return the words of a sentence that tell its subject."""
    return frozenset(term_list(text))


_MONTH = (
    r"(?:jan|feb|mär|mar|apr|avr|abr|mai|may|jun|juin|jul|juil|aug|août|ago|sep|okt|oct|nov|dez|dec"
    r"|déc|dic|ene|fév|fev)[a-zéäû]{0,7}"
)
_SHAPES = (  # In this order, a date is not read as a number with a unit.
    ("url", lazy_pattern(r"https?://[^\s,;]+")),
    ("address", lazy_pattern(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")),
    ("time", lazy_pattern(r"\b\d{1,2}[:：h]\d{2}\b|\b\d{1,2} ?(?:am|pm|uhr)\b")),
    (
        "date",
        lazy_pattern(
            rf"(?:\b\d{{1,2}}\.?(?:st|nd|rd|th|er)?(?: of| de)? {_MONTH}\b|\b{_MONTH} \d{{1,2}}\b)"
            r"(?:,?(?: de)? \d{4}\b)?"
            r"|\b\d{4}-\d\d-\d\d\b|\d{1,2} ?月 ?\d{1,2} ?[日号]"
        ),
    ),
    ("ordinal", lazy_pattern(r"\b\d{1,2}(?:st|nd|rd|th)\b")),
    ("colour", lazy_pattern(r"#[0-9a-f]{3,8}\b")),
)
_NUMBER_WORDS: Mapping[str, str] = {
    word: str(number)
    for words in words_of.NUMBERS
    for number, word in enumerate(words.split(), 1)
    if word
}
_COUNT = lazy_pattern(
    r"(?P<before>[^\W\d_]{2,}) *(?:(?:is|of|to|at|on|now|the|version|auf|ist|jetzt|est|es|de|el"
    r"|la|le|a"
    r"|à|ahora|maintenant|是|用|=|:|：)\b *|[=:：] *)*"
    r"(?=v?\d)|v?(?P<number>\d[\d.,]*\d|\d)(?: ?(?P<after>[^\W\d_]+|[%€$£]))?"
)


def values_of(text: str) -> frozenset[tuple[str, str]]:
    """Return the values of a sentence with their kinds.

    The kind of a number is the word after or before the number, such as *days* or *port*. The kind
    of a name from the table of names is the name of the table's row, such as *database*.
    """
    rest = text.lower()
    found: set[tuple[str, str]] = set()
    for kind, shape in _SHAPES:
        found.update((kind, " ".join(match[0].split())) for match in shape.finditer(rest))
        rest = shape.sub(" ", rest)
    found.update(
        (kind, match[0]) for match in _NAMED.finditer(rest) for kind in (match.lastgroup or "",)
    )
    spelled = re.sub(r"[^\W\d_]+", lambda one: _NUMBER_WORDS.get(one[0], one[0]), rest)
    before = ""
    for match in _COUNT.finditer(spelled):
        if match["before"]:
            before = match["before"]
            continue
        for word in (before, match["after"] or ""):
            if word and word not in words_of.EMPTY:
                found.add(_measured(word, match["number"]))
        before = ""
    return frozenset(found)


def _measured(word: str, number: str) -> tuple[str, str]:
    """Return the kind and the value of a number beside a word; all units of time are one kind."""
    for kind, units in _UNITS.items():
        if units.fullmatch(word):
            return kind, f"{number} {word}"
    return (stem(word) if word[0] < _WIDE else word[0]), number


_UNITS = {kind: lazy_pattern(names, re.IGNORECASE) for kind, names in words_of.UNITS.items()}
_NAMED = lazy_pattern(
    "|".join(
        rf"(?P<{kind}>(?<![\w.])(?:{names})(?![\w]))" for kind, names in words_of.NAMES.items()
    )
)
MEASURES = frozenset((*words_of.UNITS, *words_of.NAMES, *(kind for kind, _ in _SHAPES)))
"""The kinds of values that tell more than a bare number does."""


class PlainStatement(NamedTuple):
    """A subject with its verb and value, such as *the contact is Oskar Lind*."""

    subject: frozenset[str]
    verb: str
    value: frozenset[str]


_STATEMENT = lazy_pattern(
    r"(?P<subject>[^,;:.。，；：！]{2,60}?)(?: +(?P<verb>(?:is|are|will be|ist|sind|est|sont|es|son"
    r"|heißt|läuft)(?: (?:called|named|at|on|in|auf|im|unter))?)\b *|(?P<wide>是|叫|在)"
    r"|(?P<mark> *[:：=] *))"
    r"(?P<value>[^,;。，；！]{2,60})",
    re.IGNORECASE,
)


def statements_of(text: str) -> tuple[PlainStatement, ...]:
    """Return the plain statements of a sentence: a short subject, a verb and a value."""
    found: list[PlainStatement] = []
    for match in _STATEMENT.finditer(text):
        subject, value = (list(term_list(match[one])) for one in ("subject", "value"))
        if 1 <= len(subject) <= MOST_PLAIN and value:
            verb = match["verb"] or match["wide"] or "is"
            found.append(
                PlainStatement(frozenset(subject), _verb(verb), frozenset(value[:MOST_PLAIN]))
            )
    return tuple(found)


def _verb(words: str) -> str:
    """Return the verb of a plain statement, with one name for verbs that only join."""
    first, _, place = words.lower().partition(" ")
    joins = {"are", "will", "ist", "sind", "est", "sont", "es", "son", "是"}
    return " ".join(
        filter(None, ("is" if first in joins else first, place.removeprefix("be").strip()))
    )
