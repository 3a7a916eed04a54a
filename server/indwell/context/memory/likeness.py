"""Is a fact known already, or is it another word on one that is known? Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from indwell.context.memory.page import Fact

ALIKE = 86.0  # of 100: one sentence in other words, or with another number in it
LEAST_WORDS = 4  # of a fact that is wholly found in another: with fewer that may be chance


def same(text: str, facts: Iterable[Fact]) -> Fact | None:
    """The fact that says this with the same words in the same order; case and signs aside."""
    from rapidfuzz.utils import default_process  # noqa: PLC0415 # 15 ms that start-up need not pay

    wanted = default_process(text).split()
    return next((one for one in facts if default_process(one.text).split() == wanted), None)


def alike(text: str, facts: Iterable[Fact]) -> Fact | None:
    """The fact that reads most like ``text``, if one may be meant that it takes the place of.

    Only the user can tell a correction from another fact, so whoever calls shows both: of a fact
    that was cut nobody could, so it is none.
    """
    from rapidfuzz.fuzz import token_sort_ratio  # noqa: PLC0415 # as above
    from rapidfuzz.utils import default_process  # noqa: PLC0415

    words = default_process(text).split()
    scored = (
        (
            100.0
            if _holds(words, default_process(one.text).split())
            else token_sort_ratio(text, one.text, processor=default_process),
            place,
            one,
        )
        for place, one in enumerate(facts)
        if not one.is_cut
    )
    score, _, best = max(scored, default=(0.0, 0, None))
    return best if score >= ALIKE else None


def _holds(some: Sequence[str], others: Sequence[str]) -> bool:
    """Does one of two facts say the other with something added?"""
    shorter, longer = sorted((Counter(some), Counter(others)), key=Counter.total)
    return shorter.total() >= LEAST_WORDS and shorter <= longer
