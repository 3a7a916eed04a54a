"""The words for hunks and verdicts: scopes, titles, counts and results. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from indwell.review.hunk import Actor, Hunk
from indwell.review.verdicts import VerdictOutcome

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


MOST_NAMED = 5  # files of a question, reasons of a sentence

Kept = tuple[Hunk, str]


class FilesOutcome(msgspec.Struct, frozen=True):
    """Of several files.

    Attributes:
        hunks: Those that were settled.
        kept: Those that stay pending, and why.
        failed: Files that could not be changed, and why.
        gone: Ids of changes that are not pending any more.
    """

    hunks: tuple[Hunk, ...] = ()
    kept: tuple[Kept, ...] = ()
    failed: tuple[tuple[Path, str], ...] = ()
    gone: tuple[str, ...] = ()

    def with_done(self, done: VerdictOutcome) -> FilesOutcome:
        """One more file is done."""
        return FilesOutcome(
            (*self.hunks, *done.hunks),
            (*self.kept, *done.kept),
            (*self.failed, *done.failed),
            (*self.gone, *done.unknown),
        )

    def leaving(self, hunks: Iterable[Hunk], why: str) -> FilesOutcome:
        """These were not come to."""
        kept = tuple((hunk, why) for hunk in hunks)
        return msgspec.structs.replace(self, kept=(*self.kept, *kept))


def sentence(verb: str, outcome: FilesOutcome, display: Callable[[Path], str]) -> str:
    """All of it in one sentence for people."""
    parts = []
    if outcome.hunks:
        parts.append(f"{verb}ed {_where(outcome.hunks, display)}")
    if outcome.kept:
        why = "; ".join(dict.fromkeys(f"{display(one.path)}: {why}" for one, why in outcome.kept))
        stays = "1 change stays" if len(outcome.kept) == 1 else f"{changes(len(outcome.kept))} stay"
        parts.append(f"{stays} pending ({_short(why)})")
    parts += [
        f"{display(path)} was not changed: {why}" for path, why in outcome.failed[:MOST_NAMED]
    ]
    if outcome.gone:
        is_one = len(outcome.gone) == 1
        what = (
            "the change that was shown is" if is_one else f"{len(outcome.gone)} of those shown are"
        )
        parts.append(f"{what} not pending any more, and nothing was done for it")
    return "; ".join(parts) or "nothing is pending there"


def question(kept: Sequence[Kept], display: Callable[[Path], str]) -> str:
    """What the user is asked before lines go that not only this turn changed."""
    named = [f"{display(hunk.path)}, line {hunk.line}: {why}" for hunk, why in kept[:MOST_NAMED]]
    if len(kept) > MOST_NAMED:
        named.append(f"and {len(kept) - MOST_NAMED} more")
    what = "this change" if len(kept) == 1 else f"these {changes(len(kept))}"
    return "\n".join([f"Indwell: reject {what} all the same, and lose what came since?", *named])


def _where(hunks: Sequence[Hunk], display: Callable[[Path], str]) -> str:
    paths = list(dict.fromkeys(hunk.path for hunk in hunks))
    where = display(paths[0]) if len(paths) == 1 else files(len(paths))
    return f"{changes(len(hunks))} in {where}"


def _short(words: str) -> str:
    return words if len(words) <= 300 else f"{words[:300]}…"  # noqa: PLR2004 - a message's worth
