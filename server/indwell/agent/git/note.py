"""The known state of a workspace's repositories, kept in the state folder across processes.

Two things lie there, readable by the user only: ``seen.json`` with the last look and what the user
has not agreed to, and an empty file ``open-…`` while a program of ours may change a repository.
That file tells whose work a change is. Without one, what changed since the last look is the user's
own. With one, nobody can tell, so the change is compared and asked about.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import sys
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from indwell.agent.git.store import FileStamp, Store
from indwell.errors import ToolError
from indwell.files.append_log import list_names, make_private_folder
from indwell.files.private import read_own, remove_own, rename_own, replace_own, write_private

log = logging.getLogger(__name__)

MOST_B = 32 << 20  # size of the note; 100,000 loose objects take 15 MB of it
_SEEN, _DAMAGED, _OPEN = "seen.json", "damaged.json", "open-"
_notes: weakref.WeakValueDictionary[str, GitNote] = weakref.WeakValueDictionary()


Kind: TypeAlias = Literal["file", "replacement", "unread", "store", "note"]


class GitEntry(msgspec.Struct, frozen=True):
    """One thing in git that the user is asked about.

    Attributes:
        kind: A protected ``file``; a ``replacement``, which git reads instead of an object; data
            that is ``unread``; a file of the ``store`` that does not hold what git believes; or a
            damaged ``note`` of ours.
        path: Of a protected file, from the workspace's folder on, or absolute.
        blob: What it holds, as git names it; of the store, which file it is.
        where: ``the index``, or a commit; of other kinds the whole sentence.
        repository: The folder of the repository, absolute.
        inner: The path from there on, the name of the replaced object, or the file itself.
    """

    kind: Kind
    path: str
    blob: str
    where: str
    repository: str
    inner: str

    @property
    def words(self) -> str:
        """For people and the model."""
        return f"{self.path!r} in {self.where}" if self.path else self.where


class RepositoryState(msgspec.Struct, frozen=True):
    """One repository at one moment.

    Attributes:
        stamps: Of the index and of what holds refs.
        tips: All objects that refs, heads and the stash's log name.
        index: Protected entries: their blobs by path.
        replaced: What git reads for an object instead of it, by the object's name.
        store: The files of its objects.
    """

    stamps: tuple[tuple[str, FileStamp], ...] = ()
    tips: frozenset[str] = frozenset()
    index: Mapping[str, str] = {}
    replaced: Mapping[str, str] = {}
    store: Store = Store()


class KeptFile(msgspec.Struct, frozen=True):
    """What the file holds.

    Attributes:
        states: The repositories as of the last look; why not, where one could not be read.
        waiting: What the user has not agreed to.
        ended: What waited before, so that no other session lets it wait on.
    """

    states: Mapping[str, RepositoryState | str] = {}
    waiting: tuple[GitEntry, ...] = ()
    ended: tuple[GitEntry, ...] = ()


class GitNote:
    """The note of one workspace. Blocks: call it in a thread.

    Args:
        folder: Its own folder beneath the state folder; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._stamp: tuple[int, int] | None = None
        self._mark = f"{_OPEN}{os.getpid()}-{secrets.token_hex(4)}"
        self._is_open = False
        self._is_stuck = False  # a damaged note cannot be put aside
        _notes[self._mark] = self

    @property
    def damaged(self) -> str:
        """The path of a note that could not be read, as long as the user has not removed it."""
        name = _SEEN if self._is_stuck else _DAMAGED
        path = self._folder / name if self._folder else None
        return str(path) if path is not None and path.is_file() else ""

    def news(self) -> KeptFile | None:
        """What another process or an earlier one wrote; None if nothing did since ours.

        A note that is damaged is put aside under another name, see ``damaged``.
        """
        if self._folder is None:
            return None
        path = self._folder / _SEEN
        stamp = _stamp(path)
        if stamp is None or stamp == self._stamp:
            return None
        try:
            kept = _decoded(read_own(path, MOST_B))
        except FileNotFoundError:
            return None
        except (ToolError, OSError, ValueError, RecursionError, msgspec.ValidationError) as error:
            log.warning("the note %r cannot be read", str(path), exc_info=error)
            try:
                rename_own(path, _DAMAGED)
            except OSError:
                self._is_stuck = True
            return None
        self._is_stuck = False
        self._stamp = stamp
        return kept

    def keep(self, kept: KeptFile) -> None:
        """Write it down; logged where that fails, as it counts for this process all the same."""
        if self._folder is None or (self._is_stuck and self.damaged):
            return
        try:
            make_private_folder(self._folder)
            data = _encoded(kept)
            if len(data) > MOST_B:  # then all objects count as new after a restart
                data = _encoded(_without_stores(kept))
            replace_own(self._folder / _SEEN, data)
            self._stamp = _stamp(self._folder / _SEEN)
        except OSError as error:
            log.warning("what git holds could not be written down", exc_info=error)

    def forget_damaged(self) -> None:
        """The user has agreed to go on without it."""
        if self._folder is not None:
            self._remove(_SEEN if self._is_stuck else _DAMAGED)
            self._is_stuck = False

    def open(self) -> None:
        """A program of ours begins that may change a repository."""
        if self._is_open:
            return
        self._is_open = True
        if self._folder is not None:
            try:
                make_private_folder(self._folder)
                write_private(self._folder / self._mark, b"")
            except OSError as error:
                log.warning("that a program runs could not be written down", exc_info=error)

    def close(self) -> None:
        """All that programs of ours did so far was looked at, and none runs any more."""
        self._is_open = False
        for name in self._marks():
            if name == self._mark or not _is_of_others(name):
                self._remove(name)

    def is_open(self) -> bool:
        """May a program of ours have changed something since the last look?"""
        return self._is_open or bool(self._marks())

    def _marks(self) -> tuple[str, ...]:
        if self._folder is None:
            return ()
        try:
            return tuple(name for name in list_names(self._folder) if name.startswith(_OPEN))
        except OSError as error:
            log.warning("%r cannot be listed", str(self._folder), exc_info=error)
            return (self._mark,)  # nobody knows, so the changes are asked about

    def _remove(self, name: str) -> None:
        assert self._folder is not None
        try:
            remove_own(self._folder / name)
        except OSError as error:
            log.warning("%r cannot be removed", name, exc_info=error)


def _is_of_others(mark: str) -> bool:
    """Does the session that made it live, in this process or another one?"""
    number = mark.removeprefix(_OPEN).partition("-")[0]
    if number == str(os.getpid()) or not number.isdecimal():
        return mark in _notes
    if sys.platform == "win32":  # a signal would end the process there
        return False
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _encoded(kept: KeptFile) -> bytes:
    try:
        return msgspec.json.encode(kept)
    except UnicodeEncodeError:  # a file's name of other bytes: JSON of ASCII holds it
        return json.dumps(msgspec.to_builtins(kept)).encode("ascii")


def _decoded(data: bytes) -> KeptFile:
    try:
        return msgspec.json.decode(data, type=KeptFile)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(data), KeptFile)


def _without_stores(kept: KeptFile) -> KeptFile:
    states = {
        holder: state if isinstance(state, str) else msgspec.structs.replace(state, store=Store())
        for holder, state in kept.states.items()
    }
    return KeptFile(states, kept.waiting, kept.ended)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        now = path.lstat()
    except OSError:
        return None
    return (now.st_ino, now.st_mtime_ns)
