"""Where programs are found, and where not: never in a folder that a command may write to (S-H6)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from indwell.sandbox.environment import clean_environment

_SYSTEM = Path("/usr/bin")  # a workspace that holds this leaves no other to take from
_MOST_LINKS = 40  # one after the other, as the system follows them


def find_program(name: str, never_in: Sequence[Path] = ()) -> Path | None:
    """Find a program beside our own Python (where packages install theirs), else on PATH.

    An activated environment of the project puts a folder of the workspace first on PATH. What a
    sandboxed command wrote there must not be what we start without a sandbox.

    Beside our own Python it may lie in the workspace: who writes there has the server itself.

    Args:
        name: Of the program.
        never_in: Folders of the workspace, in which none is taken.
    """
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    return Path(beside) if beside else _on_path(name, never_in)


def program_within(name: str, folders: Sequence[Path]) -> Path | None:
    """The file in one of some folders that a shell of ours runs by a bare name; None if none."""
    found = shutil.which(name, path=clean_environment(os.environ)["PATH"])
    return Path(found) if found and _lies_in(Path(found), folders) else None


def program_on_path(name: str) -> Path | None:
    """The file that a shell of ours runs by a bare name, wherever it lies; None if none."""
    found = shutil.which(name, path=clean_environment(os.environ)["PATH"])
    return Path(found) if found else None


def path_without(folders: Sequence[Path]) -> str:
    """The PATH of a child, less its entries in some folders, also those that links lead there."""
    entries = clean_environment(os.environ)["PATH"].split(os.pathsep)
    kept = os.pathsep.join(one for one in entries if not _lies_in(Path(one), folders))
    return kept or os.defpath  # an empty one means the working directory


def own_installation(roots: Iterable[Path]) -> tuple[Path, ...]:
    """Where our own Python is installed, if that is in the workspace.

    No sandboxed command may write there: what it wrote would run without a sandbox, at the next
    start or sooner.
    """
    prefix = Path(sys.prefix)
    return (prefix.resolve(),) if _lies_in(prefix, tuple(roots)) else ()


def _on_path(name: str, never_in: Sequence[Path]) -> Path | None:
    for entry in clean_environment(os.environ)["PATH"].split(os.pathsep):
        found = shutil.which(name, path=entry) if entry else None
        if found and not _lies_in(Path(found), never_in):
            return Path(found)
    return None


def _lies_in(path: Path, folders: Sequence[Path]) -> bool:
    """Does it lie in one of them: as it is written, by its folder, or where links lead?"""
    every = (*folders, *(folder.resolve() for folder in folders))
    real = [folder for folder in every if not _SYSTEM.is_relative_to(folder)]
    return bool(real) and any(
        name.is_relative_to(folder) for name in _names(path) for folder in real
    )


def _names(path: Path) -> Iterator[Path]:
    """The file as it is written, and each link on the way to what it is."""
    yield Path(os.path.normpath(path))
    for _ in range(_MOST_LINKS):
        path = path.parent.resolve() / path.name
        yield path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()
