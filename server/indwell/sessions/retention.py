"""The end of sessions: which are kept on this machine, and how they are deleted.

Only whole sessions go, and never one that is open: its writer's lock is taken first. Everything
here blocks; on the event loop it is called through a thread.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from indwell.errors import SessionError
from indwell.files.append_log import AppendLog, list_names, read_bytes_private
from indwell.files.listing import modified_s
from indwell.files.removing import remove_own_tree, size_b
from indwell.sessions import lines
from indwell.sessions.ids import check_id, is_id
from indwell.sessions.overview import Overview, overview

_LOG = "log.jsonl"
_logger = logging.getLogger(__name__)


class Stored(msgspec.Struct, frozen=True):
    """A session that lies on this machine.

    Attributes:
        id: Its name.
        workspace: The folder it was for; empty if its log does not say.
        used: When it was last written to, ISO 8601 in UTC.
        size_b: Bytes of all its files.
        overview: What a list shows of it.
    """

    id: str
    workspace: str
    used: str
    size_b: int
    overview: Overview


def stored(state: Path, *, folder: str | None = None) -> tuple[Stored, ...]:
    """All sessions of the state folder, newest first; of one workspace if ``folder`` names it.

    Raises:
        SessionError: The state folder cannot be listed.
    """
    found = [_stored(path) for path in _session_paths(state) if folder in {None, path.parent.name}]
    return tuple(sorted(found, key=lambda one: one.id, reverse=True))


def session_ids(state: Path) -> tuple[str, ...]:
    """The names of all sessions, of whatever workspace.

    Raises:
        SessionError: The state folder cannot be listed.
    """
    return tuple(path.name for path in _session_paths(state))


def delete(state: Path, session: str) -> None:
    """Delete one session, of whatever workspace.

    Raises:
        SessionError: There is none of that id, it is open, or the system refuses.
    """
    check_id(session)
    paths = [path for path in _session_paths(state) if path.name == session]
    if not paths:
        raise SessionError(f"there is no session {session!r}; `indwell sessions --all` lists them")
    for path in paths:
        _delete(path)


def sweep(state: Path, *, keep_days: int, now: datetime) -> tuple[str, ...]:
    """Delete the sessions that were last written to over ``keep_days`` ago; gives their ids.

    One that cannot be deleted, because it is open or the system refuses, stays for the next sweep.
    """
    limit_s = (now - timedelta(days=keep_days)).timestamp()
    gone = []
    try:
        old = [path for path in _session_paths(state) if modified_s(path / _LOG) < limit_s]
    except SessionError as error:
        _logger.warning("old sessions stay: %s", error)
        return ()
    for path in old:
        try:
            _delete(path)
        except SessionError as error:
            _logger.info("an old session stays: %s", error)
        else:
            gone.append(path.name)
    return tuple(gone)


def _session_paths(state: Path) -> list[Path]:
    """The folders of all sessions; names that are no ids are none of ours."""
    top = state / "sessions"
    try:
        return [
            top / workspace / name
            for workspace in list_names(top)
            if (top / workspace).is_dir() and not (top / workspace).is_symlink()
            for name in list_names(top / workspace)
            if is_id(name) and not (top / workspace / name).is_symlink()
        ]
    except OSError as error:
        raise SessionError(
            f"the sessions cannot be listed ({error.strerror}); check {str(top)!r}"
        ) from error


def _stored(path: Path) -> Stored:
    try:
        reading = lines.decode(read_bytes_private(path / _LOG))
    except OSError as error:
        reading = lines.Reading((), (f"its log cannot be read ({error.strerror})",))
    workspace = next((one.workspace for one in reading.records if hasattr(one, "workspace")), "")
    used = datetime.fromtimestamp(modified_s(path / _LOG), UTC)
    return Stored(
        id=path.name,
        workspace=workspace,
        used=used.isoformat(timespec="seconds"),
        size_b=size_b(path),
        overview=overview(path.name, reading),
    )


def _delete(path: Path) -> None:
    try:
        log = AppendLog(path / _LOG) if (path / _LOG).exists() else None
    except BlockingIOError as error:
        raise SessionError(f"session {path.name!r} is open in an editor; close it first") from error
    except OSError:
        log = None  # no log that anybody could be writing to
    try:
        remove_own_tree(path)
    except OSError as error:
        raise SessionError(
            f"session {path.name!r} cannot be deleted ({error.strerror}); check {str(path)!r}"
        ) from error
    finally:
        if log is not None:
            log.close()
