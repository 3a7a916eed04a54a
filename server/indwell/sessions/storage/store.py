"""Sessions on disk: a private folder for each workspace, with a folder for each session."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell import __version__, edges
from indwell.errors import SessionError, SessionOpen, ToolError, UnknownSession
from indwell.files.append_log import AppendLog, list_names, make_private_folder, pieces_of
from indwell.files.listing import exists, state_of
from indwell.files.private import read_own, replace_own, write_private
from indwell.files.spelling import quoted
from indwell.prepared_types import prepared
from indwell.sessions import log_lines
from indwell.sessions.ids import RANDOM_B, check_id, closest, is_id, new_id, time_after
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview, scanned
from indwell.sessions.records import Repaired, SessionStarted
from indwell.sessions.storage.writer import LogWriter

AGENTS = "agents"  # A session's folder has this folder for the logs of sub-agents.
# A session's folder has this folder, which names the forks that need the session's long texts.
READERS = "readers"
_SLUG_CHARACTERS = 40


class SessionStore:
    """The sessions of one workspace.

    Args:
        state_folder: The platform's state folder, or ``INDWELL_STATE``.
        workspace: The first root of the workspace; resolved here.
    """

    def __init__(self, state_folder: Path, workspace: Path) -> None:
        self._workspace = workspace.resolve()
        self._folder = state_folder / "sessions" / folder_name(self._workspace)

    def create(
        self,
        *,
        model: str,
        now: datetime,
        random_bytes: bytes | None = None,
        readers_of: Sequence[str] = (),
    ) -> tuple[str, LogWriter]:
        """Create a session: its folder, and a writer with the first line queued.

        Args:
            model: The model, which the first line of the log names.
            now: The current time, with its time zone.
            random_bytes: Bytes for the id, random by default.
            readers_of: Sessions whose long texts the new session refers to; those texts are kept as
                long as this session.

        Raises:
            SessionError: The state folder cannot be written.
        """
        drawn = random_bytes or edges.current().random_bytes("session", RANDOM_B)
        session = new_id(time_after(self._newest(), now), drawn)
        path = self._log_path(session)
        if path.exists():
            raise SessionError(f"session {session!r} exists already; try again")
        try:
            for owner in readers_of:
                self._mark_reader(owner, session)
            # The log is created first, because a folder with a writer's lock does not count as a
            # leftover.
            log = AppendLog(path)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            make_private_folder(self.spill(session))
            writer = LogWriter(log)
        except OSError as error:
            log.close()
            raise self._unwritable(error) from error
        writer.append(
            SessionStarted(
                session=session,
                workspace=str(self._workspace),
                model=model,
                at=timestamp(now),
                format=log_lines.FORMAT,
            )
        )
        return session, writer

    def open(self, session: str) -> LogReading:
        """Read a session without changing anything.

        Raises:
            SessionError: The id is invalid, or the session does not exist here or cannot be read.
        """
        log = self._log_path(check_id(session))
        try:
            return log_lines.read(pieces_of(log))
        except FileNotFoundError as error:
            raise self._missing(session) from error
        except OSError as error:
            raise _unreadable(session, log, error) from error

    def overview(self, session: str) -> Overview:
        """Summarize a session for a list, without reading the whole conversation.

        Raises:
            SessionError: See ``open``.
        """
        log = self._log_path(check_id(session))
        try:
            return overview_of(session, log)
        except FileNotFoundError as error:
            raise self._missing(session) from error
        except OSError as error:
            raise _unreadable(session, log, error) from error

    def scan(self, session: str) -> LogReading:
        """Read the short records of a session: all except the conversation.

        Raises:
            SessionError: See ``open``.
        """
        log = self._log_path(check_id(session))
        try:
            return log_lines.read(pieces_of(log), passing=log_lines.BULKY)
        except FileNotFoundError as error:
            raise self._missing(session) from error
        except OSError as error:
            raise _unreadable(session, log, error) from error

    def check(self, session: str) -> None:
        """Check that a session exists in this workspace.

        Raises:
        SessionError: No session has this id; the message suggests a similar id.
        """
        if not exists(self._log_path(check_id(session))):
            raise self._missing(session)

    def is_open(self, session: str) -> bool:
        """Return whether another process has this session open, as far as the system knows."""
        path = self._log_path(check_id(session))
        if not exists(path):
            return False
        try:
            AppendLog(path).close()
        except BlockingIOError:
            return True
        except OSError:  # The file is not writable, so the answer is unknown.
            return False
        return False

    def resume(self, session: str, *, now: datetime) -> tuple[LogReading, LogWriter]:
        """Read a session to continue it; no other process can write in between.

        New damage is reported in the notices and recorded as ``Repaired``.

        Raises:
            SessionOpen: Another Indwell has the session open.
            SessionError: See ``open``; also if a newer version wrote the log. The log stays
                unchanged.
        """
        self.check(session)
        try:
            log = AppendLog(self._log_path(session))
        except BlockingIOError as error:
            raise SessionOpen(
                f"session {session!r} is open in another editor; close it there, or begin a new "
                f"one (`indwell sessions show {session}` shows it)"
            ) from error
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            reading = self.open(session)
            _check_format(session, reading)
            make_private_folder(self.spill(session))
            writer = LogWriter(log)
        except OSError as error:
            log.close()
            raise self._unwritable(error) from error
        except BaseException:
            log.close()
            raise
        for sentence in reading.damage:
            writer.append(Repaired(what=sentence, at=timestamp(now)))
        return reading, writer

    def ids(self) -> tuple[str, ...]:
        """Return the sessions of this workspace, newest first.

        Raises:
            SessionError: The folder cannot be listed.
        """
        try:
            names = list_names(self._folder)
        except OSError as error:
            raise SessionError(
                f"the sessions cannot be listed ({error.strerror}); check {quoted(self._folder)}"
            ) from error
        return tuple(
            name for name in reversed(names) if is_id(name) and self._log_path(name).is_file()
        )

    def spill(self, session: str) -> Path:
        """Return the folder for texts of a session that were shortened for the model.

        Raises:
            SessionError: ``session`` is not a session id.
        """
        return self._folder / check_id(session) / "spill"

    def _mark_reader(self, owner: str, reader: str) -> None:
        """Record that ``reader`` refers to texts of ``owner``, if ``owner`` still exists."""
        folder = self._folder / check_id(owner)
        if folder.is_dir():
            make_private_folder(folder / READERS)
            write_private(folder / READERS / reader, b"")

    def _newest(self) -> str:
        """Return the newest session, or empty if there is none, or if listing sessions fails."""
        try:
            return next(iter(self.ids()), "")
        except SessionError:
            return ""

    def _missing(self, session: str) -> SessionError:
        try:
            near = closest(session, self.ids())
        except SessionError:
            near = ""
        like = f" (the closest is {near!r})" if near else ""
        return UnknownSession(
            f"there is no session {session!r} in this workspace{like}; `indwell sessions` lists "
            "them"
        )

    def _log_path(self, session: str) -> Path:
        return self._folder / session / "log.jsonl"

    def _unwritable(self, error: OSError) -> SessionError:
        return SessionError(
            f"sessions cannot be written in {quoted(self._folder)} ({error.strerror}); make the "
            "folder writable, or set INDWELL_STATE to one that is"
        )


def _unreadable(session: str, log: Path, error: OSError) -> SessionError:
    return SessionError(
        f"session {session!r} cannot be read ({error.strerror}); check {quoted(log)}"
    )


def _check_format(session: str, reading: LogReading) -> None:
    """Check that this version may write to the log."""
    newest = log_lines.newest_format(reading.records)
    if newest > log_lines.FORMAT:
        raise SessionError(
            f"session {session!r} was written by a newer Indwell (format {newest}, this one knows "
            f"{log_lines.FORMAT}); it can be read but not continued; update Indwell, or start a "
            "new session"
        )


def folder_name(workspace: Path) -> str:
    """Name a workspace's folder: readable, and different for different paths.

    Args:
        workspace: The absolute and resolved path, with any bytes that a path can have.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", workspace.name.lower()).strip("-")[:_SLUG_CHARACTERS]
    path_hash = hashlib.blake2b(os.fsencode(workspace), digest_size=8).hexdigest()
    return f"{slug.rstrip('-') or 'workspace'}-{path_hash}"


