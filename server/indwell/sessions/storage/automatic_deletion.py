"""Deletes sessions automatically: old sessions, and the oldest if sessions take too much space."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, SessionError, ToolError
from indwell.files.append_log import list_names, make_private_folder
from indwell.files.listing import exists, modified_s
from indwell.files.locks import locked
from indwell.files.private import read_own, remove_own, replace_durable, size_b
from indwell.files.spelling import quoted
from indwell.sessions.ids import began
from indwell.sessions.storage.retention import (
    delete_unless,
    remove_leftovers,
    remove_unread,
    session_paths,
    used_s,
)

# This folder in the state folder has the record of deletions and the lock for deleting.
FOLDER = "swept"
COPIES = "undo"  # This folder in the state folder has copies of the user's files, ``<name>.old``.
LEAP = timedelta(days=7)  # A longer time since the newest session may come from a wrong clock.
# After a leap, a clock must run for one day before Indwell trusts the clock.
CONFIRM = timedelta(days=1)
FIRST = datetime(2025, 1, 1, tzinfo=UTC)  # No session is older than Indwell.
YOUNG = timedelta(days=1)  # Newer copies are never deleted to free space.
MOST_ENTRIES = 20  # The record has at most 20 deletions.
_RECORD_B = 1 << 20
_logger = logging.getLogger(__name__)

Why: TypeAlias = Literal["age", "size"]
Pending: TypeAlias = Callable[[Path], Collection[str] | None]
"""Returns a workspace folder's sessions with changes to review, or None if unknown."""


class RetentionLimits(NamedTuple):
    """The retention limits.

    Attributes:
        keep_days: Days since a session was used, or None for no limit.
        most_b: Bytes of sessions and copies, or 0 for no limit.
    """

    keep_days: int | None = None
    most_b: int = 0


class Gone(msgspec.Struct, frozen=True):
    """What one run of the automatic deletion has deleted.

    Attributes:
        at: The time, ISO 8601 in UTC.
        sessions: Ids of sessions that were too old, then of sessions deleted for space.
        n_for_room: Number of sessions that were deleted for space.
        n_copies: Number of deleted copies of the user's files.
        freed_b: Bytes freed in total.
        is_told: Whether the user was informed.
    """

    at: str
    sessions: tuple[str, ...] = ()
    n_for_room: int = 0
    n_copies: int = 0
    freed_b: int = 0
    is_told: bool = False


class SweepRecord(msgspec.Struct, frozen=True):
    """The state that is kept between two runs of the deletion.

    Attributes:
        doubted: The time since which the clock is not trusted, or empty if the clock is trusted.
        believed: The time when the clock was last trusted.
        gone: The deletions, oldest first.
    """

    doubted: str = ""
    believed: str = ""
    gone: tuple[Gone, ...] = ()


FORM: StoredForm[SweepRecord] = StoredForm("swept", SweepRecord, "the record of deletions")


class _Due(NamedTuple):
    """The sessions that are due for deletion.

    Attributes:
        used: The time when each session was last used, or None if unknown.
        old: Sessions that are too old.
        copies: Copies that are too old.
        over_b: Bytes above the limit.
    """

    used: Mapping[Path, datetime | None]
    old: Sequence[Path]
    copies: Sequence[Path]
    over_b: int


def sweep(
    state: Path, limits: RetentionLimits, *, now: datetime, pending: Pending, ours: str = ""
) -> Gone | None:
    """Delete sessions beyond the limits; return the deletions, or None if nothing was deleted.

    Only one process deletes sessions at a time; other processes do nothing.

    Args:
        state: The state folder.
        limits: The retention limits.
        now: The current time, with its time zone.
        pending: Returns the sessions that must stay.
        ours: The caller's session, which is not deleted, and whose age says nothing about the
            clock.
    """
    if limits == RetentionLimits() or not exists(state / "sessions"):
        return None
    try:
        remove_leftovers(state)
        sweeping = _Sweep(state, limits, now, pending, ours)
        if not sweeping.due():
            return None
        make_private_folder(state / FOLDER)
        with locked(state / FOLDER / "lock", timeout_s=0):
            return sweeping.run()
    except TimeoutError:
        return None
    except (SessionError, NewerVersion, OSError) as error:
        _logger.warning("old sessions were not deleted: %s", error)
        return None


