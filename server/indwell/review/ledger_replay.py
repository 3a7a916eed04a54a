"""Replays the review log into the ledger state, and builds the verdicts for the model. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, assert_never

import msgspec

from indwell.review.hunk import Actor, Hunk, Verdict
from indwell.review.hunk_groups import Group, accepted, at_once, rejected, rewound
from indwell.review.hunk_groups import Judged as Outcome
from indwell.review.others_edits import followed
from indwell.review.records import (
    Began,
    Bytes,
    FinishedRecord,
    LedgerStart,
    Made,
    Moved,
    Noticed,
    Record,
    Shift,
    ToldRecord,
    Unjudged,
    VerdictRecord,
    Withdrawn,
    digest,
    shifted,
)
from indwell.review.weave import (
    GONE,
    PLACES,
    Blob,
    Mark,
    Segment,
    Weave,
    edited,
    joined,
    removed,
    taken_out,
)
from indwell.workspace.comparing.diff import ReplacedLines, compare
from indwell.workspace.text import n_line_ends, split_lines

STATES = 16  # An undo in the editor can restore this many earlier states of a file exactly.


class BeforeVerdict(NamedTuple):
    """A file before and after a verdict that can still be undone.

    Attributes:
        verdict: Id of the verdict's record.
        before: The weave before the verdict.
        after: The weave after the verdict.
    """

    verdict: str
    before: Weave
    after: Weave


class Followed(NamedTuple):
    """The state of one file according to the log.

    Attributes:
        weave: The current weave.
        states: Earlier weaves that an undo may restore, newest last.
        late: Weaves of withdrawn edits that an editor may still apply.
        underway: The record id and number of each edit that has begun and not finished.
        judged: The verdicts since the agent's last change of the file, newest last.
    """

    weave: Weave = GONE
    states: tuple[Weave, ...] = ()
    late: tuple[Weave, ...] = ()
    underway: tuple[tuple[str, int], ...] = ()
    judged: tuple[BeforeVerdict, ...] = ()


class Unfit(Exception):
    """A record does not match the replayed state."""


class LedgerState:
    """The review state after all records of the log; only ``take`` changes the state."""

    def __init__(self) -> None:
        self.files: dict[str, Followed] = {}
        self.verdicts: dict[str, tuple[Verdict, frozenset[str]]] = {}
        """By record id: the verdict, and the sessions whose model has not seen it."""
        self.sessions: set[str] = set()
        self.taken_back: Counter[str] = Counter()
        """By path: the number of verdicts and rewinds that undid a change."""
        self.n_records = 0
        self.last_at = ""

    def copy(self) -> LedgerState:
        """Return an independent copy."""
        other = type(self)()
        other.files = dict(self.files)
        other.verdicts = dict(self.verdicts)
        other.sessions = set(self.sessions)
        other.taken_back = self.taken_back.copy()
        other.n_records, other.last_at = self.n_records, self.last_at
        return other

    def take(self, record: Record) -> None:
        """Apply the next record.

        Raises:
            Unfit: The record does not match the state. ``n_records`` still counts it.
        """
        self.n_records += 1
        match record:
            case LedgerStart():
                self.last_at = record.at
            case ToldRecord():
                for one in record.verdicts:
                    self._tell(one, record.session)
            case Withdrawn():
                self.files[record.path] = _withdrawn(self._known(record.path), record)
            case Began() | Made():
                self.files[record.path] = self._changed(record)
                self.sessions.add(record.session)
                self.last_at = record.at
            case FinishedRecord():
                self.files[record.path] = self._finished(record)
            case VerdictRecord() | Unjudged():
                self._judge(record)
                self.last_at = record.at
            case Noticed():
                self.files[record.path] = self._since(record)._replace(late=())
            case Moved():
                self._known(record.path)
                self.files[record.to] = self.files.pop(record.path)
            case _:
                assert_never(record)

    def seen(self, path: str, text: str | None) -> Weave:
        """Return the weave of a file whose text is now ``text``."""
        one = self.files[path]
        return followed(one.weave, text, (*one.states, *one.late))

    def is_again(self, path: str, weave: Weave) -> bool:
        """Return whether ``weave`` restores an earlier state than ``seen``, or has a late edit."""
        one = self.files[path]
        return weave is not GONE and any(weave is state for state in (*one.states, *one.late))

    def _tell(self, verdict: str, session: str) -> None:
        if verdict in self.verdicts:
            what, sessions = self.verdicts[verdict]
            if rest := sessions - {session}:
                self.verdicts[verdict] = (what, rest)
            else:
                del self.verdicts[verdict]

    def _known(self, path: str) -> Followed:
        if path not in self.files:
            raise Unfit(path)
        return self.files[path]

    def _since(
        self, record: Began | Made | FinishedRecord | VerdictRecord | Unjudged | Noticed
    ) -> Followed:
        """Return the file's state, including edits by others that the record contains."""
        is_first = isinstance(record, Began | Made)
        one = self.files.get(record.path, Followed()) if is_first else self._known(record.path)
        if record.was != digest(one.weave.reads):
            raise Unfit(record.path)
        now = _fitting(record.path, one.weave.reads, record.others)
        weave = followed(one.weave, now, (*one.states, *one.late))
        # Edits by others can be undone, too.
        states = one.states if weave is one.weave else _with(one.states, one.weave)
        return one._replace(weave=weave, states=states)

    def _changed(self, record: Began | Made) -> Followed:
        one = self._since(record)
        mark = Mark(record.session, record.turn, self.n_records * PLACES, record.id)
        if record.bytes is not None:
            weave = _of_bytes(one.weave, mark, record.bytes, is_there=record.change.is_there)
        else:
            weave = changed(one.weave, _places(record.path, one.weave, record.change), mark)
        states = _with(one.states, one.weave)
        one = one._replace(judged=())
        if isinstance(record, Began):
            underway = (*one.underway, (record.id, self.n_records))
            return one._replace(weave=weave, states=states, underway=underway)
        if record.is_accepted:
            weave = at_once(weave, self.n_records)
        return one._replace(weave=weave, states=states)

    def _finished(self, record: FinishedRecord) -> Followed:
        one = self._since(record)
        number = dict(one.underway).get(record.began)
        weave = one.weave
        if record.is_accepted and number is not None:
            weave = at_once(weave, number)
        underway = tuple(pair for pair in one.underway if pair[0] != record.began)
        return one._replace(weave=weave, underway=underway)

    def _judge(self, record: VerdictRecord | Unjudged) -> None:
        if isinstance(record, Unjudged):
            self.files[record.path] = self._unjudged(record)
            return
        known = self._known(record.path).weave
        one = self._since(record)
        outcome = judged(one.weave, record)
        states = _not_judged(known, one, record) if outcome.groups else one.states
        judged_before: tuple[BeforeVerdict, ...] = ()
        if not record.session:  # A rewind is undone by the rewind's own backup copies.
            judged_before = one.judged
            if outcome.groups:
                last = BeforeVerdict(record.id, one.weave, outcome.weave)
                judged_before = (*judged_before, last)[-STATES:]
        self.files[record.path] = one._replace(
            weave=outcome.weave, states=states, judged=judged_before
        )
        if outcome.groups and not record.is_accepted:
            self.taken_back[record.path] += 1
        if outcome.groups and not record.session:
            path = Path(record.path)
            hunks = tuple(hunk_of(group, path) for group in outcome.groups)
            verdict = said(record, path, hunks, one.weave, outcome.weave)
            judged_hunks = (*verdict.accepted, *verdict.rejected)
            sessions = frozenset(actor.session for hunk in judged_hunks for actor in hunk.actors)
            self.verdicts[record.id] = (verdict, sessions)
        one.weave.forget_text()

    def _unjudged(self, record: Unjudged) -> Followed:
        """Return the file's state before its newest verdict, with all edits by others since."""
        one = self._since(record)
        if not one.judged or one.judged[-1].verdict != record.verdict:
            raise Unfit(record.path)
        now = _fitting(record.path, self._known(record.path).weave.reads, record.others)
        self.verdicts.pop(record.verdict, None)
        weave = followed(one.judged[-1].before, now)
        return one._replace(weave=weave, states=(), judged=one.judged[:-1])


