"""What in a folder is executed, loaded or obeyed without anybody naming it: what trust is about.

Only read, never run (TRU-01, TRU-15 to TRU-17): no git, no package manager, no tool is asked. A
list of places, and one search for repositories, which reads again only folders that changed:
settings of Indwell, instructions for models, servers and tasks that agents and editors start, hooks
and the executing part of the configuration of git, what shells and package managers load.

Blocks: call it in a thread where it may.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import Entry, exists, list_folder
from indwell.settings.trusted_files import Seen
from indwell.workspace.git_executables import git_executables
from indwell.workspace.known import elsewhere, known_file, name_in
from indwell.workspace.obeyed import FILES, FOLDERS, INSTRUCTIONS, Executable, Kind

MOST_FILES = 1_000  # of one of these folders; collections of skills have some hundred
MOST_DEEP = 8
FOLDER_B = 4 << 20  # all of a folder; digested in 20 ms
_NOWHERE = frozenset({".git", "node_modules", ".venv", "venv", "target", "dist", "__pycache__"})
_CHAT = re.compile(
    r".*\.chat\.md~?"  # a chat, and the copy that Emacs and Vim keep of it; the lock of Emacs
    r"|#.*\.chat\.md#"  # what Emacs saves by itself, …
    r"|\..*\.chat\.md\.(sw[a-p]|kate-swp)"  # … and Vim and Kate
)
OBEYED = "AGENTS.md"  # of the names of instruction files the one that Indwell reads
MOST_NESTED = 300  # of them that one answer covers; digested in some 30 ms
MOST_SEEN = 20_000  # entries that a search for instructions looks at


def executables(root: Path) -> tuple[Executable, ...]:
    """What ``root``, a real path, holds of this kind, sorted by name."""
    found = [
        one for kind, name in FILES if (one := known_file(root, root / name, kind)) is not None
    ]
    for kind, name in FOLDERS:
        found += _folder(root, root / name, kind)
    found += git_executables(root)
    by_name = {one.name: one for one in found}
    return tuple(by_name[name] for name in sorted(by_name))


def instruction_files(root: Path) -> tuple[str, ...]:
    """Names of all instruction files that a bounded search of ``root`` finds."""
    found: list[str] = []
    n_seen, folders = 0, [(root, 0)]
    while folders and n_seen < MOST_SEEN:
        folder, depth = folders.pop()
        for entry in _entries(root, folder):
            n_seen += 1
            path = folder / entry.name
            if entry.is_folder and depth < MOST_DEEP and entry.name not in _NOWHERE:
                folders.append((path, depth + 1))
            elif entry.name.lower() in INSTRUCTIONS and not entry.is_folder:
                found.append(path.relative_to(root).as_posix())
    return tuple(sorted(found))


def folder_instructions(root: Path) -> tuple[Executable, ...]:
    """The files of instructions of the folders in ``root`` that would go to the model.

    They decide nothing about the trust in ``root``: one that is not as it was trusted is ignored.
    """
    names = (one for one in instruction_files(root) if one.endswith(f"/{OBEYED}"))
    found = (known_file(root, root / name, "instructions") for name in islice(names, MOST_NESTED))
    return tuple(one for one in found if one is not None)


def _folder(root: Path, folder: Path, kind: Kind) -> list[Executable]:
    """All files of a folder, also behind links inside ``root``; too many are never known again."""
    found: list[Executable] = []
    n_seen, size, waiting = 0, 0, [(folder, 0)]
    while waiting:
        at, depth = waiting.pop()
        entries = _entries(root, at)
        if not entries and _is_shut(root, at):
            return [Executable(f"{name_in(root, folder)}/…", kind, Seen(""))]
        for entry in entries:
            path = at / entry.name
            if _is_chat(root, path):
                continue
            n_seen += 1
            size += _size_b(path)
            if n_seen > MOST_FILES or size > FOLDER_B or depth > MOST_DEEP:
                return [Executable(f"{name_in(root, folder)}/…", kind, Seen(""))]
            if entry.is_folder or (path.is_dir() and path.resolve().is_relative_to(root)):
                waiting.append((path, depth + 1))
            elif path.is_dir():
                found.append(Executable(name_in(root, path), kind, elsewhere(path)))
            elif (one := known_file(root, path, kind)) is not None:
                found.append(one)
    if not found and folder.is_symlink():
        return [Executable(name_in(root, folder), kind, elsewhere(folder))]
    return found


def _is_chat(root: Path, path: Path) -> bool:
    """Is it a chat of the user (``chat_names``), or the file that ignores chats?"""
    is_name = path.name == ".gitignore" or _CHAT.fullmatch(path.name) is not None
    is_lock = path.name.startswith(".#") and not path.exists()  # a link that leads nowhere
    return (
        is_name
        and path.parent == root / ".indwell" / "chats"
        and (is_lock or not path.is_symlink())
    )


def _is_shut(root: Path, folder: Path) -> bool:
    """May nobody list it, though whoever knows a name in it can open that?"""
    real = folder.resolve()
    if not real.is_dir() or not real.is_relative_to(root):
        return False
    try:
        list_folder(real, [root])
    except ToolError:
        return True
    return False


def _size_b(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _entries(root: Path, folder: Path) -> tuple[Entry, ...]:
    if not exists(folder):
        return ()
    try:
        return list_folder(folder, [root])
    except ToolError:
        return ()