def record_of(state: Path) -> SweepRecord:
    """Read the record of earlier deletions, without sessions that still exist."""
    try:
        record = _read(state)
    except NewerVersion as error:
        _logger.info("%s", error)
        return SweepRecord()
    there = {path.name for path in session_paths(state)} if record.gone else set[str]()
    gone = (
        msgspec.structs.replace(
            one, sessions=tuple(each for each in one.sessions if each not in there)
        )
        for one in record.gone
    )
    return msgspec.structs.replace(
        record, gone=tuple(one for one in gone if one.sessions or one.n_copies)
    )


def take_untold(state: Path) -> tuple[Gone, ...]:
    """Return the unreported deletions; each deletion is returned once."""
    untold = tuple(one for one in record_of(state).gone if not one.is_told)
    if untold:
        try:
            with locked(state / FOLDER / "lock", timeout_s=0):
                record = _read(state)
                told = (msgspec.structs.replace(one, is_told=True) for one in record.gone)
                _write(state, msgspec.structs.replace(record, gone=tuple(told)))
        # Another process deletes sessions, or the disk is full, so the report is repeated later.
        except (NewerVersion, OSError) as error:
            _logger.info("the record of deleted sessions stays as it is: %s", error)
    return untold


def held_b(state: Path) -> int:
    """Return the size of all sessions and of the copies of the user's files."""
    return size_b(state / "sessions") + sum(size_b(path) for path in _copies(state))


def is_believed(
    record: SweepRecord, newest: datetime | None, now: datetime, keep_days: int | None
) -> tuple[bool, SweepRecord]:
    """Decide whether the clock's ``now`` is credible; return the record to keep. Pure.

    Args:
        record: The record of earlier sweeps.
        newest: The time when another session was last used, or None if missing.
        now: The clock's time.
        keep_days: A gap of more days also counts as a leap.
    """
    leap = min(LEAP, timedelta(days=keep_days or LEAP.days))
    believed = msgspec.structs.replace(record, doubted="", believed=now.isoformat())
    doubted = msgspec.structs.replace(record, doubted=now.isoformat())
    since = _moment(record.doubted)
    if since is not None and since <= now:
        if now - since < CONFIRM:
            return False, record
        return (True, believed) if now - since <= CONFIRM + leap else (False, doubted)
    last = max(filter(None, (newest, _moment(record.believed))), default=None)
    if last is not None and abs(now - last) > leap:
        return False, doubted
    return True, believed


