"""Finds the files of a folder that tools run or load automatically, for the trust question."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from indwell.errors import TooLarge, ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.disk_names import OtherShare, leads_abroad, real_path_here
from indwell.files.listing import FolderEntry, exists, list_folder
from indwell.files.system import calls
from indwell.lazy_pattern import lazy_pattern
from indwell.prompt.instruction_files import (
    MOST_IMPORT_DEPTH,
    NESTED,
    imports_files,
    imports_of,
)
from indwell.settings.credentials import redacted
from indwell.settings.trusted_files import TrustedFile, digest_of, seen
from indwell.workspace.executable_places import FILES, FOLDERS, INSTRUCTIONS, Executable, Kind
from indwell.workspace.git.repository import (
    GIT,
    HOOKS,
    ConfigFile,
    Repository,
    around,
    nested,
    repository_of,
)

MOST_FILES = 1_000  # Collections of skills have some hundred files in one folder.
MOST_DEEP = 8
FOLDER_B = 4 << 20  # Digests of this many bytes in a folder take 20 ms.
_NOWHERE = frozenset({".git", "node_modules", ".venv", "venv", "target", "dist", "__pycache__"})
_CHAT = lazy_pattern(
    # The pattern matches a chat, its backup by Emacs or Vim, and Emacs's lock file.
    r".*\.chat\.md~?"
    r"|#.*\.chat\.md#"  # The pattern matches Emacs's auto-save files, …
    # The pattern also matches Vim's and Kate's swap files of a chat.
    r"|\..*\.chat\.md\.(sw[a-p]|kate-swp)"
)
MOST_NESTED = 300  # Digests of this many files of nested folders take some 30 ms.
MOST_SEEN = 20_000  # A search for instructions visits at most 20,000 entries.


def executables(root: Path) -> tuple[Executable, ...]:
    """Return the files in ``root`` (a real path) that tools run or load, sorted by name."""
    found = [
        one for kind, name in FILES if (one := known_file(root, root / name, kind)) is not None
    ]
    for kind, name in FOLDERS:
        folder = root / name
        if leads_abroad(folder, (root,)):
            found.append(Executable(name, kind, elsewhere(folder)))
        else:
            found += _folder(root, folder, kind)
    found += git_executables(root)
    by_name = {one.name: one for one in found}
    return tuple(by_name[name] for name in sorted(by_name))


def instruction_files(root: Path) -> tuple[str, ...]:
    """Return the names of all instruction files that a bounded search of ``root`` finds."""
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
    """Return the instruction files of subfolders that Indwell would send to the model.

    The files do not affect the trust in ``root``; a file that is changed later is ignored.
    """
    found = instruction_files(root)
    nested = [one for one in found if "/" in one and one.rpartition("/")[2] in NESTED]
    importing = [one for one in found if imports_files(one)]
    names = islice((*nested, *_imports(root, importing)), MOST_NESTED)
    files = (known_file(root, root / name, "instructions") for name in dict.fromkeys(names))
    return tuple(one for one in files if one is not None)


def _imports(root: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield the files that instruction files import, directly or through other files."""
    waiting, known = [(name, 0) for name in names], set(names)
    while waiting:
        name, depth = waiting.pop(0)
        try:
            text = read_bytes(root / name, [root], READ_B).decode("utf-8", "replace")
        except ToolError:
            continue
        for one in imports_of(text, name):
            is_new = one not in known and len(known) < MOST_NESTED
            if is_new and not leads_abroad(root / one, (root,)) and (root / one).is_file():
                known.add(one)
                yield one
                waiting += [(one, depth + 1)] if depth + 1 < MOST_IMPORT_DEPTH else []


