"""Builds log records from the ledger state at the moment when a record is appended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from indwell import edges
from indwell.review.hunk import Actor, Opaque, Order
from indwell.review.ledger_replay import Followed, LedgerState
from indwell.review.others_edits import line_by_line
from indwell.review.records import (
    Began,
    Bytes,
    FinishedRecord,
    Made,
    Moved,
    Noticed,
    RecordedEdit,
    Shift,
    ToldRecord,
    Unjudged,
    VerdictRecord,
    Withdrawn,
    digest,
    shift,
)
from indwell.review.store import Planned, moment
from indwell.workspace.comparing.diff import compare

LARGE = 4 << 20  # Comparing a text of more characters would delay a keystroke.
MOST_KNOWN = 1_000  # The result of the search for secrets is cached for at most 1,000 texts.
MOST_PLACES = 10_000  # One file has at most 10,000 hunks.

Plan: TypeAlias = Callable[[LedgerState], Sequence[Planned]]


class CommandChange(msgspec.Struct, frozen=True):
    """A file that a command changed.

    Attributes:
        path: The absolute path of the file.
        before: The text before, or None if there was no file or the file was not text.
        after: The text after, or None if the file is gone or is not text.
        opaque: The change of a file that is not text, or is too large for hunks.
    """

    path: Path
    before: str | None
    after: str | None
    opaque: Opaque | None = None


class Judgement(NamedTuple):
    """A verdict on a file, with the text and the ledger state (``of``) that the user judged."""

    record: VerdictRecord
    text: str | None
    of: object


class Planner:
    """Builds the records that a ledger appends.

    Args:
        hide: Returns a text with its secrets removed.
    """

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self._known: dict[tuple[int, int], bool] = {}

    def began(self, name: str, actor: Actor, tool_use: str, change: CommandChange) -> Plan:
        """Record that an agent's edit begins; ``name`` becomes the record's id."""

        def plan(state: LedgerState) -> Sequence[Planned]:
            known = _known(state, str(change.path))
            lines, blob = _difference(change)
            record = Began(
                id=name,
                path=str(change.path),
                was=digest(known),
                others=shift(known, change.before),
                change=lines,
                session=actor.session,
                turn=actor.turn,
                tool_use=tool_use,
                at=_now(),
                bytes=blob,
            )
            return (Planned(record, self._has_secret(known, change.before, change.after)),)

        return plan

    def finished(self, path: str, began: str, after: str, *, is_accepted: bool) -> Plan:
        """Record that an edit is done."""

        def plan(state: LedgerState) -> Sequence[Planned]:
            known = _known(state, path)
            record = FinishedRecord(
                id=_id(),
                path=path,
                was=digest(known),
                others=shift(known, after),
                began=began,
                is_accepted=is_accepted,
            )
            return (Planned(record, self._has_secret(after)),)

        return plan

    def withdrawn(self, path: str, began: str, *, may_come: bool) -> Plan:
        """Record that an edit was not applied."""
        record = Withdrawn(id=_id(), path=path, began=began, may_come=may_come)
        return lambda _: (Planned(record),)

    def made(
        self, actor: Actor, tool_use: str, changes: Sequence[CommandChange], *, is_accepted: bool
    ) -> Plan:
        """Record that a command changed files."""

        def plan(state: LedgerState) -> Sequence[Planned]:
            planned = []
            for one in changes:
                known = _known(state, str(one.path))
                lines, blob = _difference(one)
                before = known if one.opaque is not None else one.before
                record = Made(
                    id=_id(),
                    path=str(one.path),
                    was=digest(known),
                    others=shift(known, before),
                    change=lines,
                    session=actor.session,
                    turn=actor.turn,
                    tool_use=tool_use,
                    at=_now(),
                    is_accepted=is_accepted,
                    bytes=blob,
                )
                planned.append(Planned(record, self._has_secret(before, one.after)))
            return planned

        return plan

    def judged(self, verdicts: Sequence[Judgement]) -> Plan:
        """Record the user's verdicts on files."""

        def plan(state: LedgerState) -> Sequence[Planned]:
            planned = []
            for one in verdicts:
                known = _known(state, one.record.path)
                # If another record was appended meanwhile, the verdict's text is outdated.
                text = one.text if state.files.get(one.record.path) is one.of else known
                others = shift(known, text)
                record = msgspec.structs.replace(one.record, was=digest(known), others=others)
                planned.append(Planned(record, known != text and self._has_secret(text)))
            return planned

        return plan

    def unjudged(self, path: str, verdict: str, text: str | None) -> Plan:
        """Record that a verdict was undone; the file now has ``text``."""

        def plan(state: LedgerState) -> Sequence[Planned]:
            known = _known(state, path)
            record = Unjudged(
                id=_id(),
                path=path,
                was=digest(known),
                others=shift(known, text),
                at=_now(),
                verdict=verdict,
            )
            return (Planned(record, self._has_secret(text)),)

        return plan

    def noticed(self, path: str, text: str | None, of: Followed) -> Plan:
        """Record edits by others; do nothing if another record was appended meanwhile."""

        def plan(state: LedgerState) -> Sequence[Planned]:
            known = _known(state, path)
            others = shift(known, text)
            if others is None or state.files.get(path) is not of:
                return ()
            record = Noticed(id=_id(), path=path, was=digest(known), others=others)
            return (Planned(record, self._has_secret(text)),)

        return plan

    def _has_secret(self, *texts: str | None) -> bool:
        return any(self._is_secret(text) for text in texts if text)

    def _is_secret(self, text: str) -> bool:
        """Answers are cached, because each text is checked several times."""
        key = (len(text), hash(text))
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._hide(text) != text
        return self._known[key]


