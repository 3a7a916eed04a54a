"""Lists the sessions of this machine, and deletes them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell.errors import SessionError, SessionOpen, UnknownSession
from indwell.files.append_log import AppendLog, list_names
from indwell.files.listing import exists, modified_s
from indwell.files.private import remove_own, remove_own_tree, rename_own, size_b
from indwell.files.spelling import quoted
from indwell.sessions.ids import check_id, is_id
from indwell.sessions.overview import Overview
from indwell.sessions.storage.store import AGENTS, NAME, READERS, overview_of

_LOG = "log.jsonl"
_DELETED = ".deleted-"  # A session's folder has this prefix while it is being deleted.
_logger = logging.getLogger(__name__)


class Stored(msgspec.Struct, frozen=True):
    """A session on this machine.

    Attributes:
        id: The session's id.
        workspace: The session's workspace folder, or empty if the log does not name it.
        used: The time of the last write, ISO 8601 in UTC.
        size_b: The size of all files of the session.
        overview: The summary for lists.
    """

    id: str
    workspace: str
    used: str
    size_b: int
    overview: Overview


def stored(
    state: Path, *, folder: str | None = None, limit: int | None = None
) -> tuple[Stored, ...]:
    """Return the sessions in the state folder, newest first.

    Args:
        state: The state folder.
        folder: The folder name of a workspace, to return only the sessions of that workspace.
        limit: Number of sessions to read.

    Raises:
        SessionError: The state folder cannot be listed.
    """
    paths = sorted(session_paths(state, folder), key=lambda path: path.name, reverse=True)
    return tuple(_stored(path) for path in paths[:limit])


def session_ids(state: Path, *, folder: str | None = None) -> tuple[str, ...]:
    """Return all session ids, of every workspace or of one workspace.

    Raises:
        SessionError: The state folder cannot be listed.
    """
    return tuple(path.name for path in session_paths(state, folder))


def logs(
    state: Path, *, folder: str | None = None, used_after_s: float = 0.0
) -> tuple[tuple[str, Path], ...]:
    """Return id and log path of each session, newest first; skip sessions not used recently.

    Args:
        state: The state folder.
        folder: See ``stored``.
        used_after_s: Only return sessions written to after this time, in seconds since 1970.

    Raises:
        SessionError: The state folder cannot be listed.
    """
    paths = sorted(session_paths(state, folder), key=lambda path: path.name, reverse=True)
    return tuple((path.name, path / _LOG) for path in paths if used_s(path) >= used_after_s)


def delete(state: Path, session: str) -> None:
    """Delete one session, of any workspace.

    Raises:
        SessionError: The session does not exist or is open, or the system refuses.
    """
    check_id(session)
    paths = [path for path in session_paths(state) if path.name == session]
    if not paths:
        raise UnknownSession(
            f"there is no session {session!r}; `indwell sessions --all` lists them"
        )
    for path in paths:
        delete_unless(path, lambda: False)
        remove_unread(path.parent)


def session_paths(state: Path, folder: str | None = None) -> list[Path]:
    """Return the folders of all sessions; names that are not ids are skipped.

    Raises:
        SessionError: The state folder cannot be listed.
    """
    try:
        return [
            path
            for path in _all_paths(state)
            if is_id(path.name)
            and folder in {None, path.parent.name}
            and not path.is_symlink()
            and not _is_rest(path)
        ]
    except OSError as error:
        raise SessionError(
            f"the sessions cannot be listed ({error.strerror}); check {quoted(state / 'sessions')}"
        ) from error


def _all_paths(state: Path) -> list[Path]:
    """Return all entries of the workspaces' folders."""
    top = state / "sessions"
    return [
        top / workspace / name
        for workspace in list_names(top)
        if (top / workspace).is_dir() and not (top / workspace).is_symlink()
        for name in list_names(top / workspace)
    ]


def _is_rest(path: Path) -> bool:
    """Return whether a folder is what remains of a deleted session, because forks need it."""
    return not exists(path / _LOG) and exists(path / READERS)


def _is_read(path: Path) -> bool:
    """Return whether an existing fork refers to texts of this session."""
    readers = list_names(path / READERS) if exists(path / READERS) else ()
    return any(is_id(name) and exists(path.parent / name / _LOG) for name in readers)


def remove_unread(folder: Path) -> None:
    """Remove the remains of a workspace's deleted sessions that no fork needs."""
    try:
        for name in list_names(folder):
            path = folder / name
            if is_id(name) and not path.is_symlink() and _is_rest(path) and not _is_read(path):
                remove_own_tree(rename_own(path, _DELETED + name))
    except OSError as error:
        _logger.warning("long texts that are no longer needed could not be removed: %s", error)


def remove_leftovers(state: Path) -> None:
    """Finish deletions that a killed process did not finish."""
    for path in _all_paths(state):
        if path.name.startswith(_DELETED) and is_id(path.name.removeprefix(_DELETED)):
            remove_own_tree(path)


def used_s(path: Path) -> float:
    """Return the time of the last write to a session; a session without a log may be starting."""
    log = path / _LOG
    return modified_s(log if exists(log) else path)


def _stored(path: Path) -> Stored:
    try:
        seen = overview_of(path.name, path / _LOG)
    except OSError as error:
        seen = Overview(path.name, notices=(f"its log cannot be read ({error.strerror})",))
    used = datetime.fromtimestamp(used_s(path), UTC)
    return Stored(
        id=path.name,
        workspace=seen.workspace,
        used=used.isoformat(timespec="seconds"),
        size_b=size_b(path),
        overview=seen,
    )


def delete_unless(path: Path, is_changed: Callable[[], bool]) -> bool:
    """Delete a session unless it changed; True if this call deleted the session.

    Args:
        path: The session's folder.
        is_changed: A function that is called when no other process can write to the session.

    Raises:
        SessionError: The session is open, or the system refuses.
    """
    try:
        log = AppendLog(path / _LOG) if (path / _LOG).exists() else None
    except BlockingIOError as error:
        raise SessionOpen(f"session {path.name!r} is open in an editor; close it first") from error
    except OSError:
        log = None  # Without a log, no process can write to the session.
    try:
        if is_changed():
            return False
        if _is_read(path):
            remove_own_tree(path / AGENTS)
            remove_own(path / NAME)
            remove_own(path / _LOG)
        else:
            if log is not None:
                log.let_move()
            remove_own_tree(rename_own(path, _DELETED + path.name))
    except OSError as error:
        raise SessionError(
            f"session {path.name!r} cannot be deleted ({error.strerror}); check {quoted(path)}"
        ) from error
    finally:
        if log is not None:
            log.close()
    return True
