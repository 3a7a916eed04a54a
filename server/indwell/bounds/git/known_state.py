"""The known state of a workspace's repositories, kept in the state folder across processes.

A folder holds two kinds of files that only the user can read. ``seen.json`` contains the last
comparison and the entries that the user has not accepted. An empty file ``open-…`` exists while a
command of Indwell may change a repository. Without an ``open-…`` file, all changes since the last
comparison are the user's. With an ``open-…`` file, the author is unknown, so changes are compared
and the user is asked.
"""

from __future__ import annotations

import logging
import os
import secrets
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from indwell.bounds.git.store import FileStamp, Store
from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, ToolError, reason
from indwell.files.append_log import list_names, make_private_folder
from indwell.files.private import read_own, remove_own, rename_own, replace_own, write_private
from indwell.sandbox.leftovers import here as leftovers

log = logging.getLogger(__name__)

MOST_B = 32 << 20  # the limit of bytes for the note; 100,000 loose objects take 15 MB
_SEEN, _DAMAGED, _OPEN = "seen.json", "damaged.json", "open-"
_notes: weakref.WeakValueDictionary[str, GitNote] = weakref.WeakValueDictionary()


Kind: TypeAlias = Literal["file", "replacement", "unread", "store", "note"]


class GitEntry(msgspec.Struct, frozen=True):
    """A change of git's data about which the user is asked.

    Attributes:
        kind: A protected ``file``; a ``replacement`` that git reads in place of an object;
            ``unread`` data; a file of the ``store`` whose content does not match its name; or a
            damaged ``note``.
        path: The path of a protected file, relative to the workspace's folder or absolute.
        blob: Git's name of the content; for the store, the file.
        where: ``the index``, or a commit; for other kinds, the whole sentence.
        repository: The absolute folder of the repository.
        inner: The path within the repository, the name of the replaced object, or the file of the
            store.
    """

    kind: Kind
    path: str
    blob: str
    where: str
    repository: str
    inner: str

    @property
    def words(self) -> str:
        """The entry described in words, for people and the model."""
        return f"{self.path!r} in {self.where}" if self.path else self.where


class RepositoryState(msgspec.Struct, frozen=True):
    """The state of one repository at one moment.

    Attributes:
        stamps: Stamps of the index and of the files with refs.
        tips: All objects that refs, heads and the stash's log name.
        index: The blobs of protected entries by path.
        replaced: The replacement for each replaced object, by the object's name.
        store: The files of the repository's objects.
    """

    stamps: tuple[tuple[str, FileStamp], ...] = ()
    tips: frozenset[str] = frozenset()
    index: Mapping[str, str] = {}
    replaced: Mapping[str, str] = {}
    store: Store = Store()


class KeptFile(msgspec.Struct, frozen=True):
    """The content of the file ``seen.json``.

    Attributes:
        states: The state of each repository at the last comparison, or why it could not be read.
        waiting: The entries that the user has not accepted.
        ended: Entries that the user has decided on, which other sessions must drop, too.
    """

    states: Mapping[str, RepositoryState | str] = {}
    waiting: tuple[GitEntry, ...] = ()
    ended: tuple[GitEntry, ...] = ()


FORM: StoredForm[KeptFile] = StoredForm("git", KeptFile, "the note of git's state")