def moving(old: Path, new: Path) -> Plan:
    """Record a file's new path, unless another process has done so."""
    record = Moved(id=_id(), path=str(old), to=str(new))
    return lambda state: (Planned(record),) if record.path in state.files else ()


def telling(session: str, verdicts: tuple[str, ...]) -> Plan:
    """Record that a session's model has received these verdicts."""
    record = ToldRecord(id=_id(), session=session, verdicts=verdicts)
    return lambda _: (Planned(record),)


def judgement(
    path: str, text: str | None, order: Order, of: object, *, is_accepted: bool
) -> Judgement:
    """Build a verdict, to which ``Planner.judged`` adds the edits by others.

    Args:
        path: The file.
        text: The text that the verdict refers to.
        order: The hunks that the verdict covers.
        of: The ledger's state of the file at that time, a ``Followed``.
        is_accepted: Whether the verdict accepts the hunks; False if the verdict rejects the hunks.
    """
    record = VerdictRecord(
        id=_id(),
        path=path,
        was="",
        others=None,
        at=_now(),
        is_accepted=is_accepted,
        hunks=order.ids,
        only=tuple((one.session, one.turn) for one in order.only),
        session=order.session,
        after_turn=order.after_turn,
        force=order.force,
    )
    return Judgement(record, text, of)


def _difference(change: CommandChange) -> tuple[Shift, Bytes | None]:
    """Return the edit in whole lines, or as ``Bytes`` if the file is binary or too large."""
    after = change.after
    if change.opaque is not None:
        one = change.opaque
        blob = Bytes(one.note, one.before, one.after, one.mode)
        return Shift(is_there=one.after is not None), blob
    if after is None:
        return Shift(is_there=False), None
    sizes = [len(text or "") for text in (change.before, after)]
    if max(sizes) > LARGE:
        return Shift(), Bytes(f"large, {sizes[0]:,} -> {sizes[1]:,} characters")
    places = compare(change.before, after).places
    if len(places) > MOST_PLACES:
        return Shift(), Bytes(f"changed in {len(places):,} places")
    parts = (part for one in places for part in line_by_line(one))
    edits = tuple(RecordedEdit(one.start, one.stop, "".join(one.new)) for one in parts)
    return Shift(edits=edits), None


def _known(state: LedgerState, path: str) -> str | None:
    return state.files[path].weave.reads if path in state.files else None


def _id() -> str:
    return edges.random_hex("record", 8)


def _now() -> str:
    return moment(edges.now())
