"""Keeps this process from finding programs and modules in the workspace (S-H6).

An activated environment of the project puts a folder of the workspace first on PATH. Libraries
start programs by a bare name (``uname``, ``ldconfig``, ``gcc``), and so would start what a command,
or whoever wrote the repository, put there: without the sandbox, and in a restricted folder too. So
PATH of our own process has no folder of the workspace and no relative one; nor has ``sys.path``,
from which plugins are loaded (``keyring``). Commands of the agent get PATH as it was given.

Nothing heavy is imported here: this is the first thing that our process does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

_SYSTEM = "/usr/bin"  # a workspace that holds this leaves no other to take from
_MOST_LINKS = 40  # one after the other, as the system follows them


class OwnPath:
    """PATH as it was given, and as our own process has it. One for the process: ``own_path``."""

    def __init__(self) -> None:
        self._given: str | None = None
        self._own: str | None = None
        self._folders: tuple[str, ...] = ()

    @property
    def given(self) -> str:
        """PATH as we were started with it, for commands of the agent."""
        now = os.environ.get("PATH")
        # Whoever set another one since then meant it.
        chosen = self._given if now is not None and now == self._own else now
        return os.defpath if chosen is None else chosen

    def keep_out(self, folders: Iterable[str | os.PathLike[str]] = ()) -> None:
        """Look into these folders no more, nor into relative ones; blocks for some ``stat``.

        A folder that leaves the workspace stays out: what commands wrote there is still there.

        Args:
            folders: Of the workspace, as far as they are known by now.
        """
        added = (os.path.abspath(one) for one in folders)
        self._folders = tuple(dict.fromkeys((*self._folders, *added)))
        given = self.given
        kept = [one for one in given.split(os.pathsep) if self._may_be_used(one)]
        self._own = os.pathsep.join(kept) or os.defpath  # an empty one is the working directory
        self._given = given
        os.environ["PATH"] = self._own
        sys.path[:] = [one for one in sys.path if _is_installed(one) or self._may_be_used(one)]

    def _may_be_used(self, entry: str) -> bool:
        return os.path.isabs(entry) and not lies_in(entry, self._folders)


own_path = OwnPath()


def lies_in(path: str | os.PathLike[str], folders: Iterable[str | os.PathLike[str]]) -> bool:
    """Does it lie in one of them: as it is written, by its folder, or where links lead?

    Names are compared, and what the system says of the folders above: on some systems names in
    other cases are the same.
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
    """Is it our own installation? Who writes there has the server itself."""
    return any(_is_below(entry, one) for one in (sys.prefix, sys.base_prefix, sys.exec_prefix))


def _names(path: str) -> Iterator[str]:
    """The file as it is written, and each link on the way to what it is."""
    yield os.path.normpath(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        path = os.path.join(os.path.realpath(folder), name)
        yield path
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except (OSError, ValueError):
            return  # no link


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
