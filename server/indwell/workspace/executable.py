"""What in a folder is executed, loaded or obeyed without anybody naming it: what trust is about.

Only read, never run (TRU-01, TRU-15 to TRU-17): no git, no package manager, no tool is asked. A
list of places, not a search, so that it costs a few milliseconds in a repository of any size:
settings of Indwell, instructions for models, servers and tasks that agents and editors start, hooks
and the executing part of the configuration of git, what shells and package managers load.

Blocks: call it in a thread where it may.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from indwell.errors import TooLarge, ToolError
from indwell.files import Entry, exists, list_folder, read_bytes
from indwell.settings.redaction import redacted
from indwell.settings.trusted_files import Seen, digest_of, seen
from indwell.workspace.git_config import executing
from indwell.workspace.obeyed import FILES, FOLDERS, INSTRUCTIONS, Executable, Kind

MOST_FILES = 100  # of one of these folders; a person looks through far fewer
MOST_DEEP = 8
SHOWN_B = 64 * 1024  # a longer text is known only as a whole, …
SHOWN_LINES = 1_000  # … and so is one of more lines
READ_B = 256 << 10  # of a file, and of all of a folder
CONFIGURATION_CHARACTERS = 64_000  # a longer one is known as a whole, branches and all
_GIT = ".git"
_NOWHERE = frozenset({".git", "node_modules", ".venv", "venv", "target", "dist", "__pycache__"})
MOST_SEEN = 20_000  # entries that a search for instructions looks at


def executables(root: Path) -> tuple[Executable, ...]:
    """What ``root``, a real path, holds of this kind, sorted by name."""
    found = [one for kind, name in FILES if (one := _file(root, root / name, kind)) is not None]
    for kind, name in FOLDERS:
        found += _folder(root, root / name, kind)
    found += _git(root)
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


def _file(root: Path, path: Path, kind: Kind) -> Executable | None:
    """What stands at ``path``; None if nothing does, or a folder."""
    if not exists(path):
        return None
    name = _name(root, path)
    try:
        data = _content(root, path)
    except TooLarge:
        return Executable(name, kind, _by_its_times(path))
    except ToolError:
        return None if path.is_dir() else Executable(name, kind, _elsewhere(path))
    lines = () if _may_hold_keys(path) else _lines(data)
    return Executable(name, kind, seen(data, lines=lines), lines)


def _content(root: Path, path: Path) -> bytes:
    """All of a file beneath ``root``.

    Raises:
        TooLarge: It is longer than anything that is read here.
        ToolError: It leads elsewhere, or is no file.
    """
    return read_bytes(path, [root], READ_B)


def _by_its_times(path: Path) -> Seen:
    """A file that is too long to be read: known by what the system notes of each change."""
    try:
        found = path.stat()
    except OSError:
        return Seen("")
    facts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return Seen(digest_of(repr(facts).encode()))


def _elsewhere(path: Path) -> Seen:
    """A link that leads out of the folder, or what cannot be read: known by where it leads."""
    return Seen(digest_of(b"leads to \0" + os.fsencode(os.path.realpath(path))))


def _lines(data: bytes) -> tuple[str, ...]:
    if len(data) > SHOWN_B or b"\0" in data:
        return ()
    lines = tuple(data.decode("utf-8", "replace").splitlines())
    return lines if len(lines) <= SHOWN_LINES else ()


def _may_hold_keys(path: Path) -> bool:
    return path.name.startswith((".env", ".npmrc", ".yarnrc"))


def _folder(root: Path, folder: Path, kind: Kind) -> list[Executable]:
    """All files of a folder, also behind links inside ``root``; too many are never known again."""
    found: list[Executable] = []
    n_seen, size, waiting = 0, 0, [(folder, 0)]
    while waiting:
        at, depth = waiting.pop()
        for entry in _entries(root, at):
            path = at / entry.name
            n_seen += 1
            size += _size_b(path)
            if n_seen > MOST_FILES or size > READ_B or depth > MOST_DEEP:
                return [Executable(f"{_name(root, folder)}/…", kind, Seen(""))]
            if entry.is_folder or (path.is_dir() and path.resolve().is_relative_to(root)):
                waiting.append((path, depth + 1))
            elif path.is_dir():
                found.append(Executable(_name(root, path), kind, _elsewhere(path)))
            elif (one := _file(root, path, kind)) is not None:
                found.append(one)
    if not found and folder.is_symlink():
        return [Executable(_name(root, folder), kind, _elsewhere(folder))]
    return found


def _size_b(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _git(root: Path) -> list[Executable]:
    """What git runs in ``root``: of its repository, or of the one around it."""
    holder = next((one for one in (root, *root.parents) if exists(one / _GIT)), None)
    if holder is None:
        return []
    git, found = holder / _GIT, []
    if not git.is_dir():  # a worktree or a submodule: a file that says where
        pointer = _file(root if holder == root else holder, git, "programs")
        found += [msgspec.structs.replace(pointer, name=_name(root, git))] if pointer else []
        git = _pointed(holder, git)
    for name in ("config", "config.worktree"):
        found += _configuration(root, holder, git, git / name)
    found += _hooks(root, git, git / "hooks")
    return found


def _pointed(holder: Path, git: Path) -> Path:
    """The folder of a repository that a ``.git`` file names; itself if it names none."""
    text = _text(holder, git)
    if not text.startswith("gitdir:"):
        return git
    folder = Path(os.path.realpath(holder / text.removeprefix("gitdir:").strip()))
    common = _text(folder, folder / "commondir").strip()
    return Path(os.path.realpath(folder / common)) if common else folder


def _configuration(root: Path, holder: Path, git: Path, path: Path) -> list[Executable]:
    """The executing part of a configuration, and the files of the folder that it names."""
    text = _text(git, path)
    if len(text) > CONFIGURATION_CHARACTERS:
        return [Executable(_name(root, path), "programs", seen(text.encode()))]
    part = executing(text)
    if not part.lines:
        return []
    text = "\n".join(part.lines)
    lines = tuple(map(_without_keys, part.lines)) if len(part.lines) <= SHOWN_LINES else ()
    found = [Executable(_name(root, path), "programs", seen(text.encode(), lines=lines), lines)]
    for include in part.includes:
        target = Path(os.path.realpath(path.parent / include))
        if target.is_relative_to(holder) and (one := _file(holder, target, "programs")):
            found.append(msgspec.structs.replace(one, name=_name(root, target)))
    if part.hooks:
        hooks = Path(os.path.realpath(holder / part.hooks))
        if hooks.is_relative_to(holder):
            found += _hooks(root, holder, hooks)
    return found


def _hooks(root: Path, above: Path, folder: Path) -> list[Executable]:
    found: list[Executable] = []
    for entry in _entries(above, folder):
        if entry.is_folder or entry.name.endswith(".sample"):
            continue
        if len(found) >= MOST_FILES:
            return [Executable(f"{_name(root, folder)}/…", "programs", Seen(""))]
        one = _file(above, folder / entry.name, "programs")
        if one is not None:
            found.append(msgspec.structs.replace(one, name=_name(root, folder / entry.name)))
    return found


def _without_keys(line: str) -> str:
    """A line of a configuration as it may be shown and kept."""
    key = line.partition("=")[0]
    return f"{key}= (not shown)" if "header" in key.lower() else redacted(line)


def _text(above: Path, path: Path) -> str:
    """A short text; nothing if there is none."""
    try:
        return _content(above, path).decode("utf-8", "replace") if exists(path) else ""
    except ToolError:
        return ""


def _entries(root: Path, folder: Path) -> tuple[Entry, ...]:
    if not exists(folder):
        return ()
    try:
        return list_folder(folder, [root])
    except ToolError:
        return ()


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
