"""Keeps the server's log, and a list of the editors that connected, for a bug report.

Both are small files in the state folder. A failed write is ignored, because a full disk must
not stop the server. All functions block.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, SettingsError, ToolError
from indwell.files.append_log import append_line, make_private_folder
from indwell.files.private import read_own, rename_own, replace_own
from indwell.lsp.wire.handshake import ClientIdentity
from indwell.settings.paths import server_log

EDITORS = "editors.json"
OLDER = "server.old.log"
LOG_B = 128_000  # A log with more bytes becomes the older log when a server starts.
EDITORS_KEPT = 5
_EDITORS_B = 1_000_000  # the limit of bytes for the file of editors


class KnownEditor(msgspec.Struct, frozen=True):
    """An editor that connected.

    Attributes:
        name: The editor's name, as it announced it.
        version: The editor's version, or empty if the editor sent none.
        at: The time of its last connection (ISO 8601, UTC).
        encoding: The code units of positions.
        ready_s: Seconds from ``initialize`` until the server was ready for all messages.
        capabilities: The capabilities as the editor announced them.
    """

    name: str
    version: str
    at: str
    encoding: str
    ready_s: float
    capabilities: Mapping[str, Any]


class LogFile:
    """Appends lines to the server's log.

    Args:
        path: The log's path.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with suppress(OSError):
            if path.stat().st_size > LOG_B:
                rename_own(path, OLDER)

    def write(self, line: str) -> None:
        """Append a record, which may have several lines, with the present time."""
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        with suppress(OSError):
            append_line(self._path, f"{at} {line.rstrip()}".encode("utf-8", "replace"))


def open_log(environment: Mapping[str, str]) -> LogFile | None:
    """Return the server's log, or None if the settings name no valid folder."""
    try:
        return LogFile(server_log(environment))
    except SettingsError:  # the error is reported when a session starts
        return None


def note_editor(environment: Mapping[str, str], opened: ClientIdentity, began_s: float) -> None:
    """Remember an editor, in a thread.

    Args:
        environment: The variables of the process.
        opened: The editor's description of itself.
        began_s: When the server had answered ``initialize``, by ``time.monotonic``.
    """
    editor = KnownEditor(
        name=opened.client or "unknown",
        version=opened.client_version,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        encoding=opened.encoding,
        ready_s=round(time.monotonic() - began_s, 3),
        capabilities=opened.capabilities,
    )
    with suppress(RuntimeError):  # the system has no thread left
        threading.Thread(target=_keep, args=(environment, editor), daemon=True).start()


FORM: StoredForm[tuple[KnownEditor, ...]] = StoredForm(
    "editors", tuple[KnownEditor, ...], "the list of editors", member="editors"
)


def known_editors(environment: Mapping[str, str]) -> tuple[KnownEditor, ...]:
    """Return the editors that connected last, newest first.

    Raises:
        SettingsError: The settings name no valid state folder.
        NewerVersion: A newer Indwell wrote the list.
    """
    path = server_log(environment).with_name(EDITORS)
    try:
        return FORM.decode(read_own(path, _EDITORS_B))
    except (OSError, ToolError, msgspec.DecodeError, UnicodeDecodeError):
        return ()


def last_records(environment: Mapping[str, str], n_records: int) -> tuple[str, ...]:
    """Return the last records of the server's log, oldest first.

    Raises:
        SettingsError: The settings name no valid state folder.
    """
    path = server_log(environment)
    texts = [_text(path.with_name(OLDER)), _text(path)]
    # An empty line separates two records; see ``append_line``.
    found = [one.strip() for text in texts for one in text.split("\n\n")]
    return tuple([one for one in found if one][-n_records:])


def _keep(environment: Mapping[str, str], editor: KnownEditor) -> None:
    with suppress(OSError, SettingsError, NewerVersion):
        path = server_log(environment).with_name(EDITORS)
        others = [one for one in known_editors(environment) if one.name != editor.name]
        data = FORM.encode((editor, *others[: EDITORS_KEPT - 1]))
        if len(data) <= _EDITORS_B:
            make_private_folder(path.parent)
            replace_own(path, data)


def _text(path: Path) -> str:
    try:
        return read_own(path, 4 * LOG_B).decode("utf-8", "replace")
    except (OSError, ToolError):
        return ""
