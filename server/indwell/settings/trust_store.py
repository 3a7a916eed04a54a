"""The user's trust decisions by folder, stored in the state folder, never in a repository.

A trusted folder is stored with digests of its executable and loaded files, so that later changes
are not trusted (TRU-05). If the store's file is unreadable, or others could have written it, no
folder is trusted and the file is not overwritten (TRU-07).

All methods block, so call them in a thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, SettingsError, ToolError, reason
from indwell.files.append_log import make_private_folder
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.reading import read_guarded
from indwell.files.listing import exists
from indwell.files.locks import locked
from indwell.files.private import write_durable
from indwell.files.spelling import quoted
from indwell.settings.trusted_files import FolderAnswer, TrustedFile

FILE = Path("trust") / "answers.json"
"""The name of the file in the state folder."""

# The limit in bytes is enough for some thousand folders with long instruction files.
LIMIT_B = 16 << 20
# One answer has at most 2,000 digests of lines, for diffs; other files are compared as a whole.
MOST_LINES = 2_000
LOCK_S = 60.0  # The unit is seconds to wait for the lock.


class Answers(msgspec.Struct, frozen=True):
    """The user's decisions on all folders, or why they could not be read.

    Attributes:
        folders: The decision on each folder, by the folder's real path.
        problem: Why no decision could be read, or empty.
        remedy: What the user can do about the problem.
    """

    folders: Mapping[str, FolderAnswer] = {}
    problem: str = ""
    remedy: str = ""


def unread(error: SettingsError) -> Answers:
    """Return no decisions, with the reason in ``error`` and what the user can do about it."""
    is_newer = isinstance(error.__cause__, NewerVersion)
    return Answers(problem=str(error), remedy="update Indwell" if is_newer else "fix that file")


def _refused(_content: object) -> object:
    raise msgspec.ValidationError("`version` is missing")


FORM: StoredForm[dict[str, FolderAnswer]] = StoredForm(
    "trust",
    dict[str, FolderAnswer],
    "the file of trusted folders",
    member="folders",
    older=(_refused,),
)
"""The form of the file; a file without a version was not written by Indwell."""


class TrustStore:
    """The trust decisions of one user.

    Args:
        state: The state folder.
    """

    def __init__(self, state: Path) -> None:
        self.path = state / FILE

    def read(self) -> Answers:
        """Read all answers; never raises for an invalid file.

        On Windows, a file that another program has open is overwritten in place, so a reader may
        see half of the new text. A broken file is therefore read again under the lock.
        """
        try:
            return Answers(self._folders())
        except SettingsError as error:
            found = unread(error)
        lock = locked(self.path.parent / "lock", timeout_s=LOCK_S)
        with (
            contextlib.suppress(OSError),
            lock,
        ):  # If a writer takes long, read without the lock.
            try:
                return Answers(self._folders())
            except SettingsError as error:
                found = unread(error)
        return found

    def keep(self, folder: Path, answer: FolderAnswer) -> None:
        """Store an answer for a folder.

        Raises:
            SettingsError: The file cannot be read or written, and is unchanged.
        """

        def put(folders: dict[str, FolderAnswer]) -> bool:
            folders[str(folder)] = shortened(answer)
            return True

        self._change(put)

    def forget(self, folder: Path) -> bool:
        """Delete the answer for a folder; return False if there was no answer.

        Raises:
            SettingsError: The file cannot be read or written, and is unchanged.
        """
        return self._change(lambda folders: folders.pop(str(folder), None) is not None)

    def _change(self, change: Callable[[dict[str, FolderAnswer]], bool]) -> bool:
        folder = self.path.parent
        try:
            make_private_folder(folder)
            with locked(folder / "lock", timeout_s=LOCK_S):
                folders = self._folders()
                is_changed = change(folders)
                if is_changed:
                    data = FORM.encode(folders, is_for_people=True)
                    if len(data) > LIMIT_B:  # The file would be too large to be read again.
                        raise SettingsError(
                            f"the file of trusted folders {quoted(self.path)} is full; revoke "
                            "answers that you no longer need with `indwell trust --revoke FOLDER`"
                        )
                    if exists(self.path):
                        write_atomic(self.path, data, [folder])
                    else:
                        # The mode lets only the user read the file.
                        write_durable(self.path, data)
                return is_changed
        except (ToolError, OSError) as error:
            raise SettingsError(f"the answer could not be stored ({reason(error)})") from error

    def _folders(self) -> dict[str, FolderAnswer]:
        """Read the answers from the file.

        Raises:
            SettingsError: The file cannot be used.
        """
        try:
            return FORM.decode(read_guarded(self.path, LIMIT_B), quoted(self.path))
        except FileNotFoundError:
            return {}
        except NewerVersion as error:
            raise SettingsError(f"{error}; until then, no folder in it is trusted") from error
        except (ToolError, OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
            raise SettingsError(
                f"the file of trusted folders {quoted(self.path)} cannot be used "
                f"({reason(error)}), so no folder in it is trusted; fix it, or move it away"
            ) from error


def shortened(answer: FolderAnswer) -> FolderAnswer:
    """Reduce the stored lines of an answer, so that a thousand folders fit into the file."""
    left = MOST_LINES
    files: dict[str, TrustedFile] = {}
    for name, one in answer.files.items():
        keeps = len(one.lines) <= left
        files[name] = one if keeps else TrustedFile(one.digest)
        left -= len(one.lines) if keeps else 0
    return msgspec.structs.replace(answer, files=files)
