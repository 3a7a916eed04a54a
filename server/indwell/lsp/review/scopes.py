"""Which hunks a verdict is about: one, those of a file, of a turn, of a session, all. Pure.

A scope that is offered names its hunks by their ids, which are of their contents: what came or
changed since it was offered is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from indwell.lsp.review.words import changes, counted, turn_words
from indwell.review.hunk import Actor, Hunk

QUICKFIX = "quickfix.indwell"
SOURCE = "source.indwell"
MOST_TURNS = 3  # turns of one place that are offered each; the newest


class Offered(NamedTuple):
    """A set of hunks that can be accepted or rejected at once.

    Attributes:
        words: Behind ``Accept`` and ``Reject``.
        hunks: What it is about.
        kind: Of its code actions.
        session: Whose part of the hunks it is about; None for everybody's.
        turn: And of which turn of it.
    """

    words: str
    hunks: tuple[Hunk, ...]
    kind: str
    session: str | None = None
    turn: int | None = None

    @property
    def is_part(self) -> bool:
        """Have others a part in some of its hunks, which stays?"""
        return any(not self._is_own(by) for one in self.hunks for by in one.actors)

    def argument(self, uri: str) -> dict[str, Any]:
        """What its commands take; ``uri`` is where it was offered."""
        argument: dict[str, Any] = {"hunks": [hunk.id for hunk in self.hunks], "uri": uri}
        if self.session is not None:
            argument["session"] = self.session
        if self.turn is not None:
            argument["turn"] = self.turn
        return argument

    def _is_own(self, actor: Actor) -> bool:
        return self.session in {None, actor.session} and self.turn in {None, actor.turn}


def offered(
    touched: Sequence[Hunk],
    here: Sequence[Hunk],
    everything: Callable[[], Sequence[Hunk]],
    session: str | None,
    is_wanted: Callable[[str], bool],
) -> Iterator[Offered]:
    """The scopes of a place, from small to large; of those with the same hunks only the first.

    Args:
        touched: Hunks at the place.
        here: All of its file.
        everything: All that are pending; asked for only if needed.
        session: The current one.
        is_wanted: Is this kind of code action asked for?
    """
    seen: set[frozenset[str]] = set()
    for one in _all(touched, here, everything, session, is_wanted):
        ids = frozenset(hunk.id for hunk in one.hunks)
        if ids and (ids not in seen or one.is_part):
            seen.add(ids)
            yield one


def _all(
    touched: Sequence[Hunk],
    here: Sequence[Hunk],
    everything: Callable[[], Sequence[Hunk]],
    session: str | None,
    is_wanted: Callable[[str], bool],
) -> Iterator[Offered]:
    if is_wanted(QUICKFIX) and touched:
        words = "this change" if len(touched) == 1 else f"these {changes(len(touched))}"
        yield Offered(words, tuple(touched), QUICKFIX)
    if not is_wanted(SOURCE):
        return
    yield Offered(f"all changes in this file ({len(here):,})", tuple(here), SOURCE)
    pending = everything()
    for actor in _newest(touched or here):
        of_turn = tuple(hunk for hunk in pending if actor in hunk.actors)
        whose, key = turn_words([actor], session), (actor.session, actor.turn)
        yield Offered(f"all changes of {whose} ({counted(of_turn)})", of_turn, SOURCE, *key)
    if session is not None:
        own = tuple(hunk for hunk in pending if any(one.session == session for one in hunk.actors))
        yield Offered(f"all changes of this session ({counted(own)})", own, SOURCE, session)
    yield Offered(f"all pending changes ({counted(pending)})", tuple(pending), SOURCE)


def _newest(hunks: Iterable[Hunk]) -> list[Actor]:
    """The actors of hunks, those with the highest turns first."""
    found = dict.fromkeys(actor for hunk in hunks for actor in hunk.actors)
    return sorted(found, key=lambda one: one.turn, reverse=True)[:MOST_TURNS]