class AllVerdicts(LedgerState):
    """A ledger state that also keeps the verdicts of which the model was informed."""

    def _tell(self, verdict: str, session: str) -> None:
        """Keep the verdict."""


def judged(weave: Weave, record: VerdictRecord) -> Outcome:
    """Apply a verdict to the weave that the verdict was given on."""
    name = record.path
    if record.session:
        return rewound(weave, name, record.session, record.after_turn, force=record.force)
    if record.is_accepted:
        return accepted(weave, name, record.hunks, record.only)
    return rejected(weave, name, record.hunks, record.only, force=record.force)


def is_of_this_system(path: str) -> bool:
    r"""Return whether a path is absolute in the form of this operating system.

    A log may come from a different system, such as on a shared disk, where ``/work/a.py`` or
    ``C:\work\a.py`` would name a different file.
    """
    here = Path(path)
    return bool(here.root) and str(here) == path


def hunk_of(group: Group, path: Path) -> Hunk:
    """Convert a group to the hunk shown to the user."""
    return Hunk(
        id=group.id,
        path=path,
        actors=tuple(Actor(*actor) for actor in group.actors),
        line=group.line,
        old=group.old,
        new=group.new,
        is_touched=group.is_touched,
        kind=group.kind,
        note=group.note,
    )


def changed(weave: Weave, change: Sequence[ReplacedLines] | None, mark: Mark) -> Weave:
    """Return the weave after an agent's change; if ``change`` is None, the file was removed."""
    if change is None:
        return removed(weave, mark)
    if weave.is_there:
        return edited(weave, change, mark)
    new = Segment("".join("".join(place.new) for place in change), born=mark)
    created = mark if weave.deleted is None else weave.created
    return Weave(joined([*weave.segments, new]), created=created)