class _Sweep:
    def __init__(
        self, state: Path, limits: RetentionLimits, now: datetime, pending: Pending, ours: str
    ) -> None:
        self._state = state
        self._limits = limits
        self._now = now
        self._pending = pending
        self._ours = ours
        self._waiting: dict[Path, Collection[str] | None] = {}

    def due(self) -> _Due | None:
        """Return the sessions to delete, or None if no session is due."""
        sessions = [path for path in session_paths(self._state) if path.name != self._ours]
        used = {path: self._used(path) for path in sessions}
        due = _Due(
            used,
            old=[path for path in sessions if self._is_old(used[path])],
            copies=[path for path in _copies(self._state) if self._is_old(self._written(path))],
            over_b=held_b(self._state) - self._limits.most_b if self._limits.most_b else 0,
        )
        is_any = bool(due.old or due.copies or due.over_b > 0)
        return due if is_any or _read(self._state).doubted else None

    def run(self) -> Gone | None:
        """Delete the sessions that are due, if the clock can be trusted."""
        due = self.due()
        if due is None:  # Another process was faster.
            return None
        record = _read(self._state)
        newest = max(filter(None, due.used.values()), default=None)
        is_sure, changed = is_believed(record, newest, self._now, self._limits.keep_days)
        if is_sure:
            return self._delete(due, changed)
        if changed != record:
            _write(self._state, changed)
        return None

    def _delete(self, due: _Due, record: SweepRecord) -> Gone | None:
        gone = Gone(self._now.isoformat(timespec="seconds"))
        for path in self._oldest(due.old, due.used):
            gone = self._gone(gone, path, due.used[path], record, "age")
        for path in due.copies:
            gone = self._copy_gone(gone, path)
        for path in self._oldest([one for one in due.used if one not in due.old], due.used):
            if due.over_b <= gone.freed_b:
                break
            gone = self._gone(gone, path, due.used[path], record, "size")
        for path in sorted(_copies(self._state), key=modified_s):
            written = self._written(path)
            if due.over_b <= gone.freed_b:
                break
            if written is not None and self._now - written >= YOUNG:
                gone = self._copy_gone(gone, path)
        for folder in {path.parent for path in due.used}:
            remove_unread(folder)
        is_any = bool(gone.sessions or gone.n_copies)
        self._note(msgspec.structs.replace(record, gone=_latest(record, gone if is_any else None)))
        return gone if is_any else None

    def _oldest(
        self, paths: Sequence[Path], used: Mapping[Path, datetime | None]
    ) -> Iterator[Path]:
        """Sort oldest first; sessions of unknown age come last."""
        end = datetime.max.replace(tzinfo=UTC)
        for path in sorted(paths, key=lambda one: (used[one] or end, one.name)):
            if self._may_go(path):
                yield path

    def _may_go(self, path: Path) -> bool:
        folder = path.parent
        if folder not in self._waiting:
            self._waiting[folder] = self._pending(folder)
        waiting = self._waiting[folder]
        return waiting is not None and path.name not in waiting

    def _gone(
        self,
        gone: Gone,
        path: Path,
        used: datetime | None,
        record: SweepRecord,
        why: Why,
    ) -> Gone:
        """Delete one session and add it to ``gone``, if possible."""
        planned = msgspec.structs.replace(
            gone,
            sessions=(*gone.sessions, path.name),
            n_for_room=gone.n_for_room + (why == "size"),
        )
        # The deletion is recorded in advance, so that the user is informed even if the process is
        # killed.
        self._note(msgspec.structs.replace(record, gone=_latest(record, planned)))
        before_b = size_b(path)
        try:
            is_gone = delete_unless(path, lambda: self._used(path) != used)
        except SessionError as error:
            _logger.info("an old session stays: %s", error)
            return gone
        if not is_gone:
            return gone
        return msgspec.structs.replace(planned, freed_b=gone.freed_b + before_b - size_b(path))

    def _copy_gone(self, gone: Gone, path: Path) -> Gone:
        before_b = size_b(path)
        try:
            is_gone = remove_own(path)
        except OSError as error:
            _logger.info("an old copy stays: %s", error)
            return gone
        n_copies = gone.n_copies + is_gone
        freed_b = gone.freed_b + (before_b if is_gone else 0)
        return msgspec.structs.replace(gone, n_copies=n_copies, freed_b=freed_b)

    def _note(self, record: SweepRecord) -> None:
        """Write the record; a full disk must not prevent deletions that free space."""
        try:
            _write(self._state, record)
        except OSError as error:
            _logger.warning("the record of deletions cannot be written: %s", error)

    def _is_old(self, used: datetime | None) -> bool:
        days = self._limits.keep_days
        return days is not None and used is not None and used < self._now - timedelta(days=days)

    def _used(self, path: Path) -> datetime | None:
        """Return when a session was last used: the later of the times in its log and its id.

        The result is None if the date is in the future, or before Indwell existed.
        """
        times = (began(path.name), datetime.fromtimestamp(used_s(path), UTC))
        return max((one for one in times if one and self._is_likely(one)), default=None)

    def _written(self, path: Path) -> datetime | None:
        written = datetime.fromtimestamp(modified_s(path), UTC)
        return written if self._is_likely(written) else None

    def _is_likely(self, moment: datetime) -> bool:
        return FIRST <= moment <= self._now + timedelta(minutes=1)


def _copies(state: Path) -> tuple[Path, ...]:
    """Return the copies of the user's files, which only this module removes."""
    folder = state / COPIES
    with suppress(OSError):
        paths = (folder / name for name in list_names(folder) if name.endswith(".old"))
        return tuple(path for path in paths if path.is_file() and not path.is_symlink())
    return ()


def _latest(record: SweepRecord, gone: Gone | None) -> tuple[Gone, ...]:
    return (*record.gone, *((gone,) if gone else ()))[-MOST_ENTRIES:]


def _moment(text: str) -> datetime | None:
    with suppress(ValueError, TypeError):
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _read(state: Path) -> SweepRecord:
    """Read the record; an invalid record counts as missing.

    Raises:
        NewerVersion: A newer Indwell wrote the record, so only that version deletes sessions.
    """
    try:
        data = read_own(state / FOLDER / "record.json", _RECORD_B)
        return FORM.decode(data, quoted(state / FOLDER))
    except (OSError, ToolError, msgspec.MsgspecError):
        return SweepRecord()


def _write(state: Path, record: SweepRecord) -> None:
    make_private_folder(state / FOLDER)
    replace_durable(state / FOLDER / "record.json", FORM.encode(record))
