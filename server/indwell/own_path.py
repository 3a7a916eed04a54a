"""Removes workspace folders from the search paths for programs and modules (S-H6).

An activated environment of the project puts a folder of the workspace first on PATH. Libraries
start programs by a bare name (``uname``, ``ldconfig``, ``gcc``). A program that a command or the
repository's author put into the workspace would then run outside the sandbox, even in a restricted
folder. PATH and ``sys.path`` of this process (from which ``keyring`` loads plugins) therefore have
no folder of the workspace and no relative folder. Commands of the agent get the original PATH.

This module imports nothing heavy, because the process runs this module first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator

_SYSTEM = "/usr/bin"  # If the workspace contains this folder, no other folder is left for programs.
if sys.platform == "win32":
    _ROOT = os.environ.get("SYSTEMROOT", r"C:\Windows")
    # `os.defpath` is unsuitable, because it contains the working folder.
    DEFAULT_PATH = f"{_ROOT}\\System32{os.pathsep}{_ROOT}"
    # Without this variable, Windows and libraries search the working folder before PATH.
    _NOT_HERE = {"NoDefaultCurrentDirectoryInExePath": "1"}
else:
    DEFAULT_PATH = os.defpath
    _NOT_HERE = dict[str, str]()
_MOST_LINKS = 40  # The system follows at most 40 links in a row.


class OwnPath:
    """Keeps the original PATH and changes the PATH of this process, by one object ``own_path``.

    Attributes:
        pending: Waits for the folders from ``sandbox.login_path``, or None if there is no search.
    """

    def __init__(self) -> None:
        self._given: str | None = None
        self._own: str | None = None
        self._folders: tuple[str, ...] = ()
        self.pending: Callable[[], object] | None = None

    @property
    def given(self) -> str:
        """The original PATH, for commands of the agent."""
        now = os.environ.get("PATH")
        # If the variable has another value, somebody set it on purpose.
        chosen = self._given if now is not None and now == self._own else now
        return DEFAULT_PATH if chosen is None else chosen

    def keep_out(self, folders: Iterable[str | os.PathLike[str]] = ()) -> None:
        """Remove these folders and all relative ones from PATH; blocks for some ``stat`` calls.

        A folder stays excluded after leaving the workspace, because files that commands wrote
        remain.

        Args:
            folders: The known folders of the workspace.
        """
        added = (os.path.abspath(one) for one in folders)
        self._folders = tuple(dict.fromkeys((*self._folders, *added)))
        self._set(self.given)
        sys.path[:] = [one for one in sys.path if _is_installed(one) or self._may_be_used(one)]

    def add(self, entries: Iterable[str], *, first: bool) -> None:
        """Add folders outside the workspace to the PATH of this process and of commands.

        Args:
            entries: Absolute folders.
            first: Whether to search the folders before the present ones; otherwise after.
        """
        added = [one for one in entries if self._may_be_used(one)]
        given = self.given.split(os.pathsep)
        every = (*added, *given) if first else (*given, *added)
        self._set(os.pathsep.join(dict.fromkeys(every)))

    def settle(self) -> None:
        """Wait until PATH is complete; the call blocks only in the first seconds of the process."""
        if self.pending is not None:
            self.pending()

    def _set(self, given: str) -> None:
        kept = [one for one in given.split(os.pathsep) if self._may_be_used(one)]
        # An empty PATH would mean the working directory.
        self._own = os.pathsep.join(kept) or DEFAULT_PATH
        self._given = given
        os.environ["PATH"] = self._own
        os.environ.update(_NOT_HERE)

    def _may_be_used(self, entry: str) -> bool:
        return os.path.isabs(entry) and not lies_in(entry, self._folders)


own_path = OwnPath()


def lies_in(path: str | os.PathLike[str], folders: Iterable[str | os.PathLike[str]]) -> bool:
    """Return whether the path is in one of the folders: as written, or after following links.

    Both names and the system's facts about parent folders are compared, because some systems ignore
    case.
    """
    every = {name for one in folders for name in (os.fspath(one), os.path.realpath(one))}
    real = [one for one in every if not _is_below(_SYSTEM, one)]
    ids = {known for one in real if (known := _identity(one)) is not None}
    return bool(real) and any(
        any(_is_below(name, one) for one in real)
        or any(_identity(above) in ids for above in _upwards(name))
        for name in _names(os.fspath(path))
    )


def _is_installed(entry: str) -> bool:
    """Return whether Indwell is installed at the path; whoever writes there controls the server."""
    return any(_is_below(entry, one) for one in (sys.prefix, sys.base_prefix, sys.exec_prefix))


def _names(path: str) -> Iterator[str]:
    """Yield the file as written, and each link on the way to its target."""
    yield os.path.normpath(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        path = os.path.join(os.path.realpath(folder), name)
        yield path
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except (OSError, ValueError):
            return  # The path is not a link.


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _upwards(path: str) -> Iterator[str]:
    while True:
        yield path
        above = os.path.dirname(path)
        if above == path:
            return
        path = above


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino)