def _with(states: tuple[Weave, ...], weave: Weave) -> tuple[Weave, ...]:
    """Append a weave to the earlier states, without the weave's joined text, to save memory."""
    weave.forget_text()
    return (*states, weave)[-STATES:]


def _not_judged(known: Weave, one: Followed, record: VerdictRecord) -> tuple[Weave, ...]:
    """Apply the verdict also to the state ``known``, if it has changes that were not judged."""
    if known.unjudged <= one.weave.unjudged:
        return ()
    return (judged(known, record).weave,)


def _withdrawn(one: Followed, record: Withdrawn) -> Followed:
    number = dict(one.underway).get(record.began)
    if number is None:
        raise Unfit(record.path)
    weave = taken_out(one.weave, lambda _, mark: mark.edit == number)
    late = _with(one.late, one.weave) if record.may_come else one.late
    underway = tuple(pair for pair in one.underway if pair[0] != record.began)
    return Followed(weave, one.states, late, underway)


def _places(path: str, weave: Weave, change: Shift) -> list[ReplacedLines] | None:
    if not change.is_there:
        return None
    text = weave.text
    _fitting(path, text, change)
    return [
        ReplacedLines(
            one.start, split_lines(text[one.start : one.stop]), split_lines(str(one.text))
        )
        for one in change.edits
    ]


def _fitting(path: str, text: str | None, by: Shift | None) -> str | None:
    try:
        return shifted(text, by)
    except ValueError as error:
        raise Unfit(path) from error


def _of_bytes(weave: Weave, mark: Mark, change: Bytes, *, is_there: bool) -> Weave:
    blob = Blob(mark, change.note, change.before, change.after, change.mode)
    return Weave(
        weave.segments,
        is_there=is_there,
        created=weave.created,
        deleted=weave.deleted,
        opaque=(*weave.opaque, blob),
    )


def said(
    record: VerdictRecord, path: Path, hunks: tuple[Hunk, ...], before: Weave, after: Weave
) -> Verdict:
    """Build the verdict of a record.

    Args:
        record: The verdict's log record.
        path: The file.
        hunks: The judged hunks, whole.
        before: The weave before the verdict.
        after: The weave after the verdict.
    """
    verdict = Verdict(path, id=record.id, at=record.at)
    if not any(one.kind == "opaque" for one in hunks):  # A binary file has no text to hash.
        was = digest(before.reads)
        became = was if record.is_accepted else digest(after.reads)
        verdict = msgspec.structs.replace(verdict, was=was, became=became)
    if record.is_accepted:
        return msgspec.structs.replace(verdict, accepted=hunks)
    if record.only:  # Lines of other turns in the same hunk stay.
        hunks = _taken_back(record, hunks, before.reads, after.reads)
    return msgspec.structs.replace(verdict, rejected=hunks)


def _taken_back(
    record: VerdictRecord, hunks: Sequence[Hunk], before: str | None, after: str | None
) -> tuple[Hunk, ...]:
    """Return the rejected part of the hunks, as separate hunks."""
    if before is None or after is None or any(one.kind == "opaque" for one in hunks):
        return tuple(hunks)
    places = compare(before, after).places
    if not places:
        return tuple(hunks)
    actors = tuple(dict.fromkeys(actor for one in hunks for actor in one.actors))
    if not record.force:  # ``force`` also rejects changes built on the hunks.
        actors = tuple(one for one in actors if (one.session, one.turn) in record.only)
    starts = _line_numbers(before, [place.start for place in places])
    return tuple(
        Hunk(
            id=hunks[0].id,
            path=hunks[0].path,
            actors=actors,
            line=line,
            old=tuple(place.new),
            new=tuple(place.old),
        )
        for line, place in zip(starts, places, strict=True)
    )


def _line_numbers(text: str, offsets: Sequence[int]) -> list[int]:
    """Return the line number (from 1) of each offset; offsets must ascend."""
    numbers = []
    line = at = 0
    for offset in offsets:
        line += n_line_ends(text, at, offset)
        numbers.append(line + 1)
        at = offset
    return numbers