def _folder(root: Path, folder: Path, kind: Kind) -> list[Executable]:
    """Return a folder's files, even through links in ``root``; too large folders never match."""
    found: list[Executable] = []
    n_seen, size, waiting = 0, 0, [(folder, 0)]
    while waiting:
        at, depth = waiting.pop()
        entries = _entries(root, at)
        if not entries and _is_shut(root, at):
            return [Executable(f"{name_in(root, folder)}/…", kind, TrustedFile(""))]
        for entry in entries:
            path = at / entry.name
            if _is_chat(root, path):
                continue
            n_seen += 1
            size += _size_b(root, path)
            if n_seen > MOST_FILES or size > FOLDER_B or depth > MOST_DEEP:
                return [Executable(f"{name_in(root, folder)}/…", kind, TrustedFile(""))]
            is_folder = _is_folder(root, path)
            if entry.is_folder or (is_folder and path.resolve().is_relative_to(root)):
                waiting.append((path, depth + 1))
            elif is_folder:
                found.append(Executable(name_in(root, path), kind, elsewhere(path)))
            elif (one := known_file(root, path, kind)) is not None:
                found.append(one)
    if not found and folder.is_symlink():
        return [Executable(name_in(root, folder), kind, elsewhere(folder))]
    return found


def _is_chat(root: Path, path: Path) -> bool:
    """Return whether a file is a chat (``chat_names``), or the file that makes git ignore chats."""
    is_name = path.name == ".gitignore" or _CHAT.fullmatch(path.name) is not None
    # Emacs creates a link without a target.
    is_lock = path.name.startswith(".#") and not (leads_abroad(path, (root,)) or path.exists())
    return (
        is_name
        and path.parent == root / ".indwell" / "chats"
        and (is_lock or not path.is_symlink())
    )


def _is_shut(root: Path, folder: Path) -> bool:
    """Return whether a folder cannot be listed, although its files can be opened by name."""
    real = folder.resolve()
    if not real.is_dir() or not real.is_relative_to(root):
        return False
    try:
        list_folder(real, [root])
    except ToolError:
        return True
    return False


def _is_folder(root: Path, path: Path) -> bool:
    """Return whether a path is a folder, or a link to one that is not on another network share."""
    return not leads_abroad(path, (root,)) and path.is_dir()


def _size_b(root: Path, path: Path) -> int:
    if leads_abroad(path, (root,)):
        return 0
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _entries(root: Path, folder: Path) -> tuple[FolderEntry, ...]:
    if not exists(folder):
        return ()
    try:
        return list_folder(folder, [root])
    except ToolError:
        return ()


MOST_HOOKS = 100  # One folder has at most 100 hooks.
# A text with more characters is compared as a whole, including branches.
CONFIGURATION_CHARACTERS = 64_000


def git_executables(root: Path) -> Iterator[Executable]:
    """Yield files that git runs for the repository of ``root`` (a real path) and nested ones."""
    for holder in around(root):
        git = holder / GIT
        # A worktree or a submodule has a `.git` file that names the repository.
        if git.is_symlink() or git.is_file():
            pointer = known_file(root, git, "programs", [holder])
            yield from [pointer] if pointer else []
        yield from _of(root, holder)
    holders, is_whole = nested(root)
    for holder in holders:
        yield from _of(root, holder)
    if not is_whole:
        yield Executable(f"{GIT}/… (of all repositories in it)", "programs", TrustedFile(""))


def _of(root: Path, holder: Path) -> Iterator[Executable]:
    repository = repository_of(holder)
    if repository is None:
        return
    for one in repository.configurations:
        yield from _configuration(root, repository, one)
    for folder in repository.hooks:
        yield from _hooks(root, repository, folder)
    for hooks in (folder / "hooks" for folder in repository.folders):
        if leads_abroad(hooks, (root,)):
            yield Executable(name_in(root, hooks), "programs", elsewhere(hooks))
    for path in repository.programs:
        found = known_file(root, path, "programs", [holder])
        yield from [found] if found else []
    if not repository.is_whole:
        yield Executable(f"{name_in(root, holder / GIT)}/…", "programs", TrustedFile(""))


def _configuration(root: Path, repository: Repository, one: ConfigFile) -> Iterator[Executable]:
    """Yield the part of a configuration that runs programs, if any."""
    name = name_in(root, one.path)
    near = (repository.holder, root, *repository.folders)
    if one.text is None:
        yield Executable(name, "programs", by_its_times(one.path))
        return
    if len(one.text) > CONFIGURATION_CHARACTERS:
        yield Executable(name, "programs", seen(one.text.encode("utf-8", "surrogatepass")))
        return
    counting = [line for line in one.part.lines if not _is_own_tree(line, repository, one)]
    if not counting:
        return
    text = "\n".join(counting).encode("utf-8", "surrogatepass")
    if not any(one.real.is_relative_to(folder) for folder in near):
        # The user's own configuration is never shown.
        yield Executable(name, "programs", by_its_times(one.path))
        return
    lines = tuple(map(_without_keys, counting)) if len(counting) <= SHOWN_LINES else ()
    yield Executable(name, "programs", seen(text, lines=lines), lines)


