"""Records of what happened, made from what the ledger knows at that moment."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.review.folding import Followed, LedgerState
from indwell.review.hunk import Actor, Opaque, Order
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
    VerdictRecord,
    Withdrawn,
    digest,
    shift,
)
from indwell.review.store import Planned, moment
from indwell.workspace.comparing.diff import compare

LARGE = 4 << 20  # characters: beyond, a text is compared for longer than a keystroke may take
MOST_KNOWN = 1_000  # texts of which it is known whether they hold secrets
MOST_PLACES = 10_000  # hunks that a file may have; nobody reviews more

Plan: TypeAlias = Callable[[LedgerState], Sequence[Planned]]


class CommandChange(msgspec.Struct, frozen=True):
    """A file that a command changed.

    Attributes:
        path: Absolute.
        before: What it read; None if it was not there, or held no text.
        after: What it reads; None if it is gone, or holds no text.
        opaque: It has no lines.
    """

    path: Path
    before: str | None
    after: str | None
    opaque: Opaque | None = None


class Judgement(NamedTuple):
    """A verdict on a file that read ``text`` when ``of`` was known of it."""

    record: VerdictRecord
    text: str | None
    of: object


class Planner:
    """Makes records.

    Args:
        hide: A text without the secrets in it.
    """

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self._known: dict[tuple[int, int], bool] = {}

    def began(self, name: str, actor: Actor, tool_use: str, change: CommandChange) -> Plan:
        """The agent is about to change a file; ``name`` becomes the record's id."""

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
        """What began is done."""

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
        """What began was not taken."""
        record = Withdrawn(id=_id(), path=path, began=began, may_come=may_come)
        return lambda _: (Planned(record),)

    def made(
        self, actor: Actor, tool_use: str, changes: Sequence[CommandChange], *, is_accepted: bool
    ) -> Plan:
        """A command changed files."""

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
        """The user judged hunks of files."""

        def plan(state: LedgerState) -> Sequence[Planned]:
            planned = []
            for one in verdicts:
                known = _known(state, one.record.path)
                # If something was written down meanwhile, the text of then says nothing any more.
                text = one.text if state.files.get(one.record.path) is one.of else known
                others = shift(known, text)
                record = msgspec.structs.replace(one.record, was=digest(known), others=others)
                planned.append(Planned(record, known != text and self._has_secret(text)))
            return planned

        return plan

    def noticed(self, path: str, text: str | None, of: Followed) -> Plan:
        """Others made a file read ``text``; nothing if more was written down meanwhile."""

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
        """A text is asked after several times; the newest answers are kept."""
        key = (len(text), hash(text))
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._hide(text) != text
        return self._known[key]


def moving(old: Path, new: Path) -> Plan:
    """Note a file's new name, unless another process has done so."""
    record = Moved(id=_id(), path=str(old), to=str(new))
    return lambda state: (Planned(record),) if record.path in state.files else ()


def telling(session: str, verdicts: tuple[str, ...]) -> Plan:
    """Note that the model of a session knows these verdicts."""
    record = ToldRecord(id=_id(), session=session, verdicts=verdicts)
    return lambda _: (Planned(record),)


def judgement(
    path: str, text: str | None, order: Order, of: object, *, is_accepted: bool
) -> Judgement:
    """A verdict, still without what others did.

    Args:
        path: The file.
        text: What it read.
        order: What was said.
        of: What was known of the file then, a ``Followed``.
        is_accepted: Or rejected.
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
    """The agent's edit by whole lines; or without, if it has none, or far too many."""
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
    return secrets.token_hex(8)


def _now() -> str:
    return moment(datetime.now(UTC))
