"""Where lines came to or went from a run of equal ones: at its end, as git says it.

Of five empty lines one is gone: any of them, and two texts that lack one each must agree on which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indwell.workspace.comparing.diff import Replaced
from indwell.workspace.comparing.ends import common_lines
from indwell.workspace.text import split_lines


def slid(text: str, places: Sequence[Replaced]) -> Iterator[Replaced]:
    """Places of ``text`` where lines only came or only went, as far behind as they mean the same.

    At least one equal line stays between two of them.
    """
    for number, place in enumerate(places):
        is_last = number + 1 == len(places)
        limit = len(text) if is_last else places[number + 1].start - 1
        yield place if place.old and place.new else _slid(text, place, limit)


def _slid(text: str, place: Replaced, limit: int) -> Replaced:
    """What leaves a block in front, if it follows it too, may as well stay, and that one move."""
    start, stop = place.start, place.stop
    if place.old:
        by = common_lines(text, text, limit - stop, start, stop)
        return Replaced(start + by, split_lines(text[start + by : stop + by]), []) if by else place
    block = "".join(place.new)
    run = block + text[stop:limit]
    by = common_lines(run, text, limit - stop, 0, stop)
    return Replaced(start + by, [], split_lines(run[by : by + len(block)])) if by else place
