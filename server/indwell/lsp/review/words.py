"""What people read of a hunk: its turn, its figures, where several stand. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from indwell.review.hunk import Actor, Hunk

NOT_TEXT = "no text"


def figure(hunk: Hunk) -> str:
    """Lines that came and went: ``+3 −1``; of what is no text, what is known of it."""
    if hunk.kind == "opaque":
        return hunk.note or NOT_TEXT
    return f"+{len(hunk.new)} −{len(hunk.old)}"


def turn_words(actors: Sequence[Actor], session: str | None) -> str:
    """Whose change it is: ``turn 4``, ``turns 3 and 4``, ``turn 2 of another session``.

    Args:
        actors: Oldest first.
        session: The current one; its turns need no more words. None if there is none yet.
    """
    own = [one.turn for one in actors if one.session == session]
    if len(own) == len(actors):
        return _turns(own)
    others = [one.turn for one in actors if one.session != session]
    is_one = len({one.session for one in actors if one.session != session}) == 1
    words = f"{_turns(others)} of another session" if is_one else "turns of other sessions"
    return f"{words} and {_turns(own)}" if own else words


def described(hunk: Hunk, session: str | None) -> str:
    """One clause for a hunk: ``turn 4, +3 −1``."""
    whose = turn_words(hunk.actors, session)
    kinds = {"create": "new file", "delete": "file deleted"}
    parts = (
        whose,
        kinds.get(hunk.kind, ""),
        figure(hunk),
        "edited since" if hunk.is_touched else "",
    )
    return ", ".join(filter(None, parts))


def changes(number: int) -> str:
    """``1 change``, ``3 changes``."""
    return "1 change" if number == 1 else f"{number:,} changes"


def files(number: int) -> str:
    """``1 file``, ``3 files``."""
    return "1 file" if number == 1 else f"{number:,} files"


def counted(hunks: Iterable[Hunk]) -> str:
    """How many, and in how many files if these are several: ``5 in 2 files``."""
    paths = [hunk.path for hunk in hunks]
    n_files = len(set(paths))
    return f"{len(paths):,} in {files(n_files)}" if n_files > 1 else f"{len(paths):,}"


def _turns(numbers: Sequence[int]) -> str:
    found = [str(one) for one in dict.fromkeys(numbers)]
    if len(found) == 1:
        return f"turn {found[0]}"
    return f"turns {', '.join(found[:-1])} and {found[-1]}"
