"""The review log on disk: append-only, shared by several processes, read incrementally."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from indwell import edges
from indwell.errors import ToolError
from indwell.files.append_log import append_line, make_private_folder, read_from
from indwell.files.listing import exists
from indwell.files.locks import locked
from indwell.files.private import read_own, remove_own, remove_own_tree, write_durable
from indwell.prepared_types import prepared
from indwell.review.hunk import Verdict
from indwell.review.hunk_groups import groups, is_pending
from indwell.review.ledger_replay import AllVerdicts, LedgerState, Unfit, is_of_this_system
from indwell.review.records import (
    FORMAT,
    Began,
    LedgerStart,
    Made,
    Moved,
    Record,
    Ref,
    Shift,
    ToldRecord,
)

WAIT_S = 5.0  # A writer waits 5 s for the lock; another process holds the lock for a few ms.
LONG = 4_096  # Longer texts, in characters, are stored in separate files.
MOST_B = 64 << 20  # A separate file has at most 64 MiB.
AT_ONCE_B = 1 << 20
QUIET = timedelta(days=1)  # An unneeded log is deleted one day after the last change.
NEWER = "the review of this workspace was written by a newer Indwell; update Indwell to see it"


class LedgerReading(NamedTuple):
    """The part of the log that a process has read; immutable.

    Attributes:
        state: The replayed state.
        log: Id of the log, or empty if there is no log.
        offset: Number of bytes read.
        private: Files whose records are kept in memory only.
        notices: Problems to show the user, each once.
    """

    state: LedgerState
    log: str = ""
    offset: int = 0
    private: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()


def moment(now: datetime) -> str:
    """Format a time for the log: ISO 8601, UTC, milliseconds."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds")


class Planned(NamedTuple):
    """A record, and whether the record must not be written to disk."""

    record: Record
    is_private: bool = False


class ReviewStore:
    """The review log of one workspace.

    Args:
        folder: The log's folder; created on the first write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "changes.jsonl"
        self._bases = folder / "bases"
        self._is_newer = False

    def opened(self, now: datetime) -> LedgerReading:
        """Read the whole log; delete the log if it has no needed record."""
        reading = self.read_on(LedgerReading(LedgerState()))
        if reading.log and not self._is_needed(reading.state, now):
            with suppress(OSError), locked(self.folder / "lock", timeout_s=WAIT_S):
                reading = self.read_on(reading)
                if not self._is_needed(reading.state, now):
                    remove_own(self._log)
                    remove_own_tree(self._bases)
                    remove_own_tree(self.folder / "copies")
                    return LedgerReading(LedgerState(), notices=reading.notices)
        return reading

    def read_on(self, reading: LedgerReading) -> LedgerReading:
        """Read the lines appended after ``reading``; read errors become notices."""
        try:
            return self._read_on(reading)
        except OSError as error:
            return _noted(reading, f"the review log cannot be read ({error.strerror})")

    def append(
        self, reading: LedgerReading, plan: Callable[[LedgerState], Sequence[Planned]]
    ) -> LedgerReading:
        """Read other processes' records, then durably append the records that ``plan`` returns.

        If the write fails, the records stay in memory and a notice tells the user.
        """
        try:
            make_private_folder(self.folder)
            with locked(self.folder / "lock", timeout_s=WAIT_S):
                return self._append(self.read_on(reading), plan)
        except OSError as error:
            words = f"changes to review cannot be stored ({error.strerror or error}); they "
            reading = _noted(reading, words + "are remembered until Indwell ends")
            records = [one.record for one in plan(reading.state)]
            private = reading.private | {path for one in records if (path := _path(one))}
            return _taken(reading._replace(private=private), records, is_own=True)

    def _append(
        self, reading: LedgerReading, plan: Callable[[LedgerState], Sequence[Planned]]
    ) -> LedgerReading:
        planned = plan(reading.state)
        private = reading.private | {
            path for one in planned if one.is_private and (path := _path(one.record))
        }
        moved = (one.record for one in planned if isinstance(one.record, Moved))
        private |= {one.to for one in moved if one.path in private}
        own = [one.record for one in planned if _path(one.record) in private or self._is_newer]
        rest = [one.record for one in planned if one.record not in own]
        reading = reading._replace(private=private)
        if rest:
            if not reading.log:
                rest.insert(0, LedgerStart(id=edges.random_hex("ledger", 8), at=moment(_now(rest))))
            lines = [encoded(_mapped(one, self._put)) for one in rest]
            append_line(self._log, b"\n".join(lines), durable=True)
            n_before = reading.state.n_records
            reading = self._read_on(reading)
            n_read = reading.state.n_records - n_before
            own += rest[n_read:]
        return _taken(reading, own, is_own=True) if own else reading

    def _read_on(self, reading: LedgerReading) -> LedgerReading:
        first = self._first()
        if first != reading.log and reading.log:
            reading = LedgerReading(
                LedgerState(), notices=reading.notices
            )  # Another process started a new log.
        pieces, offset = [], reading.offset
        while piece := read_from(self._log, offset, AT_ONCE_B):
            pieces.append(piece)
            offset += len(piece)
        data = b"".join(pieces)
        data = data[: data.rfind(b"\n") + 1]
        if not data:
            return reading
        is_first = not reading.log
        reading = reading._replace(offset=reading.offset + len(data), log=first)
        records: list[Record | None] = []
        for line in filter(None, data.split(b"\n")):
            try:
                records.append(_mapped(decoded(line), self._get))
            except (Damaged, OSError, ToolError):
                records.append(None)
        starts = [one for one in records if isinstance(one, LedgerStart)]
        if is_first:
            self._is_newer = False
        # A newer Indwell that continues this log adds another start with its own format.
        if self._is_newer or any(one.format > FORMAT for one in starts):
            self._is_newer = True
            return _noted(reading, NEWER)
        return _taken(reading, records)

    def _first(self) -> str:
        """Return the id of the log on disk, or an empty text if missing."""
        head = read_from(self._log, 0, 1_000).lstrip(b"\n").partition(b"\n")[0]
        try:
            record = decoded(head)
        except Damaged:
            return hashlib.blake2b(head, digest_size=8).hexdigest() if head else ""
        return record.id

    def _is_needed(self, state: LedgerState, now: datetime) -> bool:
        if self._is_newer or any(
            groups(one.weave, is_pending, path) for path, one in state.files.items()
        ):
            return True
        if any(exists(self.folder.parent / one) for one in state.sessions):
            return True
        try:
            return now - datetime.fromisoformat(state.last_at) < QUIET
        except (ValueError, TypeError):
            return True

    def _put(self, text: str | Ref) -> str | Ref:
        if isinstance(text, Ref) or len(text) < LONG:
            return text
        data = text.encode("utf-8", "surrogatepass")
        name = hashlib.blake2b(data, digest_size=16).hexdigest()
        make_private_folder(self._bases)
        with suppress(FileExistsError):
            write_durable(self._bases / name, data)
        return Ref(name)

    def _get(self, text: str | Ref) -> str | Ref:
        if isinstance(text, str):
            return text
        name = "".join(c for c in text.digest if c in "0123456789abcdef")
        data = read_own(self._bases / name, MOST_B)
        if hashlib.blake2b(data, digest_size=16).hexdigest() != name:
            raise Damaged
        return data.decode("utf-8", "surrogatepass")


def pending_sessions(folder: Path) -> frozenset[str] | None:
    """Return the sessions with pending changes, or None if parts of the log cannot be read.

    Args:
        folder: The log's folder; it need not exist.
    """
    reading = ReviewStore(folder).read_on(LedgerReading(LedgerState()))
    if reading.notices:
        return None
    return frozenset(
        session
        for path, one in reading.state.files.items()
        for group in groups(one.weave, is_pending, path)
        for session, _ in group.actors
    )


def verdicts_in(folder: Path) -> tuple[Verdict, ...]:
    """Return all verdicts in a review log that the user has not undone; blocks.

    Args:
        folder: The log's folder; it need not exist.
    """
    reading = ReviewStore(folder).read_on(LedgerReading(AllVerdicts()))
    return tuple(verdict for verdict, _ in reading.state.verdicts.values())


def _mapped(record: Record, put: Callable[[str | Ref], str | Ref]) -> Record:
    """Apply ``put`` to each text in a record's edits."""
    changed = {}
    for name in ("others", "change"):
        one = getattr(record, name, None)
        if isinstance(one, Shift) and one.edits:
            edits = tuple(msgspec.structs.replace(edit, text=put(edit.text)) for edit in one.edits)
            changed[name] = Shift(is_there=one.is_there, edits=edits)
    return msgspec.structs.replace(record, **changed) if changed else record


