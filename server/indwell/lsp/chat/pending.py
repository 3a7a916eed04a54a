"""What of a draft was sent already, while the edit that takes it away is on its way. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def rest_of(draft: str, taken: Sequence[str]) -> str:
    """What of a draft is new.

    Args:
        draft: All of it, blanks at its ends aside.
        taken: What was sent already, in its order; what does not stand there any more counts
            for nothing.
    """
    at = 0
    for words in taken:
        begin = at
        while begin < len(draft) and draft[begin].isspace():
            begin += 1
        if draft.startswith(words, begin):
            at = begin + len(words)
    return draft[at:].strip()
