"""Which facts fit what the user asks for: BM25 over their words. Pure.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with their
usual constants. The user's words count most, then the names of files, then marked text. A fact that
shares nothing telling with them is not sent, however few facts there are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from indwell.context.memory.page import Fact
from indwell.context.memory.terms import terms

_K1, _B = 1.2, 0.75
_OF_WORDS, _OF_PATHS, _OF_TEXT = 1.0, 0.7, 0.4  # what a shared word weighs, by where it stands
_LEAST = 0.7  # weight of all shared words: one of the user's, one of a path, or two of the text
_COMMON_IN = 6  # facts, from which on a word in more than half of them tells nothing
MOST_CHARACTERS = 4_000  # of each part that are looked at; what matters is said in fewer


class Query(msgspec.Struct, frozen=True):
    """What facts are looked for.

    Attributes:
        words: The user's.
        paths: Of the files that go along.
        text: That is marked.
    """

    words: str
    paths: tuple[str, ...] = ()
    text: str = ""


def ranked(facts: Sequence[Fact], query: Query) -> tuple[Fact, ...]:
    """The facts that fit, the best first; of equal ones the newer."""
    counts = [Counter(terms(one.text)) for one in facts]
    spread = Counter(term for count in counts for term in count)
    weights = {
        term: weight
        for term, weight in _weights(query).items()
        if len(facts) < _COMMON_IN or 2 * spread[term] <= len(facts)
    }
    length = sum(count.total() for count in counts) / len(counts) if counts else 0.0
    scored: list[tuple[float, int]] = []
    for place, count in enumerate(counts):
        shared = weights.keys() & count.keys()
        if sum(weights[term] for term in shared) >= _LEAST:
            size = 1 - _B + _B * count.total() / length
            score = sum(
                weights[term] * _rarity(spread[term], len(facts)) * _share(count[term], size)
                for term in shared
            )
            scored.append((score, place))
    return tuple(facts[place] for _, place in sorted(scored, reverse=True))


def _weights(query: Query) -> Mapping[str, float]:
    found: dict[str, float] = {}
    parts = (
        (query.text, _OF_TEXT),
        (" ".join(query.paths), _OF_PATHS),
        (query.words, _OF_WORDS),
    )
    for text, weight in parts:
        found |= dict.fromkeys(terms(text[:MOST_CHARACTERS]), weight)
    return found


def _rarity(n_with: int, n: int) -> float:
    """The inverse document frequency, which is never below zero in this form."""
    return math.log(1 + (n - n_with + 0.5) / (n_with + 0.5))


def _share(n_times: int, size: float) -> float:
    return n_times * (_K1 + 1) / (n_times + _K1 * size)
