"""The stored worktrees of a folder: records, the unchanged copy of each file, and locks.

The state folder has the record and the unchanged copy, which are hidden from commands. The files
that the session changes are in a folder beside the state folder, because the session must see them.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, ToolError, UserError
from indwell.files.append_log import AppendLog, list_names, make_private_folder
from indwell.files.private import read_own, remove_own_tree, replace_durable
from indwell.files.spelling import quoted
from indwell.files.tree_copy import CopyMark, new_private_folder
from indwell.lazy_pattern import lazy_pattern
from indwell.sessions.storage.store import folder_name
from indwell.settings.paths import state_folder, worktrees_folder

_log = logging.getLogger(__name__)
FOLDER = "worktrees"
_ID = lazy_pattern(r"w[0-9a-f]{4}")
_RECORD, _FILES, _LOCK = "record.json", "files.json", "lock"
_MOST_B = 64 << 20  # the limit for one record, in bytes
_TRIES = 100


class Worktree(msgspec.Struct, frozen=True):
    """The record of one worktree; all paths are absolute and resolved.

    Attributes:
        id: The name, such as ``w3f9a``.
        folder: The user's folder.
        top: The folder that was copied: the repository around ``folder``, or ``folder`` itself.
        tree: The copy of ``top``.
        made_at: When the worktree was made.
        is_git: Whether the copy is a git worktree of the repository.
        is_whole: Whether all files were copied; if not, the process was killed meanwhile.
        session: The session that works in the worktree.
        turn: The number of the session's last turn.
        title: The session's title.
        left_out: What was not copied, in words.
    """

    id: str
    folder: str
    top: str
    tree: str
    made_at: str
    is_git: bool = False
    is_whole: bool = False
    session: str = ""
    turn: int = 0
    title: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        """The folder in which the session works."""
        return Path(self.tree) / Path(self.folder).relative_to(self.top)


FORM: StoredForm[Worktree] = StoredForm("worktree", Worktree, "the record of a worktree")
FILES_FORM: StoredForm[dict[str, CopyMark]] = StoredForm(
    "worktree files", dict[str, CopyMark], "the list of files", member="files"
)


class WorktreeStore:
    """The worktrees of one folder of the user.

    Args:
        environment: The variables of the process, which may name the state folder.
        folder: The user's folder, resolved.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        state = state_folder(environment)
        self._folder = state / FOLDER / folder_name(folder)
        self._trees = worktrees_folder(environment)
        self._of = folder

    def listed(self) -> tuple[Worktree, ...]:
        """Return all worktrees, the oldest first; unreadable records are left out."""
        return tuple(sorted(self._read(), key=lambda one: one.made_at))

    def _read(self) -> Iterator[Worktree]:
        try:
            names = list_names(self._folder)
        except OSError:
            return
        for name in names:
            try:
                one = self.find(name) if _ID.fullmatch(name) else None
            except NewerVersion as error:
                _log.warning("%s", error)
                continue
            if one is not None:
                yield one

    def find(self, identifier: str) -> Worktree | None:
        """Return a worktree, or None if there is none of this name, or its record is damaged.

        Raises:
            NewerVersion: A newer Indwell wrote the record.
        """
        try:
            data = read_own(self._folder / identifier / _RECORD, _MOST_B)
            found = FORM.decode(data, identifier)
        except (OSError, ToolError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        # A record names the folders that are deleted, so a forged record must not count.
        tree = Path(found.tree)
        is_own = tree.parent == self._trees.resolve() / identifier and tree.name != ".."
        is_within = self._of.is_relative_to(found.top)
        is_ours = found.id == identifier and found.folder == str(self._of)
        return found if is_own and is_within and is_ours else None

    def create(self, top: Path, *, made_at: str, is_git: bool) -> Worktree:
        """Create the folders of a new worktree, and its record.

        Raises:
            UserError: The folders cannot be created.
        """
        for _ in range(_TRIES):
            identifier = f"w{secrets.token_hex(2)}"
            try:
                new_private_folder(self._trees / identifier)
                new_private_folder(self._folder / identifier)
            except FileExistsError:
                continue
            except OSError as error:
                raise UserError(
                    f"no worktree can be made in {quoted(self._trees)} ({error.strerror}); make "
                    "the folder writable, or set INDWELL_STATE to another folder"
                ) from error
            tree = self._trees.resolve() / identifier / (top.name or "folder")
            made = Worktree(identifier, str(self._of), str(top), str(tree), made_at, is_git=is_git)
            self.save(made)
            return made
        raise UserError(f"there are too many worktrees in {quoted(self._trees)}; remove some")

    def save(self, worktree: Worktree) -> None:
        """Store the record durably.

        Raises:
            UserError: The record cannot be written.
        """
        try:
            replace_durable(self._folder / worktree.id / _RECORD, FORM.encode(worktree))
        except OSError as error:
            raise UserError(
                f"the worktree {worktree.id} cannot be recorded ({error.strerror})"
            ) from error

    def base(self, worktree: Worktree) -> Path:
        """Return the folder with the unchanged copy of each file."""
        return self._folder / worktree.id / "base"

    def ledger(self, worktree: Worktree) -> Path:
        """Return the folder of the worktree's own ledger, by which its session can rewind."""
        return self._folder / worktree.id / "review"

    def files(self, worktree: Worktree) -> dict[str, CopyMark]:
        """Return the marks of the copied files, by their paths relative to the copied folder.

        Raises:
            UserError: The list cannot be read.
        """
        try:
            data = read_own(self._folder / worktree.id / _FILES, _MOST_B)
            return FILES_FORM.decode(data)
        except (
            OSError,
            ToolError,
            NewerVersion,
            msgspec.MsgspecError,
            UnicodeDecodeError,
        ) as error:
            raise UserError(
                f"the list of files of worktree {worktree.id} cannot be read ({error}); its files "
                f"are in {quoted(worktree.tree)}"
            ) from error

    def save_files(self, worktree: Worktree, files: Mapping[str, CopyMark]) -> None:
        """Store the marks of the copied files.

        Raises:
            UserError: The list cannot be written.
        """
        try:
            data = FILES_FORM.encode(dict(files))
            replace_durable(self._folder / worktree.id / _FILES, data)
        except OSError as error:
            raise UserError(
                f"the list of files of worktree {worktree.id} cannot be written ({error.strerror})"
            ) from error

    def lock(self, worktree: Worktree, name: str = _LOCK) -> AppendLog | None:
        """Lock a worktree for this process; return None if another process uses the worktree.

        Another ``name`` is a lock of its own, for one kind of work.

        The system releases the lock when the process ends, even if the process is killed.
        """
        folder = self._folder / worktree.id
        try:
            make_private_folder(folder)
            return AppendLog(folder / name)
        except OSError:
            return None

    def forget(self, worktree: Worktree) -> None:
        """Delete the files, the record and the ledger of a worktree.

        The record is deleted last, so that a later start can finish after a kill.

        Raises:
            OSError: The system refuses.
        """
        remove_own_tree(Path(worktree.tree).parent)
        folder = self._folder / worktree.id
        for name in ("base", "review", _FILES):
            remove_own_tree(folder / name)
        remove_own_tree(folder)
        if not list_names(self._folder):
            remove_own_tree(self._folder)
