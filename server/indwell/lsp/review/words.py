"""Describes hunks and verdicts in words: scopes, titles, counts and results. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from indwell.review.hunk import Actor, Hunk
from indwell.review.verdicts import VerdictOutcome

NOT_TEXT = "no text"


def figure(hunk: Hunk) -> str:
    """Return the added and removed lines as ``+3 −1``; for a binary file, its note."""
    if hunk.kind == "opaque":
        return hunk.note or NOT_TEXT
    return f"+{len(hunk.new)} −{len(hunk.old)}"


def turn_words(actors: Sequence[Actor], session: str | None) -> str:
    """Return the turns of a change: ``turn 4``, ``turns 3 and 4``, ``turn 2 of another session``.

    Args:
        actors: The turns, oldest first.
        session: The id of the current session, or None if there is no session.
    """
    own = [one.turn for one in actors if one.session == session]
    if len(own) == len(actors):
        return _turns(own)
    others = [one.turn for one in actors if one.session != session]
    is_one = len({one.session for one in actors if one.session != session}) == 1
    words = f"{_turns(others)} of another session" if is_one else "turns of other sessions"
    return f"{words} and {_turns(own)}" if own else words


def described(hunk: Hunk, session: str | None) -> str:
    """Return a clause that describes a hunk, such as ``turn 4, +3 −1``."""
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
    """Return a number of changes as text: ``1 change``, ``3 changes``."""
    return "1 change" if number == 1 else f"{number:,} changes"


def files(number: int) -> str:
    """Return a number of files as text: ``1 file``, ``3 files``."""
    return "1 file" if number == 1 else f"{number:,} files"


def counted(hunks: Iterable[Hunk]) -> str:
    """Return the number of hunks, and of files if there are several: ``5 in 2 files``."""
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
MOST_TURNS = 3  # the limit of turns that are offered at one position, newest first


class Offered(NamedTuple):
    """A set of hunks that can be accepted or rejected at once.

    Attributes:
        words: The text after ``Accept`` or ``Reject`` in the title.
        hunks: The hunks.
        kind: The kind of the code actions.
        session: The session whose changes in the hunks are selected, or None for all sessions.
        turn: The turn of the session, or None for all turns.
    """

    words: str
    hunks: tuple[Hunk, ...]
    kind: str
    session: str | None = None
    turn: int | None = None

    @property
    def is_part(self) -> bool:
        """True if other turns also contributed to the hunks; their parts stay pending."""
        return any(not self._is_own(by) for one in self.hunks for by in one.actors)

    def argument(self, uri: str) -> dict[str, Any]:
        """Return the argument of the commands; ``uri`` is the offer's document."""
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
    """Yield the scopes at a position, from small to large, each with different hunks.

    Args:
        touched: The hunks at the position.
        here: All hunks of the file.
        everything: Returns all pending hunks; called only if needed.
        session: The id of the current session.
        is_wanted: Returns whether a kind of code action is requested.
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
    """Return the turns of hunks, highest number first."""
    found = dict.fromkeys(actor for hunk in hunks for actor in hunk.actors)
    return sorted(found, key=lambda one: one.turn, reverse=True)[:MOST_TURNS]


MOST_NAMED = 5  # the limit of files in a question, or of reasons in a sentence

Kept = tuple[Hunk, str]


class FilesOutcome(msgspec.Struct, frozen=True):
    """The outcome of accepting or rejecting hunks of several files.

    Attributes:
        hunks: The hunks that were accepted or rejected.
        kept: The hunks that stay pending, with reasons.
        failed: Files that could not be changed, with reasons.
        gone: Ids of hunks that are no longer pending.
    """

    hunks: tuple[Hunk, ...] = ()
    kept: tuple[Kept, ...] = ()
    failed: tuple[tuple[Path, str], ...] = ()
    gone: tuple[str, ...] = ()

    def with_done(self, done: VerdictOutcome) -> FilesOutcome:
        """Add the outcome of one file."""
        return FilesOutcome(
            (*self.hunks, *done.hunks),
            (*self.kept, *done.kept),
            (*self.failed, *done.failed),
            (*self.gone, *done.unknown),
        )

    def leaving(self, hunks: Iterable[Hunk], why: str) -> FilesOutcome:
        """Add hunks that were not processed, with the reason."""
        kept = tuple((hunk, why) for hunk in hunks)
        return msgspec.structs.replace(self, kept=(*self.kept, *kept))


def sentence(verb: str, outcome: FilesOutcome, display: Callable[[Path], str]) -> str:
    """Return the outcome in one sentence for people."""
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
        parts.append(f"{what} no longer pending, and nothing was done for it")
    return "; ".join(parts) or "nothing is pending there"


def undone_sentence(verb: str, outcome: FilesOutcome, display: Callable[[Path], str]) -> str:
    """Return the outcome of undoing a verdict, in one sentence for people."""
    parts = []
    if outcome.hunks:
        await_ = "awaits" if len(outcome.hunks) == 1 else "await"
        parts.append(f"{_where(outcome.hunks, display)} {await_} your verdict again")
    parts += [
        f"the {verb} in {display(path)} cannot be undone: {why}"
        for path, why in outcome.failed[:MOST_NAMED]
    ]
    return "; ".join(parts) or f"undid the {verb}"


def question(kept: Sequence[Kept], display: Callable[[Path], str]) -> str:
    """Return the question before removing lines that others have also changed."""
    named = [f"{display(hunk.path)}, line {hunk.line}: {why}" for hunk, why in kept[:MOST_NAMED]]
    if len(kept) > MOST_NAMED:
        named.append(f"and {len(kept) - MOST_NAMED} more")
    what = "this change" if len(kept) == 1 else f"these {changes(len(kept))}"
    return "\n".join([f"Indwell: reject {what} anyway, and lose later changes?", *named])


def _where(hunks: Sequence[Hunk], display: Callable[[Path], str]) -> str:
    paths = list(dict.fromkeys(hunk.path for hunk in hunks))
    where = display(paths[0]) if len(paths) == 1 else files(len(paths))
    return f"{changes(len(hunks))} in {where}"


def _short(words: str) -> str:
    return words if len(words) <= 300 else f"{words[:300]}…"  # noqa: PLR2004 - a message's worth