def timestamp(now: datetime) -> str:
    """Format a time for the log: ISO 8601, UTC, milliseconds."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds")


NAME = "overview.json"
# Increment this number if a code change alters the overview of the same log.
MADE_BY = f"{__version__}.1"
_MOST_B = 1 << 20
_logger = logging.getLogger(__name__)


class _LogFile(msgspec.Struct, frozen=True):
    """A cached overview.

    Attributes:
        made_by: The version of Indwell that wrote this entry.
        log: Times, size and inode of the log at the time of reading.
        overview: The overview of that log.
    """

    made_by: str
    log: tuple[int, int, int, int]
    overview: Overview


def overview_of(session: str, log: Path) -> Overview:
    """Return the overview of a session's log; reads the log only if it changed.

    Raises:
        OSError: The log does not exist, or cannot be read.
    """
    before = state_of(log)
    kept = _read(log.with_name(NAME))
    if kept is not None and before is not None and kept.log == before.seen:
        return kept.overview
    seen = scanned(session, pieces_of(log))
    if before is not None and state_of(log) == before:  # The log has not changed.
        _keep(log.with_name(NAME), _LogFile(MADE_BY, before.seen, seen))
    return seen


def _read(path: Path) -> _LogFile | None:
    try:
        kept = msgspec.json.decode(read_own(path, _MOST_B), type=prepared(_LogFile))
    except (OSError, ToolError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return kept if kept.made_by == MADE_BY else None


def _keep(path: Path, kept: _LogFile) -> None:
    try:
        replace_own(path, msgspec.json.encode(kept))
    except (OSError, UnicodeEncodeError) as error:  # The log is read again the next time.
        _logger.info("the overview of a session cannot be kept: %s", error)


REVIEW_FOLDER = "_review"  # The folder is beside the sessions; its name is not a valid session id.


def review_folder(state_folder: Path, workspace: Path) -> Path:
    """Return the folder of the review log; ``workspace`` is the workspace's first root."""
    return state_folder / "sessions" / folder_name(workspace.resolve()) / REVIEW_FOLDER
