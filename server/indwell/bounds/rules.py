"""The permission rules at one moment: the policy, the hidden paths and the bounds of commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from indwell.errors import ToolError
from indwell.policy.call_facts import Policy
from indwell.policy.rules import Widening
from indwell.sandbox.confinement import Confinement
from indwell.settings.model import ChangeKind, Mode


def lies_in_no_home(_path: Path) -> bool:
    """Return False, for workspaces that are not in a home folder."""
    return False


def unconfined(widening: Widening) -> None:
    """Return None, for tools that start no process."""
    del widening


def hides_everything(_path: str) -> bool:
    """Return True, so that every path is hidden from the model."""
    return True


UNREADABLE = (ToolError, OSError, ValueError, RuntimeError)
"""Errors that a repository can cause during its examination; the folder is then restricted."""


class TrustNow(NamedTuple):
    """The trust in the folders of a workspace at one moment.

    Attributes:
        trusted: The trusted folders, in which commands may write.
        restricted: The untrusted folders, also those inside trusted folders, as written and as
            resolved.
        obeyed: Absolute paths of the files that git runs or obeys, and of Indwell's installation.
        repository_roots: Absolute paths of subfolders that contain repositories.
        unknown_git: The absolute folders, trusted only in the editor, where git would run or obey
            files that the user was not asked about.
    """

    trusted: tuple[Path, ...]
    restricted: tuple[str, ...]
    obeyed: tuple[str, ...]
    repository_roots: tuple[str, ...]
    unknown_git: tuple[str, ...] = ()


class Trust(Protocol):
    """The user's trust in folders and files; see ``bounds.folder_trust``."""

    def now(self, roots: Sequence[Path]) -> TrustNow:
        """Return the trust in these folders at the time of the last examination."""
        ...

    def is_trusted(self, root: Path) -> bool:
        """Return whether the folder was trusted when it was last examined."""
        ...

    def may_start(self, root: Path) -> bool:
        """Return whether Indwell may start programs by itself in the folder."""
        ...

    def is_whole(self, root: Path) -> bool:
        """Return whether the user trusts the folder with any content."""
        ...

    def obeys(self, root: Path, name: str, data: bytes) -> bool:
        """Return whether instructions in a file of ``root`` with this content are trusted."""
        ...

    def leave_out(self, root: Path, name: str) -> None:
        """Remember an instruction file that was not obeyed, so that the user can decide."""
        ...


class ReadableFolders:
    """Folders outside the workspace that the agent may read.

    Attributes:
        own: The session's own folders; the first folder contains long texts.
        opened: Folders that became readable later, such as those of loaded skills.
    """

    def __init__(self, own: tuple[Path, ...] = ()) -> None:
        self.own = own
        self.opened: tuple[Path, ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        """All readable folders; the session's own folders come first."""
        return (*self.own, *self.opened)

    def open(self, folder: Path) -> None:
        """Make a folder readable from now on."""
        if folder not in self.opened:
            self.opened = (*self.opened, folder)

    def is_opened(self, path: Path) -> bool:
        """Return whether a path is in a folder that became readable later."""
        return any(map(path.is_relative_to, self.opened))


NO_FOLDERS = ReadableFolders()


@dataclass(frozen=True, slots=True)
class Rules:
    """The permission rules at one moment; a decision and the allowed call use the same rules.

    The functions use the settings and the trust of the snapshot, but the disk of the time of the
    call.

    Attributes:
        policy: The mode, the user's rules and the folders.
        hidden: Returns whether a deny rule hides a displayed path from the model.
        confine: Returns the sandbox of a command with a widening, or None if there is no sandbox.
        is_private: Returns whether programs keep keys and tokens at a path of a home folder.
        secret_files: Returns absolute paths in the workspace that lead to secret files; blocks.
        repositories: Returns absolute folders with git settings that the user has not reviewed;
            blocks.
        confirm: The kinds of changes that the editor asks about if the user sees them nowhere else.
    """

    policy: Policy
    hidden: Callable[[str], bool] = hides_everything
    confine: Callable[[Widening], Confinement | None] = unconfined
    is_private: Callable[[Path], bool] = lies_in_no_home
    secret_files: Callable[[], tuple[str, ...]] = tuple
    repositories: Callable[[], tuple[str, ...]] = tuple
    confirm: tuple[ChangeKind, ...] = ()

    @property
    def mode(self) -> Mode:
        """The permission mode, which decides how often the user is asked."""
        return self.policy.mode

    def in_mode(self, mode: Mode) -> Rules:
        """Return the same rules in another mode."""
        return replace(self, policy=msgspec.structs.replace(self.policy, mode=mode))