class GitNote:
    """Reads and writes the recorded git state of one workspace; all methods block.

    Args:
        folder: The note's folder beneath the state folder; with None, nothing is stored.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._stamp: tuple[int, int] | None = None
        self._mark = f"{_OPEN}{os.getpid()}-{secrets.token_hex(4)}"
        self._is_open = False
        self._is_stuck = False  # whether the damaged note could not be moved away
        self._is_told = False  # whether the log says that nothing can be kept
        # Whether a newer Indwell wrote the note. The user may agree to continue without the note,
        # which stays for the newer Indwell.
        self.is_newer = self._is_agreed = False
        _notes[self._mark] = self

    @property
    def damaged(self) -> str:
        """The path of a note that could not be read, until the user has agreed to do without."""
        if self.is_newer:
            return "" if self._is_agreed or self._folder is None else str(self._folder / _SEEN)
        name = _SEEN if self._is_stuck else _DAMAGED
        path = self._folder / name if self._folder else None
        return str(path) if path is not None and path.is_file() else ""

    def news(self) -> KeptFile | None:
        """Return the content written by another process since the last call, or None.

        A damaged note is renamed; see ``damaged``.
        """
        if self._folder is None:
            return None
        path = self._folder / _SEEN
        stamp = _stamp(path)
        if stamp is None or stamp == self._stamp:
            return None
        try:
            kept = FORM.decode(read_own(path, MOST_B))
        except FileNotFoundError:
            return None
        except NewerVersion as error:  # The user is asked, and the note stays.
            log.warning("the note %r is not read: %s", str(path), error)
            self.is_newer, self._stamp = True, stamp
            return None
        except (ToolError, OSError, ValueError, RecursionError, msgspec.ValidationError) as error:
            log.warning("the note %r cannot be read (%s)", str(path), reason(error))
            try:
                rename_own(path, _DAMAGED)
            except OSError:
                self._is_stuck = True
            return None
        self._is_stuck = self.is_newer = False
        self._stamp = stamp
        return kept

    def keep(self, kept: KeptFile) -> None:
        """Write the note; a failure is logged, because this process still knows the content."""
        if self._folder is None or (self._is_stuck and self.damaged) or self._stays():
            return
        try:
            make_private_folder(self._folder)
            data = FORM.encode(kept)
            # An unwritten note means that all objects count as new after a restart.
            if len(data) > MOST_B:
                data = FORM.encode(_without_stores(kept))
            replace_own(self._folder / _SEEN, data)
            self._stamp = _stamp(self._folder / _SEEN)
        except OSError as error:
            self._tell_unsaved(error)

    def _stays(self) -> bool:
        """Return whether the note on disk is of a newer Indwell, which may have just written it."""
        assert self._folder is not None
        path = self._folder / _SEEN
        if _stamp(path) not in {None, self._stamp}:
            try:
                FORM.decode(read_own(path, MOST_B))
            except NewerVersion:
                self.is_newer = True
            except (ToolError, OSError, ValueError, msgspec.MsgspecError):
                return False
        return self.is_newer

    def forget_damaged(self) -> None:
        """Continue without the damaged note, because the user has agreed."""
        if self.is_newer:
            self._is_agreed = True
            return
        if self._folder is not None:
            self._remove(_SEEN if self._is_stuck else _DAMAGED)
            self._is_stuck = False

    def open(self) -> None:
        """Create the file ``open-…``, because a command that may change a repository begins."""
        if self._is_open:
            return
        self._is_open = True
        if self._folder is not None:
            try:
                make_private_folder(self._folder)
                write_private(self._folder / self._mark, b"")
            except OSError as error:
                self._tell_unsaved(error)

    def close(self) -> None:
        """Remove the file ``open-…``, because no command runs and all changes were examined."""
        self._is_open = False
        for name in self._marks():
            if name == self._mark or not _is_of_others(name):
                self._remove(name)

    def is_open(self) -> bool:
        """Return whether a program may have changed something since the last comparison."""
        return self._is_open or bool(self._marks())

    def _marks(self) -> tuple[str, ...]:
        if self._folder is None:
            return ()
        try:
            return tuple(name for name in list_names(self._folder) if name.startswith(_OPEN))
        except OSError as error:
            log.warning("%r cannot be listed (%s)", str(self._folder), reason(error))
            # If the file is unreadable, the session counts as open, and the user is asked about
            # changes.
            return (self._mark,)

    def _remove(self, name: str) -> None:
        assert self._folder is not None
        try:
            remove_own(self._folder / name)
        except OSError as error:
            log.warning("%r cannot be removed (%s)", name, reason(error))

    def _tell_unsaved(self, error: OSError) -> None:
        """Log once that a killed process leaves no trace of a command that was changing git."""
        if not self._is_told:
            self._is_told = True
            log.warning(
                "the state of git's files cannot be kept in %r (%s); if Indwell is killed during "
                "a command, the next session may not notice what that command changed in git",
                str(self._folder),
                reason(error),
            )


def _is_of_others(mark: str) -> bool:
    """Return whether the session that created this file is still open, in any process."""
    number = mark.removeprefix(_OPEN).partition("-")[0]
    if number == str(os.getpid()) or not number.isdecimal():
        return mark in _notes
    return leftovers.is_alive(int(number))


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
