"""Reads git's refs and objects, and checks that objects match their names.

Git trusts the names of objects. A command that may write to the store can give wrong content the
name of a committed object, and the next checkout writes the wrong content. A pack's index, an index
of several packs and a graph of commits can be forged in the same way. Each new file is therefore
hashed here or verified by git. Files that redirect git to other objects or another history are
reported.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from indwell.errors import ToolError
from indwell.files.contents.reading import opened_beneath, read_bytes
from indwell.files.disk_names import leads_abroad
from indwell.files.system import calls
from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.git.repository import repository_of

# the limit of files in one repository's stores; git packs loose objects from 6,700 on
MOST_FILES = 100_000
MOST_REFS = 20_000
REFS_B = 4 << 20  # the limit of bytes for one file with refs
MOST_STORES = 20  # the limit of stores that refer to one another
# the time limit, in seconds, for all files of one command; git packs 500 MB in 20 seconds
CHECK_S = 20.0
REDIRECT_B = 64 << 10  # the limit of bytes for a file that names other stores
_PIECE_B = 1 << 20
NO_OBJECT = frozenset({"0" * 40, "0" * 64})
_SHA = lazy_pattern(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b")
_PACKED_REPLACEMENT = lazy_pattern(r"^([0-9a-f]+) refs/replace/(\S+)$", re.MULTILINE)
_FANOUT = lazy_pattern(r"[0-9a-f]{2}")
_LOOSE = lazy_pattern(r"/([0-9a-f]{2})/([0-9a-f]{62}|[0-9a-f]{38})$")
_PACK = lazy_pattern(r"/pack/[^/]+\.(?:pack|idx|rev)$")
_PACK_INDEX = lazy_pattern(r"/pack/multi-pack-index[^/]*$")
_GRAPH = lazy_pattern(r"/info/commit-graphs?(?:/[^/]+)?$")
_REDIRECTS = ("info/alternates", "info/http-alternates")
_HISTORY = ("info/grafts", "shallow")
_SLOW = f"it could not be checked within {CHECK_S:g} s"

Stamp: TypeAlias = tuple[int, int]
"""A file's inode and the time of its last change, which no program can set."""

FileStamp: TypeAlias = tuple[int, int, int, int] | None

RunGit: TypeAlias = Callable[[Sequence[str], float], Awaitable[str]]
"""Runs git with arguments and a time limit in seconds; returns the failure, or no text."""


class Store(msgspec.Struct, frozen=True):
    """The files of a repository's stores at one moment, by absolute path.

    Attributes:
        folders: Folders of objects.
        files: All files that git reads in the folders, and files that change how git reads history.
    """

    folders: Mapping[str, Stamp] = {}
    files: Mapping[str, Stamp] = {}


class Fault(msgspec.Struct, frozen=True):
    """A suspicious file of a store, about which the user is asked.

    Attributes:
        path: The absolute path.
        words: The problem of the file in words, without the path.
    """

    path: str
    words: str


class UnreadableStore(Exception):
    """Git's data cannot be read, or is too large to examine; the message says which."""


def refs_of(
    holder: Path,
) -> tuple[tuple[tuple[str, FileStamp], ...], frozenset[str], Mapping[str, str]]:
    """Return the stamps of index and refs, the objects that refs name, and the replacements."""
    repository = repository_of(holder)
    if repository is None or not repository.folders:
        return (), frozenset(), {}
    stamps: list[tuple[str, FileStamp]] = []
    tips: set[str] = set()
    replaced: dict[str, str] = {}
    replacements = {folder / "refs" / "replace" for folder in repository.folders}
    for at in _ref_files(repository.folders):
        stamps.append((str(at), _file_stamp(at)))
        if at.name == "index":
            continue
        if len(stamps) > MOST_REFS:
            raise UnreadableStore(f"there are more than {MOST_REFS:,} refs")
        text = _text(at)
        tips.update(_SHA.findall(text))
        if at.name == "packed-refs":
            replaced |= {name: other for other, name in _PACKED_REPLACEMENT.findall(text)}
        # A loose ref comes later in the list, and overrides a packed ref.
        elif at.parent in replacements:
            replaced[at.name] = text.strip()
    return tuple(stamps), frozenset(tips - NO_OBJECT), replaced


