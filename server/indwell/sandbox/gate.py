"""Blocks all commands while a file that a command planted still exists."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.append_log import list_names, make_private_folder
from indwell.files.private import read_own, remove_own, write_durable
from indwell.files.quarantine import NotRemoved, Quarantine, error_reason, named
from indwell.files.spelling import quoted
from indwell.prepared_types import prepared

MOST_NOTES = 20  # A command can plant thousands of files, and a user reads few notes.
_MOST_LOGGED = 5


def shorten_notes(notes: Sequence[str], where: str = "") -> tuple[str, ...]:
    """Shorten a list of notes to the first notes and the number of the rest.

    Args:
        notes: All sentences.
        where: The quarantine folder with the moved files.
    """
    if len(notes) <= MOST_NOTES:
        return tuple(notes)
    more = f"and {len(notes) - MOST_NOTES:,} more of this kind"
    if where:
        more += f"; what was moved away is in {where!r}"
    return (*notes[:MOST_NOTES], more)


class RunningCommandWatch:
    """A command that keeps running, and the notes about it.

    Args:
        look: Moves away the files planted so far, and returns a sentence for each file; blocks.
        hear: Called once with each of these sentences.
    """

    def __init__(self, look: Callable[[], Sequence[str]], hear: Callable[[str], None]) -> None:
        self._look = look
        self._hear = hear
        self._looking = asyncio.Lock()
        self._said: dict[str, None] = {}

    async def look(self) -> None:
        """Move away the files that the command has planted so far."""
        async with self._looking:
            notes = await asyncio.to_thread(self._look)
        self.heard(notes)

    def heard(self, notes: Sequence[str]) -> None:
        """Report notes about files that were already moved away."""
        for note in notes:
            if note in self._said:
                continue
            self._said[note] = None
            if len(self._said) <= MOST_NOTES:
                self._hear(note)
            if len(self._said) <= _MOST_LOGGED:
                log.warning("%s", note)

    def said_with(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Return and log all notes about the command; ``notes`` about its end come first."""
        every = tuple(dict.fromkeys((*notes, *self._said)))
        n_logged = min(len(self._said), _MOST_LOGGED)
        new = [one for one in notes if one not in self._said][: _MOST_LOGGED - n_logged]
        for one in new:
            log.warning("%s", one)
        if n_more := len(every) - n_logged - len(new):
            log.warning("and %s more of this kind", f"{n_more:,}")
        return every


_running: list[RunningCommandWatch] = []


@contextmanager
def watch_command(one: RunningCommandWatch) -> Iterator[None]:
    """Register a running command for ``check_running_commands`` within the block."""
    _running.append(one)
    try:
        yield
    finally:
        _running.remove(one)


async def check_running_commands() -> None:
    """Move away files that running commands planted, before another program loads them."""
    for one in tuple(_running):
        await one.look()


log = logging.getLogger(__name__)

_RECORD_LIMIT_B = 1 << 16
_MOST_NAMED = 5
_RECORDS, _ENDING = "standing", ".json"


class StandingPlant(msgspec.Struct, frozen=True):
    """A planted file or folder that could not be removed.

    Attributes:
        root: The workspace folder.
        at: The path relative to ``root``.
        safe_name: The file's name after it is moved away, or empty for a folder that cannot be
            read.
        why: The reason why the file could not be moved.
        mark: The file's identity, by which another file at the same path is recognised.
        record: A state file that is unreadable, or that demands a check.
        is_unseen: Whether a command of another process ran in ``root``, and its files were not
            checked.
    """

    root: str
    at: str
    safe_name: str
    why: str
    mark: tuple[int, ...] = ()
    record: str = ""
    is_unseen: bool = False

    @property
    def path(self) -> str:
        """The complete path of the file."""
        return f"{self.root}/{self.at}" if self.at else self.root

    @property
    def words(self) -> str:
        """Describe the file and its position, as a clause."""
        if self.is_unseen:
            return (
                f"the files that a command created in {self.root!r} could not be checked "
                f"({self.why}), and the Indwell that ran it has not checked them since; look for "
                "new files there that programs load (`git status --ignored` names new files), "
                f"then delete the note {self.record!r}"
            )
        if self.record:
            return (
                f"the note {self.record!r} says what it is and where, but cannot be read "
                f"({self.why}); look into that file, remove what it names, then delete the file"
            )
        if not self.safe_name:
            return f"{named(self.path)} cannot be read ({self.why})"
        return f"{named(self.path)} could not be moved away ({self.why})"


class _Unsettled(msgspec.Struct, frozen=True):
    """A command whose files could not be checked.

    Attributes:
        folders: The folders that the command could write to.
        settle: A function that scans the folders and moves away planted files.
        records: The state files that inform other processes.
    """

    folders: tuple[str, ...]
    settle: Callable[[], Sequence[str]]
    records: tuple[str, ...] = ()


