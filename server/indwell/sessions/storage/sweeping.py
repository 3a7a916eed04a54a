"""Which sessions are deleted without being asked for: old ones, and the oldest of too many."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from indwell.errors import SessionError, ToolError
from indwell.files.append_log import list_names, make_private_folder
from indwell.files.listing import exists, modified_s
from indwell.files.locks import locked
from indwell.files.private import read_own, remove_own, replace_durable, size_b
from indwell.sessions.ids import began
from indwell.sessions.storage.retention import (
    delete_unless,
    remove_leftovers,
    remove_unread,
    session_paths,
    used_s,
)

FOLDER = "swept"  # of the state folder: the record of what was deleted, and the lock of a sweep
COPIES = "undo"  # of the state folder: copies of the user's files, ``<name>.old``
LEAP = timedelta(days=7)  # since the newest session: a longer gap may come from a wrong clock
CONFIRM = timedelta(days=1)  # for which a clock runs on after a leap, before it is believed
FIRST = datetime(2025, 1, 1, tzinfo=UTC)  # no session is older than Indwell
YOUNG = timedelta(days=1)  # copies that are never deleted because of their size
MOST_ENTRIES = 20  # of the record
_RECORD_B = 1 << 20
_logger = logging.getLogger(__name__)

Why: TypeAlias = Literal["age", "size"]
Pending: TypeAlias = Callable[[Path], Collection[str] | None]
"""Sessions with changes that wait for review, given a workspace's folder; None: nobody can say."""


class RetentionLimits(NamedTuple):
    """What may be kept.

    Attributes:
        keep_days: Days since a session was used; None for any number.
        most_b: Bytes of sessions and copies; 0 for any number.
    """

    keep_days: int | None = None
    most_b: int = 0


class Gone(msgspec.Struct, frozen=True):
    """What one sweep deleted.

    Attributes:
        at: When, ISO 8601 in UTC.
        sessions: Ids of those too old, then of those that made room.
        n_for_room: How many of them made room.
        n_copies: Copies of the user's files.
        freed_b: Bytes of all of it.
        is_told: The user has heard of it.
    """

    at: str
    sessions: tuple[str, ...] = ()
    n_for_room: int = 0
    n_copies: int = 0
    freed_b: int = 0
    is_told: bool = False


class SweepRecord(msgspec.Struct, frozen=True):
    """What is known from one sweep to the next.

    Attributes:
        doubted: Since when the clock is not believed; empty if it is.
        believed: When it was believed last.
        gone: What was deleted, oldest first.
    """

    doubted: str = ""
    believed: str = ""
    gone: tuple[Gone, ...] = ()


class _Due(NamedTuple):
    """What there is to do.

    Attributes:
        used: When each session was used last, None if nobody can know.
        old: Sessions that are too old.
        copies: Copies that are.
        over_b: Bytes that are too many.
    """

    used: Mapping[Path, datetime | None]
    old: Sequence[Path]
    copies: Sequence[Path]
    over_b: int


def sweep(
    state: Path, limits: RetentionLimits, *, now: datetime, pending: Pending, ours: str = ""
) -> Gone | None:
    """Delete what is too old or too much; gives what went, None if nothing did.

    Only one process sweeps at a time; another one finds nothing to do.

    Args:
        state: The state folder.
        limits: What may be kept.
        now: With its time zone.
        pending: Which sessions must stay.
        ours: The session of the caller: it stays, and proves nothing about the clock.
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
    except (SessionError, OSError) as error:
        _logger.warning("old sessions were not deleted: %s", error)
        return None


def record_of(state: Path) -> SweepRecord:
    """What is known of earlier sweeps; a session that is still there is left out."""
    record = _read(state)
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
    """What was deleted and nobody has told the user yet; each is given once."""
    untold = tuple(one for one in record_of(state).gone if not one.is_told)
    if untold:
        try:
            with locked(state / FOLDER / "lock", timeout_s=0):
                record = _read(state)
                told = (msgspec.structs.replace(one, is_told=True) for one in record.gone)
                _write(state, msgspec.structs.replace(record, gone=tuple(told)))
        except OSError as error:  # a sweep is under way, or the disk is full: told once more
            _logger.info("the record of deleted sessions stays as it is: %s", error)
    return untold


def held_b(state: Path) -> int:
    """Bytes of all sessions and of the copies of the user's files."""
    return size_b(state / "sessions") + sum(size_b(path) for path in _copies(state))


def is_believed(
    record: SweepRecord, newest: datetime | None, now: datetime, keep_days: int | None
) -> tuple[bool, SweepRecord]:
    """May a clock that says ``now`` decide what is old? Also gives what to remember. Pure.

    Args:
        record: What is remembered.
        newest: When another session was used last; None if there is none.
        now: What the clock says.
        keep_days: A leap over more days than these is a leap, too.
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
        """What there is to do; None for nothing."""
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
        """Delete what must go, if the clock can be believed."""
        due = self.due()
        if due is None:  # another process was faster
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
        """The oldest first; those of which nobody knows how old they are come last."""
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
        """``gone`` with one session more, if it could be deleted."""
        planned = msgspec.structs.replace(
            gone,
            sessions=(*gone.sessions, path.name),
            n_for_room=gone.n_for_room + (why == "size"),
        )
        # Before it goes: after a kill in the middle the user still hears of it.
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
        """Write the record; a full disk does not keep what makes room from going."""
        try:
            _write(self._state, record)
        except OSError as error:
            _logger.warning("what is deleted cannot be written down: %s", error)

    def _is_old(self, used: datetime | None) -> bool:
        days = self._limits.keep_days
        return days is not None and used is not None and used < self._now - timedelta(days=days)

    def _used(self, path: Path) -> datetime | None:
        """When a session was used last: the later of its log's time and its name's.

        None if nobody can know: it is dated before there was an Indwell, or in the future.
        """
        times = (began(path.name), datetime.fromtimestamp(used_s(path), UTC))
        return max((one for one in times if one and self._is_likely(one)), default=None)

    def _written(self, path: Path) -> datetime | None:
        written = datetime.fromtimestamp(modified_s(path), UTC)
        return written if self._is_likely(written) else None

    def _is_likely(self, moment: datetime) -> bool:
        return FIRST <= moment <= self._now + timedelta(minutes=1)


def _copies(state: Path) -> tuple[Path, ...]:
    """Copies of the user's files that nothing removes but a sweep."""
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
    """The record; a broken one is as good as none."""
    try:
        data = read_own(state / FOLDER / "record.json", _RECORD_B)
        return msgspec.json.decode(data, type=SweepRecord)
    except (OSError, ToolError, msgspec.MsgspecError):
        return SweepRecord()


def _write(state: Path, record: SweepRecord) -> None:
    make_private_folder(state / FOLDER)
    replace_durable(state / FOLDER / "record.json", msgspec.json.encode(record))