def _ref_files(folders: Sequence[Path]) -> Iterator[Path]:
    """Return the paths of the index, of all heads, and of the files with refs."""
    for folder in folders:
        yield folder / "index"
        if (folder / "reftable").exists():
            raise UnreadableStore("its refs are in a format (reftable) that Indwell does not read")
        yield folder / "packed-refs"
        yield folder / "logs" / "refs" / "stash"
        for one in sorted(folder.glob("*")):
            if one.name.isupper() and one.is_file():  # HEAD, FETCH_HEAD, or any other pseudo ref
                yield one
        for name in ("refs", "worktrees"):
            for above, _, names in os.walk(folder / name):
                for file in sorted(names):
                    if name == "refs" or file == "index" or file.isupper():
                        yield Path(above, file)


def _file_stamp(path: Path) -> FileStamp:
    try:
        now = calls.lstat(path)
    except (OSError, ValueError):
        return None
    return (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        return read_bytes(path, (path.parent,), REFS_B).decode("ascii", "replace")
    except ToolError as error:
        raise UnreadableStore(str(error)) from error


def store_of(
    folders: Sequence[Path], roots: Sequence[Path], known: Store, *, is_quick: bool = False
) -> Store:
    """Return the files that a repository's stores contain now; blocks.

    Args:
        folders: Git's own folders.
        roots: Folders in which commands may write; stores outside are skipped.
        known: The store at the last comparison.
        is_quick: Whether to copy unchanged folders from ``known``; correct if no file was
            overwritten.

    Raises:
        Unreadable: There are more than ``MOST_FILES`` files.
        OSError: A folder cannot be read.
    """
    stores = _stores(folders, roots)
    held = {path: _stamp(path) for store in stores for path in _folders(store)}
    there = {path: one for path, one in held.items() if one is not None}
    special = [f"{folder}/{name}" for folder in folders for name in _HISTORY]
    special += [f"{store}/{name}" for store in stores for name in _REDIRECTS]
    files = {path: one for path in special if (one := _stamp(path)) is not None}
    if is_quick and there == known.folders:
        files |= {path: one for path, one in known.files.items() if path not in special}
        return known if files == known.files else Store(there, files)
    for folder in there:
        with calls.scan(folder) as entries:
            for entry in entries:
                if (now := _stamp(entry)) is not None and entry.is_file():
                    files[entry.path] = now
        if len(files) > MOST_FILES:
            raise UnreadableStore(f"it holds more than {MOST_FILES:,} loose objects; run `git gc`")
    return known if Store(there, files) == known else Store(there, files)


async def faults(new: Iterable[str], run_git: RunGit) -> list[Fault]:
    """Return the faults among the new or changed files of a store."""
    until = time.monotonic() + CHECK_S
    paths = sorted(new)
    found = await asyncio.to_thread(_loose_faults, paths, until)
    checks: dict[tuple[str, ...], str] = {}
    for path in paths:
        if path.endswith((*_REDIRECTS, *_HISTORY)):
            found.append(Fault(path, "it redirects git to other objects, or to another history"))
        elif words := _check_of(path):
            checks.setdefault(words, path)
    for words, path in checks.items():
        left = until - time.monotonic()
        why = await run_git(words, left) if left > 0 else _SLOW
        if why:
            found.append(Fault(path, why))
    return found


def _check_of(path: str) -> tuple[str, ...]:
    """Return the git command that verifies a pack, index or commit graph, or nothing for others."""
    if _PACK.search(path):
        pack = Path(path).with_suffix(".pack")
        is_whole = pack.exists() and pack.with_suffix(".idx").exists()
        return ("index-pack", "--verify", str(pack)) if is_whole else ()
    if found := _PACK_INDEX.search(path):
        return ("multi-pack-index", f"--object-dir={path[: found.start()]}", "verify")
    if found := _GRAPH.search(path):
        return ("commit-graph", "verify", f"--object-dir={path[: found.start()]}")
    return ()


def _loose_faults(paths: Sequence[str], until: float) -> list[Fault]:
    found: list[Fault] = []
    for path in paths:
        named = _LOOSE.search(path)
        if named is None:
            continue
        try:
            why = _why_not(path, "".join(named.groups()), until)
        except FileNotFoundError:
            continue
        except (ToolError, OSError) as error:
            why = f"it could not be checked: {error}"
        if why:
            found.append(Fault(path, why))
    return found


def _why_not(path: str, name: str, until: float) -> str:
    """Return why a loose object does not match its name, or an empty text if it matches."""
    inflate, digest = zlib.decompressobj(), _digest(name)
    if leads_abroad(path, (Path(path).parent,)):
        return "it is a link to a network share"
    real = Path(os.path.realpath(path))
    if not os.path.lexists(real):
        return ""
    with opened_beneath(real, (real.parent,), resolved=True) as opened:
        while piece := os.read(opened.descriptor, _PIECE_B):
            while piece and not inflate.eof:
                if time.monotonic() > until:
                    return _SLOW
                try:
                    digest.update(inflate.decompress(piece, _PIECE_B))
                except zlib.error:
                    return "it is not a git object, or damaged"
                piece = inflate.unconsumed_tail
    if not inflate.eof or inflate.unused_data:
        return "it is not a git object, or damaged"
    return "" if digest.hexdigest() == name else "its content does not match its name"


def _digest(name: str) -> Any:  # noqa: ANN401 - hashlib gives its type no public name
    if len(name) == 40:  # noqa: PLR2004 - hexadecimal digits of SHA-1
        return hashlib.sha1(usedforsecurity=False)
    return hashlib.sha256()


def _stores(folders: Sequence[Path], roots: Sequence[Path]) -> list[str]:
    """Return the object folders, and their alternates inside the workspace."""
    found = [str(folder / "objects") for folder in folders]
    if any(leads_abroad(one, roots) for one in found):
        raise UnreadableStore("its objects lead to a network share")
    for store in found:  # the list grows during the loop
        for line in _redirects(f"{store}/{_REDIRECTS[0]}"):
            other = os.path.join(store, line)  # noqa: PTH118 - as git joins them
            if leads_abroad(other, roots):
                continue
            other = os.path.realpath(other)
            is_ours = any(Path(other).is_relative_to(root) for root in roots)
            if is_ours and other not in found:
                found.append(other)
        if len(found) > MOST_STORES:
            raise UnreadableStore(f"it names more than {MOST_STORES} other stores of objects")
    return found


def _redirects(path: str) -> Iterator[str]:
    if leads_abroad(path, (Path(path).parent,)):
        raise UnreadableStore(f"{path} leads to a network share")
    real = Path(os.path.realpath(path))
    if not os.path.lexists(real):
        return
    try:
        text = os.fsdecode(read_bytes(real, (real.parent,), REDIRECT_B))
    except ToolError as error:
        raise UnreadableStore(str(error)) from error
    yield from (one.strip('"') for one in text.splitlines() if one and not one.startswith("#"))


def _folders(store: str) -> Iterator[str]:
    """Return the existing folders of one store that git reads."""
    try:
        names = os.listdir(store)  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (f"{store}/{name}" for name in names if _FANOUT.fullmatch(name))
    yield from (f"{store}/{name}" for name in ("pack", "info", "info/commit-graphs"))


def _stamp(path: str | calls.Entry) -> Stamp | None:
    try:
        now = calls.stat(path) if isinstance(path, str) else path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (now.st_ino, now.st_ctime_ns)
