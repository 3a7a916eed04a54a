"""Finds secrets in a text, by their forms. Pure; 4 ms for 100,000 characters."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from indwell.secrets.kinds import KINDS, Kind

PRIVATE_KEY = "private key"
PASSWORD = "password in an address"  # noqa: S105 - the name of a kind
_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_MOST_KEY = 20_000  # characters of a private key, with what stands before its lines
_MOST_HEADERS = 160  # characters between its first line and the key, such as `Proc-Type: 4,…`
_MOST_BETWEEN = 40  # characters between two lines, such as a line's number
_LAST_LINE = 64  # characters of a key's last line, which may be short
_LEAST_CUT = 100  # characters of a key whose end is not there; one line could be anything
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{40,}")
_ADDRESS = re.compile(
    r"://[^\s/:@\"'`<>{}()$]{0,60}:(?P<secret>[^\s/:@\"'`<>{}()$]{8,200})@(?!sha\d)[\w.\[-]"
)
_WORD = re.compile(r"[\w+/=.~:@-]{20,}")  # no kind of secret is shorter
_DIGIT = re.compile(r"[0-9]")  # of 36 random letters and digits, one in 500 has none
_PIECE = 100_000  # characters searched in one go: a search holds all threads up, here for 4 ms
_OVERLAP = 1_000  # between two pieces; a secret is shorter
_BEFORE = 60  # characters before the word, where its name may stand
_LEAST_ENTROPY = 2.8  # bits a character of a password in an address; they are short
_EXAMPLES = re.compile(
    r"example|placeholder|redacted|dummy|changeme|xxxx|your[-_]|\*\*\*|\.\.\.|01234567|abcdefgh",
    re.IGNORECASE,
)


class Found(msgspec.Struct, frozen=True, order=True):
    """A secret in a text: from ``start`` to ``stop``, and what it seems to be."""

    start: int
    stop: int
    kind: str


def find(text: str) -> tuple[Found, ...]:
    """The secrets in a text, in order, none within another."""
    found: list[Found] = []
    for start in range(0, len(text), _PIECE):
        found += _in_piece(text, max(start - _OVERLAP, 0), start + _PIECE)
    if "://" in text:
        found += _passwords(text)
    if "PRIVATE KEY" in text:
        found += _private_keys(text)
    return _apart(found)


def _in_piece(text: str, start: int, stop: int) -> list[Found]:
    spans = tuple(_spans(text, start, stop))
    looked_at = "\n".join(text[first:last] for first, last in spans)
    return [
        one
        for kind in KINDS
        if any(map(looked_at.__contains__, kind.needles))
        for first, last in spans
        for one in _of(kind, text, first, last)
    ]


def _spans(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The long words with a digit, each with what stands before it: all else holds no secret."""
    start = stop = -1
    for word in _WORD.finditer(text, first, last):
        if not _DIGIT.search(word[0]):
            continue
        if stop < 0 or word.start() - _BEFORE > stop:
            if stop >= 0:
                yield start, stop
            start = max(word.start() - _BEFORE, 0)
        stop = word.end() + 1
    if stop >= 0:
        yield start, stop


def _of(kind: Kind, text: str, start: int, stop: int) -> Iterator[Found]:
    pattern = kind.pattern
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(text, start, stop):
        secret = match[group]
        if entropy(secret) >= kind.entropy and not _EXAMPLES.search(secret):
            yield Found(*match.span(group), kind.name)


def _passwords(text: str) -> Iterator[Found]:
    """Those of addresses, which may hold any sign and so are no words; a name may be left out."""
    at = -1
    while (at := text.find("://", at + 1)) >= 0:
        match = _ADDRESS.match(text, at)
        if match is None:
            continue
        secret = match["secret"]
        is_mixed = _DIGIT.search(secret) and any(map(str.isalpha, secret))
        if is_mixed and entropy(secret) >= _LEAST_ENTROPY and not _EXAMPLES.search(secret):
            yield Found(*match.span("secret"), PASSWORD)


def _private_keys(text: str) -> Iterator[Found]:
    """What stands between the two lines of a private key; to where it looks like one, if cut."""
    for match in _BEGIN.finditer(text):
        start = stop = match.end()
        most = text.find("-----", start, start + _MOST_KEY)
        is_whole = most >= 0 and text.startswith("-----END", most)
        n_chars, gap = 0, _MOST_HEADERS
        for line in _KEY_LINE.finditer(text, start, most if most >= 0 else start + _MOST_KEY):
            if line.start() - stop > gap:
                break
            n_chars, stop, gap = n_chars + len(line[0]), line.end(), _MOST_BETWEEN
        is_whole = is_whole and n_chars > 0 and most - stop <= _MOST_BETWEEN + _LAST_LINE
        if is_whole or n_chars >= _LEAST_CUT:
            yield Found(start, most if is_whole else stop, PRIVATE_KEY)


def open_key(text: str) -> int | None:
    """Where a private key begins that goes to the end of the text, and may go on behind it."""
    if "PRIVATE KEY" not in text[-_MOST_KEY:]:
        return None
    begins = tuple(_BEGIN.finditer(text, max(len(text) - _MOST_KEY, 0)))
    match = begins[-1] if begins else None
    if match is None or "-----" in text[match.end() :]:
        return None
    stop, gap = match.end(), _MOST_HEADERS
    for line in _KEY_LINE.finditer(text, match.end()):
        if line.start() - stop > gap:
            return None
        stop, gap = line.end(), _MOST_BETWEEN
    return match.start() if len(text) - stop <= gap + _LAST_LINE else None


def entropy(text: str) -> float:
    """Shannon's entropy of a text's characters, in bits a character."""
    n = len(text)
    return -sum(k / n * math.log2(k / n) for k in Counter(text).values()) if n else 0.0


def _apart(found: list[Found]) -> tuple[Found, ...]:
    """In order; of two that overlap, the one that begins first or is longer covers both."""
    apart: list[Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.stop)):
        if apart and one.start < apart[-1].stop:
            last = apart[-1]
            apart[-1] = Found(last.start, max(last.stop, one.stop), last.kind)
        else:
            apart.append(one)
    return tuple(apart)