def _taken(
    reading: LedgerReading, records: Iterable[Record | None], *, is_own: bool = False
) -> LedgerReading:
    """Apply records to the state. Damaged and unfit records are counted and reported."""
    records, state = tuple(records), reading.state.copy()
    n_damaged = n_unfit = 0
    for record in records:
        if record is None:
            state.n_records += 1
            n_damaged += 1
            continue
        if not is_own and _path(record) in reading.private:
            state.n_records += 1
            continue
        try:
            state.take(record)
        except Unfit:
            n_unfit += 1
    reading = reading._replace(state=state)
    paths = (_path(one) for one in records if one is not None)
    foreign = next((path for path in paths if path and not is_of_this_system(path)), "")
    if foreign:
        words = f"the review log has changes of another system, such as of {foreign!r}; they are "
        reading = _noted(reading, words + "neither shown nor rejected here: review them there")
    if n_damaged:
        words = "1 line" if n_damaged == 1 else f"{n_damaged} lines"
        reading = _noted(reading, f"damaged, and so skipped: {words} of the review log")
    if n_unfit:
        words = f"{n_unfit} records of the review log do not fit and are skipped"
        reading = _noted(reading, f"{words}; what they changed counts as yours")
    return reading


def _noted(reading: LedgerReading, words: str) -> LedgerReading:
    if words in reading.notices:
        return reading
    return reading._replace(notices=(*reading.notices, words))


def _path(record: Record) -> str:
    return "" if isinstance(record, LedgerStart | ToldRecord) else record.path


def _now(records: Sequence[Record]) -> datetime:
    """Return the time of the first edit among the records, or the current time without edits."""
    for one in records:
        if isinstance(one, Began | Made):
            return datetime.fromisoformat(one.at)
    return edges.now()


class Damaged(Exception):
    """A line or a text file of the log is damaged."""


def encoded(record: Record) -> bytes:
    """Encode a record as one line, without the line feed."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:  # Undecodable bytes in texts and names are lone surrogates.
        return json.dumps(msgspec.to_builtins(record)).encode()


def decoded(line: bytes) -> Record:
    """Decode the record in a line.

    Raises:
        Damaged: The line holds no valid record.
    """
    try:
        return _decoder().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _odd(line)


def _odd(line: bytes) -> Record:
    """Decode a record with lone surrogates, which msgspec's decoder rejects."""
    try:
        record = msgspec.convert(json.loads(line), type=prepared(Record))
    except (ValueError, RecursionError) as error:
        raise Damaged from error
    return cast("Record", record)


@cache
def _decoder() -> msgspec.json.Decoder[Record]:
    """Return the decoder of records, created at first use because creation takes 1 ms."""
    return msgspec.json.Decoder(prepared(Record))
