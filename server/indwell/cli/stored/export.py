"""``indwell sessions export``: writes past sessions as tables, in Parquet or JSON lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from indwell.cli.stored.sessions import whole_id
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import one_line
from indwell.errors import SessionError, UnknownSession, UserError
from indwell.files.append_log import make_private_folder, pieces_of
from indwell.files.listing import exists
from indwell.files.private import write_once
from indwell.review.store import verdicts_in
from indwell.secrets import Secrecy
from indwell.service.sessions.session_tables import (
    TABLES,
    Row,
    TableFormat,
    TableName,
    check_format,
    columns_of,
    encoded_table,
    read_log,
    session_rows,
    verdict_rows,
)
from indwell.service.user_settings import read_settings
from indwell.sessions.records import SessionStarted
from indwell.sessions.storage.retention import logs, session_ids
from indwell.sessions.storage.store import REVIEW_FOLDER, folder_name
from indwell.settings.paths import state_folder


def export_sessions(
    ids: Sequence[str],
    folder: Path,
    form: TableFormat,
    *,
    all_folders: bool,
    with_contents: bool,
    as_json: bool,
) -> int:
    """Write a file for each table into ``folder``; return 0.

    Args:
        ids: Ids of sessions, or unique beginnings of ids; empty for all sessions.
        folder: The folder of the files; created if missing.
        form: The format of the files.
        all_folders: Whether to include the sessions of all folders, not only of this folder.
        with_contents: Whether to include prompts, answers, arguments, results and diffs.
        as_json: Whether to print JSON.

    Raises:
        UserError: The format cannot be written, a file exists, or the sessions cannot be read.
    """
    check_format(form)
    paths = {table: folder / f"{table}.{form}" for table in TABLES}
    if taken := next(filter(exists, paths.values()), None):
        raise UserError(f"{str(taken)!r} exists; name a folder without an earlier export")
    settings = read_settings(os.environ).settings
    hide = Secrecy(lambda: settings, (), os.environ).hide
    tables, notices = _tables(
        _chosen(ids, all_folders=all_folders or bool(ids)), with_contents=with_contents
    )
    n_rows: dict[TableName, int] = {}
    for table, rows in tables.items():
        columns = columns_of(table, with_contents=with_contents)
        _write(paths[table], encoded_table(rows, columns, form, hide))
        n_rows[table] = len(rows)
    for notice in notices:
        tell(one_line(notice), file=sys.stderr)
    if as_json:
        sys.stdout.write(json_line({"folder": str(folder), "rows": n_rows}) + "\n")
    else:
        for table, path in paths.items():
            print(f"{n_rows[table]:,}\t{one_line(str(path))}")
    return 0


def _chosen(ids: Sequence[str], *, all_folders: bool) -> tuple[tuple[str, Path], ...]:
    """Return id and log of each session to export, oldest first.

    Raises:
        UserError: The state folder cannot be listed, or a session does not exist.
    """
    state = state_folder(os.environ)
    folder = None if all_folders else folder_name(Path.cwd().resolve())
    known = session_ids(state)
    wanted = {whole_id(one, known) for one in ids}
    if unknown := sorted(wanted.difference(known)):
        raise UnknownSession(
            f"there is no session {unknown[0]!r}; `indwell sessions --all` lists them"
        )
    found = logs(state, folder=folder)
    return tuple(reversed([one for one in found if not wanted or one[0] in wanted]))


def _tables(
    chosen: Sequence[tuple[str, Path]], *, with_contents: bool
) -> tuple[Mapping[TableName, list[Row]], Sequence[str]]:
    """Return the rows of all tables, and notices about unreadable parts."""
    tables: dict[TableName, list[Row]] = {table: [] for table in TABLES}
    notices: list[str] = []
    workspaces: dict[Path, tuple[Path, set[str]]] = {}
    for session, log in chosen:
        try:
            reading = read_log(pieces_of(log), with_contents=with_contents)
        except OSError as error:
            notices.append(f"{session}: the log cannot be read ({error.strerror})")
            continue
        notices += (f"{session}: {notice}" for notice in reading.notices)
        for table, rows in session_rows(session, reading.records).items():
            tables[table] += rows
        started = (one for one in reading.records if isinstance(one, SessionStarted))
        if (first := next(started, None)) is not None:
            place = workspaces.setdefault(log.parent.parent, (Path(first.workspace), set()))
            place[1].add(session)
    for folder, (workspace, sessions) in workspaces.items():
        verdicts = verdicts_in(folder / REVIEW_FOLDER)
        tables["verdicts"] += verdict_rows(verdicts, workspace, frozenset(sessions))
    return tables, notices


def _write(path: Path, data: bytes) -> None:
    """Write a new file.

    Raises:
        UserError: The file exists, or the system refuses.
    """
    try:
        make_private_folder(path.parent)
        if not write_once(path, data):
            raise UserError(f"{str(path)!r} exists; name a folder without an earlier export")
    except OSError as error:
        raise SessionError(f"{str(path)!r} cannot be written ({error.strerror})") from error
