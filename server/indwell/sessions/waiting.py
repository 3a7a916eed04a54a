"""Words that wait for their turn: a small file of this process, which a kill leaves behind.

    <state>/drafts/<slug>-<hash of the workspace's path>/waiting-<time>.jsonl

Its lines say what came to wait and what waits no more. The file is locked as long as its process
lives, so another one knows whether somebody still waits for it; it goes when nothing waits.
Everything here blocks; on the event loop it is called through a thread.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from indwell.errors import SessionError
from indwell.files import rename_own
from indwell.files.append_log import AppendLog, list_names
from indwell.files.pieces import pieces_of
from indwell.files.removing import remove_own
from indwell.sessions.ids import RANDOM_B, new_id

WAITING, _TAKEN = "waiting-", "taken-"


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came to wait, by id, and the ids of what waits no more."""

    came: dict[str, str] = {}
    went: tuple[str, ...] = ()


class WaitingWords:
    """What waits in this process.

    Args:
        folder: Of the drafts of the workspace; need not exist.
        kind: How the names of such files begin.
    """

    def __init__(self, folder: Path, kind: str = WAITING) -> None:
        self._folder = folder
        self._kind = kind
        self._path: Path | None = None
        self._log: AppendLog | None = None
        self._kept: Mapping[str, str] = {}

    def keep(self, unsent: Mapping[str, str], *, now: datetime) -> None:
        """Have exactly these words on disk.

        Raises:
            SessionError: The state folder cannot be written.
        """
        line = _Line(
            came={one: words for one, words in unsent.items() if self._kept.get(one) != words},
            went=tuple(one for one in self._kept if one not in unsent),
        )
        try:
            if unsent:
                self._append(msgspec.json.encode(line) + b"\n", now)
            else:
                self._remove()
        except OSError as error:
            raise SessionError(
                f"they cannot be written in {str(self._folder)!r} ({error.strerror})"
            ) from error
        self._kept = dict(unsent)

    def _append(self, line: bytes, now: datetime) -> None:
        if self._log is None:
            name = f"{self._kind}{new_id(now, os.urandom(RANDOM_B))}.jsonl"
            self._path = self._folder / name
            self._log = AppendLog(self._path)
        # A line that was torn by a full disk must not swallow this one.
        self._log.append(line if self._log.ends_whole else b"\n" + line)
        self._log.sync()

    def _remove(self) -> None:
        if self._log is not None and self._path is not None:
            remove_own(self._path)
            self._log.close()
            self._log = None


def left_behind(folder: Path, kind: str = WAITING) -> tuple[tuple[Path, tuple[str, ...]], ...]:
    """The words of each process that was killed, with the file to remove when they are safe.

    Raises:
        OSError: The folder cannot be read.
    """
    found = []
    for name in list_names(folder):
        if name.startswith((kind, _TAKEN + kind)):
            with suppress(OSError):  # its process lives, or another one takes it right now
                found.append(_taken(folder / name))
    return tuple(found)


def _taken(path: Path) -> tuple[Path, tuple[str, ...]]:
    log = AppendLog(path)
    try:
        words = _words(path)
    finally:
        log.close()
    # Windows knows no such lock, but it does not rename what is open.
    if not path.name.startswith(_TAKEN):
        path = rename_own(path, _TAKEN + path.name)
    return path, words


def _words(path: Path) -> tuple[str, ...]:
    waiting: dict[str, str] = {}
    for data in b"".join(pieces_of(path)).split(b"\n"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            line = msgspec.json.decode(data, type=_Line)
            waiting.update(line.came)
            for one in line.went:
                waiting.pop(one, None)
    return tuple(waiting.values())
