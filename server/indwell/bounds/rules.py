"""The rules at one moment: the policy, the hidden paths and the bounds of commands."""

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
from indwell.settings.model import Mode


def lies_in_no_home(_path: Path) -> bool:
    """Return False, because the workspace is not in a home folder."""
    return False


def unconfined(widening: Widening) -> None:
    """Return None, for tools that start no process."""
    del widening


def hides_everything(_path: str) -> bool:
    """Return True, to hide every path from the model."""
    return True


UNREADABLE = (ToolError, OSError, ValueError, RuntimeError)
"""Errors that a repository can cause while it is examined: then the folder is restricted."""


class TrustNow(NamedTuple):
    """The trust in the folders of a workspace at one moment.

    Attributes:
        trusted: The trusted folders, in which commands may write.
        restricted: The untrusted folders, as written and as resolved, with restricted folders below
            trusted folders (real paths).
        obeyed: The absolute files that git runs or obeys in the folders, and Indwell's
            installation.
        repository_roots: The absolute subfolders that contain repositories.
    """

    trusted: tuple[Path, ...]
    restricted: tuple[str, ...]
    obeyed: tuple[str, ...]
    repository_roots: tuple[str, ...]


class Trust(Protocol):
    """The user's trust in folders and files; see ``bounds.folder_trust``."""

    def now(self, roots: Sequence[Path]) -> TrustNow:
        """Return the trust in these folders, as last examined."""
        ...

    def is_trusted(self, root: Path) -> bool:
        """Return whether the folder was trusted when it was last examined."""
        ...

    def is_whole(self, root: Path) -> bool:
        """Return whether the folder is trusted whatever it contains."""
        ...

    def obeys(self, root: Path, name: str, data: bytes) -> bool:
        """Whether a file of ``root`` with this content may be obeyed, because it was trusted."""
        ...


class ReadableFolders:
    """Folders outside the workspace that the agent may read.

    Attributes:
        own: The session's own folders, of which the first contains long texts.
        opened: Folders that became readable later, such as those of loaded skills.
    """

    def __init__(self, own: tuple[Path, ...] = ()) -> None:
        self.own = own
        self.opened: tuple[Path, ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        """All readable folders, beginning with the session's own."""
        return (*self.own, *self.opened)

    def open(self, folder: Path) -> None:
        """Make a folder readable."""
        if folder not in self.opened:
            self.opened = (*self.opened, folder)

    def is_opened(self, path: Path) -> bool:
        """Return whether a path is in a folder that became readable."""
        return any(map(path.is_relative_to, self.opened))


NO_FOLDERS = ReadableFolders()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules at one moment. A decision, and the call that it allows, use one snapshot.

    The functions use the settings and the trust of that moment. Each call reads the disk.

    Attributes:
        policy: The mode, the user's rules and the folders.
        hidden: Returns whether a deny rule hides a displayed path from the model.
        confine: Returns the sandbox of a command with a widening; None without a sandbox.
        is_private: Returns whether a path in a home folder is where programs keep keys and tokens.
        secret_files: Returns absolute paths in the workspace that lead to secret files; blocks.
        repositories: Returns absolute folders with git settings that the user was not asked about;
            blocks.
    """

    policy: Policy
    hidden: Callable[[str], bool] = hides_everything
    confine: Callable[[Widening], Confinement | None] = unconfined
    is_private: Callable[[Path], bool] = lies_in_no_home
    secret_files: Callable[[], tuple[str, ...]] = tuple
    repositories: Callable[[], tuple[str, ...]] = tuple

    @property
    def mode(self) -> Mode:
        """The mode, which decides how often the user is asked."""
        return self.policy.mode

    def in_mode(self, mode: Mode) -> Rules:
        """Return the same rules in another mode."""
        return replace(self, policy=msgspec.structs.replace(self.policy, mode=mode))
