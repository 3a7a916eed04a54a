"""The rules of one moment: the policy, the hidden paths and the bounds of commands."""

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
    """No path is private, because the workspace is not a home folder."""
    return False


def unconfined(widening: Widening) -> None:
    """No sandbox; for tools that start no process."""
    del widening


def hides_everything(_path: str) -> bool:
    """Every path is hidden from the model."""
    return True


UNREADABLE = (ToolError, OSError, ValueError, RuntimeError)
"""Errors that a repository can cause while it is examined: then the folder is restricted."""


class TrustNow(NamedTuple):
    """The trust in the folders of a workspace at one moment.

    Attributes:
        trusted: The trusted folders, in which commands may write.
        restricted: The untrusted folders, as written and as resolved. Includes folders below the
            trusted ones that the user wants to stay restricted (real paths).
        obeyed: The files that git runs or obeys there, and our own installation, absolute.
        repository_roots: The folders below that hold repositories, absolute.
    """

    trusted: tuple[Path, ...]
    restricted: tuple[str, ...]
    obeyed: tuple[str, ...]
    repository_roots: tuple[str, ...]


class Trust(Protocol):
    """The user's trust in folders and files; see ``bounds.folder_trust``."""

    def now(self, roots: Sequence[Path]) -> TrustNow:
        """The trust in these folders, as last examined."""
        ...

    def is_trusted(self, root: Path) -> bool:
        """Whether the folder was trusted when it was last examined."""
        ...

    def is_whole(self, root: Path) -> bool:
        """Whether the folder is trusted whatever it contains."""
        ...

    def obeys(self, root: Path, name: str, data: bytes) -> bool:
        """Whether a file of ``root`` with this content may be obeyed, because it was trusted."""
        ...


class ReadableFolders:
    """Folders outside the workspace that the agent may read.

    Attributes:
        own: The session's own folders; long texts are in the first one.
        opened: Folders that became readable since, such as those of loaded skills.
    """

    def __init__(self, own: tuple[Path, ...] = ()) -> None:
        self.own = own
        self.opened: tuple[Path, ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        """All readable folders, the session's own first."""
        return (*self.own, *self.opened)

    def open(self, folder: Path) -> None:
        """Make a folder readable."""
        if folder not in self.opened:
            self.opened = (*self.opened, folder)

    def is_opened(self, path: Path) -> bool:
        """Is a path in a folder that became readable?"""
        return any(map(path.is_relative_to, self.opened))


NO_FOLDERS = ReadableFolders()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one moment. A decision, and the call that it allows, use one snapshot.

    The functions answer by the settings and the trust of the moment. Facts of
    the disk are read when a function is called.

    Attributes:
        policy: The mode, the user's rules and the folders that they are about.
        hidden: Does a deny rule keep this displayed path from the model?
        confine: The sandbox of a command with the given widening; None without a sandbox.
        is_private: If the workspace is the home folder: does this path lie where programs keep keys
            and tokens?
        secret_files: Names in the workspace that lead to secret files, absolute; blocks.
        repositories: Folders with git settings that the user was not asked about, absolute; blocks.
    """

    policy: Policy
    hidden: Callable[[str], bool] = hides_everything
    confine: Callable[[Widening], Confinement | None] = unconfined
    is_private: Callable[[Path], bool] = lies_in_no_home
    secret_files: Callable[[], tuple[str, ...]] = tuple
    repositories: Callable[[], tuple[str, ...]] = tuple

    @property
    def mode(self) -> Mode:
        """The mode: how often the user is asked."""
        return self.policy.mode

    def in_mode(self, mode: Mode) -> Rules:
        """The same rules in another mode."""
        return replace(self, policy=msgspec.structs.replace(self.policy, mode=mode))