class Gate:
    """All reasons to block commands, from this process and from earlier processes."""

    def __init__(self) -> None:
        self._quarantines: dict[Path | None, Quarantine] = {}
        self._standing: dict[str, tuple[StandingPlant, Quarantine]] = {}
        self._untold: list[tuple[Path, str]] = []
        self._unsettled: list[_Unsettled] = []
        self._trying = threading.RLock()

    def heed(self, quarantine: Quarantine) -> None:
        """Use the records of earlier processes in ``quarantine``; the records are read later."""
        self._quarantines.setdefault(quarantine.folder, quarantine)

    def close(self, standing: StandingPlant, quarantine: Quarantine) -> None:
        """Block commands until this planted file is gone; blocks on disk."""
        marked = msgspec.structs.replace(standing, mark=_mark(standing.path) or ())
        self._standing[marked.path] = (marked, quarantine)
        self.heed(quarantine)
        if quarantine.folder is not None:
            _write(_record(quarantine.folder, marked.path), marked)

    def close_until_settled(
        self,
        folders: Sequence[str],
        settle: Callable[[], Sequence[str]],
        reason: str,
        quarantine: Quarantine | None = None,
    ) -> str:
        """Block commands until the files of a command are checked; blocks on disk.

        Args:
            folders: The folders that the command could write to.
            settle: Scans the folders and moves away planted files.
            reason: The reason why the check failed.
            quarantine: The folder with the record for later processes.

        Returns:
            The sentence for the user.
        """
        records: list[str] = []
        if quarantine is not None and quarantine.folder is not None:
            self.heed(quarantine)
            for root in folders:
                # Several commands in this folder may await a check, so the name is unique.
                record = _record(quarantine.folder, f"{root}\0{secrets.token_hex()}")
                records.append(str(record))
                _write(record, StandingPlant(root, "", "", reason, is_unseen=True))
        self._unsettled.append(_Unsettled(tuple(folders), settle, tuple(records)))
        return (
            f"the files that the command created could not be checked ({reason}); no command runs "
            "here until they are checked, which is tried again each time; tell the user"
        )

    def open_again(self, folders: Sequence[Path]) -> tuple[StandingPlant, ...]:
        """Try again to remove everything; return what remains in ``folders``; blocks."""
        with self._trying:
            return (*self._settled(folders), *self._taken(folders))

    def _settled(self, folders: Sequence[Path]) -> list[StandingPlant]:
        found: list[StandingPlant] = []
        for one in tuple(self._unsettled):
            waiting = [StandingPlant(root, "", "", "") for root in one.folders]
            concerned = [each for each in waiting if _concerns(each, folders)]
            if not concerned:
                continue
            try:
                notes = one.settle()
            except Exception as error:  # Any failure means that nothing was checked.
                log.warning("the check for planted files failed again", exc_info=error)
                found.append(msgspec.structs.replace(concerned[0], why=error_reason(error)))
                continue
            self._unsettled.remove(one)
            for record in one.records:
                with contextlib.suppress(OSError):
                    remove_own(Path(record))
            self.keep_untold(Path(concerned[0].root), shorten_notes(notes))
        return found

    def _taken(self, folders: Sequence[Path]) -> tuple[StandingPlant, ...]:
        unread = self._read(folders)
        moved: dict[str, list[str]] = {}
        for standing, quarantine in tuple(self._standing.values()):
            if not _concerns(standing, folders):
                continue
            now = _tried(standing, quarantine)
            if now == standing:
                continue
            del self._standing[standing.path]
            self._forget(standing)
            match now:
                case StandingPlant():
                    self.close(now, quarantine)
                case Path():
                    said = (
                        f"{named(standing.path)} was moved out of the workspace, to {quoted(now)}"
                    )
                    moved.setdefault(standing.root, []).append(said)
        for root, notes in moved.items():
            self.keep_untold(Path(root), shorten_notes(notes))
        left = (one for one, _ in self._standing.values() if _concerns(one, folders))
        return (*left, *unread)

    def keep_untold(self, folder: Path, notes: Sequence[str]) -> None:
        """Keep notes about a command whose caller was cancelled."""
        self._untold += [(folder, note) for note in notes]

    def take_untold(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """Return, once, the unreported notes about commands that ran in these folders."""
        told = [one for one in self._untold if any(map(one[0].is_relative_to, folders))]
        self._untold = [one for one in self._untold if one not in told]
        return tuple(note for _, note in told)

    def _read(self, folders: Sequence[Path]) -> list[StandingPlant]:
        """Read the recorded planted files; return unreadable records, whose files are unknown.

        An unreadable record may concern any folder.
        """
        own = {record for one in self._unsettled for record in one.records}
        unknown: list[StandingPlant] = []
        for folder, quarantine in tuple(self._quarantines.items()):  # another thread may add one
            for one in _written(folder) if folder is not None else ():
                if one.is_unseen:
                    if one.record not in own and _concerns(one, folders):
                        unknown.append(one)
                elif one.record:
                    unknown.append(one)
                else:
                    self._standing.setdefault(one.path, (one, quarantine))
        return unknown

    def _forget(self, standing: StandingPlant) -> None:
        for folder in tuple(self._quarantines):
            if folder is not None:
                with contextlib.suppress(OSError):
                    remove_own(_record(folder, standing.path))


_gate = Gate()
heed = _gate.heed
close = _gate.close
close_until_settled = _gate.close_until_settled
keep_untold = _gate.keep_untold
take_untold = _gate.take_untold


async def remaining_plants(folders: Iterable[Path]) -> tuple[StandingPlant, ...]:
    """Try again to remove everything, and return what still blocks commands in these folders."""
    given = tuple(folders)
    return await asyncio.to_thread(_gate.open_again, given)


async def pass_gate(folders: Iterable[Path]) -> None:
    """Check that a command that involves these folders may run.

    Raises:
        ToolError: A planted file still exists.
    """
    if standing := await remaining_plants(folders):
        raise ToolError(f"nothing was run: {blocked_message(standing)}")


def blocked_message(standing: Sequence[StandingPlant]) -> str:
    """Explain what blocks commands, and what the user can do."""
    named = "; ".join(one.words for one in standing[:_MOST_NAMED])
    more = f"; and {len(standing) - _MOST_NAMED} more" if len(standing) > _MOST_NAMED else ""
    return (
        "an earlier command created files that other programs load on their own, or may have "
        f"created some: {named}{more}. No command runs here until they are gone. Tell the user, "
        "who can look at them and remove them, or move them out of the workspace"
    )


def _concerns(standing: StandingPlant, folders: Sequence[Path]) -> bool:
    root = Path(standing.root)
    return any(one.is_relative_to(root) or root.is_relative_to(one) for one in folders)


def _tried(standing: StandingPlant, quarantine: Quarantine) -> StandingPlant | Path | None:
    """Try to move a planted file; return the new path, None if it is gone, or the record."""
    if not standing.safe_name:
        is_over = os.access(standing.path, os.R_OK | os.X_OK) or _is_gone(standing.path)
        return None if is_over else standing
    now = _mark(standing.path)
    if now is None:
        return standing
    if not now or (standing.mark and now != standing.mark and not _running):
        return None  # The file is gone, or the user replaced it, because no command runs.
    try:
        where = quarantine.take(Path(standing.root), standing.at, standing.safe_name)
    except Exception as error:  # Any failure leaves the file at its path.
        # The gate informs the user.
        log.info("%r could not be moved", standing.path, exc_info=error)
        return standing
    if isinstance(where, NotRemoved):
        if where.at == standing.at:
            return standing
        return msgspec.structs.replace(standing, at=where.at, why=where.why)
    return where


def _is_gone(path: str) -> bool:
    return _mark(path) == ()


def _mark(path: str) -> tuple[int, ...] | None:
    """Return the identity of the file at a path: empty if there is no file, and None if unknown."""
    try:
        now = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - may hold any character
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError:
        return None
    return (now.st_dev, now.st_ino)


def _record(folder: Path, name: str) -> Path:
    digest = hashlib.blake2b(os.fsencode(name), digest_size=16).hexdigest()
    return folder / _RECORDS / f"{digest}{_ENDING}"


def _write(record: Path, standing: StandingPlant) -> None:
    """Write a record as JSON; msgspec is unsuitable, because names need not be UTF-8."""
    try:
        make_private_folder(record.parent)
        with contextlib.suppress(FileExistsError):
            write_durable(record, json.dumps(msgspec.to_builtins(standing)).encode())
    except OSError:  # Without a record, commands are blocked only until this process ends.
        _say_unwritten(str(record.parent))


@functools.cache
def _say_unwritten(folder: str) -> None:
    log.warning(
        "nothing could be written to %r; the block on commands is forgotten when Indwell ends",
        folder,
    )


def _written(folder: Path) -> Iterator[StandingPlant]:
    """Yield all records in a folder; an unreadable record counts as a planted file."""
    records = folder / _RECORDS
    try:
        names = list_names(records)
    except NotADirectoryError:  # The state folder is not a folder, so nothing was ever recorded.
        return
    except OSError as error:
        yield _unread(records, error)
        return
    for name in names:
        if not name.endswith(_ENDING):  # Another process is writing this record.
            continue
        try:
            data = json.loads(read_own(records / name, _RECORD_LIMIT_B))
            one = msgspec.convert(data, prepared(StandingPlant))
            record = str(records / name) if one.is_unseen else ""
            yield msgspec.structs.replace(one, record=record)
        except FileNotFoundError:  # Another process has just removed this record.
            continue
        except Exception as error:  # noqa: BLE001 - any failure leaves its content unknown
            yield _unread(records / name, error)


def _unread(record: Path, error: Exception) -> StandingPlant:
    is_damaged = isinstance(error, msgspec.MsgspecError | ValueError | RecursionError)
    reason = "it is damaged" if is_damaged else error_reason(error)
    return StandingPlant("", "", "", reason, record=str(record))
