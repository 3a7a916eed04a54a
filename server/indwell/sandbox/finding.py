"""Where programs are found, and where not: never in a folder that a command may write to (S-H6)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from indwell.own_path import lies_in, own_path
from indwell.sandbox.environment import clean_environment


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


def commands_path() -> str:
    """PATH of the agent's commands: as it was given, with the environment of the project.

    Our own process, and what it starts for itself, has another one (``indwell.own_path``).
    """
    return clean_environment({"PATH": own_path.given})["PATH"]


def program_within(name: str, folders: Sequence[Path]) -> Path | None:
    """The file in one of some folders that a shell of ours runs by a bare name; None if none."""
    found = shutil.which(name, path=commands_path())
    return Path(found) if found and lies_in(found, folders) else None


def program_on_path(name: str) -> Path | None:
    """The file that a shell of ours runs by a bare name, wherever it lies; None if none."""
    found = shutil.which(name, path=commands_path())
    return Path(found) if found else None


def path_without(folders: Sequence[Path]) -> str:
    """The PATH of commands, less its entries in some folders, also those that links lead there."""
    entries = commands_path().split(os.pathsep)
    kept = os.pathsep.join(one for one in entries if not lies_in(one, folders))
    return kept or os.defpath  # an empty one means the working directory


def own_installation(roots: Iterable[Path]) -> tuple[Path, ...]:
    """Where our own Python is installed, if that is in the workspace.

    No sandboxed command may write there: what it wrote would run without a sandbox, at the next
    start or sooner.
    """
    prefix = Path(sys.prefix)
    return (prefix.resolve(),) if lies_in(prefix, tuple(roots)) else ()


def _on_path(name: str, never_in: Sequence[Path]) -> Path | None:
    for entry in clean_environment(os.environ)["PATH"].split(os.pathsep):
        found = shutil.which(name, path=entry) if entry else None
        if found and not lies_in(found, never_in):
            return Path(found)
    return None