def _is_own_tree(line: str, repository: Repository, one: ConfigFile) -> bool:
    """Return whether a line only names the working tree of a submodule's own repository."""
    key, _, value = line.partition(" = ")
    if key != "core.worktree" or "\0" in value:
        return False
    if leads_abroad(one.real.parent / value, (repository.holder,)):
        return False
    return os.path.realpath(one.real.parent / value) == os.path.realpath(repository.holder)


def _hooks(root: Path, repository: Repository, folder: Path) -> Iterator[Executable]:
    # The folder is the workspace itself, and not a folder of hooks.
    is_all = root.is_relative_to(folder)
    within = (repository.holder, root, *repository.folders)
    n_found = 0
    for name in _names(folder):
        if name.endswith(".sample") or (is_all and name not in HOOKS):
            continue
        n_found += 1
        if n_found > MOST_HOOKS:
            yield Executable(f"{name_in(root, folder)}/…", "programs", TrustedFile(""))
            return
        found = known_file(root, folder / name, "programs", within)
        yield from [found] if found else []


def _names(folder: Path) -> tuple[str, ...]:
    """Return the hooks of a folder, or the names that git would run if it cannot be listed."""
    try:
        return tuple(one.name for one in list_folder(folder, [folder]) if not one.is_folder)
    except ToolError:
        return tuple(sorted(HOOKS))


def _without_keys(line: str) -> str:
    """Remove secrets from a line of configuration that is shown and stored."""
    key = line.partition("=")[0]
    return f"{key}= (not shown)" if "header" in key.lower() else redacted(line)


SHOWN_B = 64 * 1024  # A text with more bytes is compared as a whole and not shown.
SHOWN_LINES = 1_000  # A text with more lines is compared as a whole and not shown.
READ_B = 256 << 10  # A file with more bytes is identified by its times.


def known_file(
    root: Path, path: Path, kind: Kind, within: Sequence[Path] = ()
) -> Executable | None:
    """Describe the file at ``path``; return None for a folder or a missing file.

    Args:
        root: The folder that names are relative to.
        path: The path as a tool opens it.
        kind: The kind of the file.
        within: Folders to which links may lead; ``root`` by default.
    """
    name = name_in(root, path)
    if leads_abroad(path, (root,)):
        return Executable(name, kind, elsewhere(path))
    if not exists(path):
        return None
    try:
        data = read_bytes(path, within or [root], READ_B)
    except TooLarge:
        return Executable(name, kind, by_its_times(path))
    except ToolError:
        return None if path.is_dir() else Executable(name, kind, elsewhere(path))
    lines = () if _may_hold_keys(path) else _lines(data)
    return Executable(name, kind, seen(data, lines=lines), lines)


def by_its_times(path: Path) -> TrustedFile:
    """Describe a file by its change times and path, because its content is not read."""
    if leads_abroad(path, (path.parent,)):
        return elsewhere(path)
    real = os.path.realpath(path)
    try:
        found = calls.stat(path)
    except OSError:
        return elsewhere(path)
    facts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return TrustedFile(digest_of(repr((real, facts)).encode("utf-8", "surrogatepass")))


def elsewhere(path: Path) -> TrustedFile:
    """Describe a link out of the folder, or an unreadable file, by its resolved path."""
    try:
        end = real_path_here(path, (path.parent,))
    except OtherShare as error:  # The path is on another network share, which is never accessed.
        end = error.share
    return TrustedFile(digest_of(b"leads to \0" + os.fsencode(end)))


def name_in(root: Path, path: Path) -> str:
    """Return a path relative to ``root``; a path outside ``root`` stays absolute."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _lines(data: bytes) -> tuple[str, ...]:
    if len(data) > SHOWN_B or b"\0" in data:
        return ()
    lines = tuple(data.decode("utf-8", "replace").splitlines())
    return lines if len(lines) <= SHOWN_LINES else ()


def _may_hold_keys(path: Path) -> bool:
    return path.name.startswith((".env", ".npmrc", ".yarnrc"))
