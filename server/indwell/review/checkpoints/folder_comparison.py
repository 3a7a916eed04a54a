"""Compares the files of a folder before and after a command: changed, created, removed; blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.errors import ToolError
from indwell.files.spelling import compared
from indwell.files.watch.snapshot import (
    Bodies,
    Census,
    Facts,
    FolderListing,
    is_gone,
    is_link,
    opened_folder,
    read_body,
    take_census,
)
from indwell.review.copies import Copies
from indwell.review.hunk import Opaque
from indwell.workspace.encoding.decoding import decode
from indwell.workspace.encoding.editorconfig import charset_at
from indwell.workspace.encoding.rewriting import created
from indwell.workspace.text import Decoded, binary_kind

SHUT = frozenset(
    {
        # Grep skips the same folders (H51), and also `dist` and `build`, which may have the user's
        # files.
        *(".git", "node_modules", "__pycache__", ".venv", "venv", ".tox"),
        # These are other caches, data of other version control systems, and Indwell's chat
        # documents.
        *(".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".cache"),
        *(".gradle", ".parcel-cache", ".turbo", ".hg", ".svn", ".jj", ".indwell/chats"),
    }
)
"""Names of folders and files to skip; cache folders (``CACHEDIR.TAG``) are skipped, too."""

MOST_FILES = 50_000  # A scan of 50,000 files takes 0.2 s.
MOST_FILE_B = 4 << 20
# Reading before a command takes at most 0.25 s; other files are read while the command runs.
AHEAD_S = 0.25
# With more files, no command waits for reading, because too few files could be read in time.
MOST_AHEAD = 20_000
# Reading while a command runs takes at most 3 s; the next scan reads the remaining files.
READING_S = 3.0
# FAT stores times with a resolution of 2 s, so two changes within 2 s may look the same.
RACY_NS = 2_000_000_000
FINE_NS = 50_000_000  # Other file systems have finer times, but clocks tick only every 10 ms.
_MS = 1_000_000
MOST_CHANGED = 2_000  # At most 2,000 changed files of one command are recorded.
MOST_CHANGED_B = 64 << 20  # The changed files have at most 64 MiB, before and after the command.
# If more than 75 % of the space for bytes is used, outdated bytes are dropped and files read again.
CROWDED = 0.75


class KeptStates:
    """The kept state of the files in one folder.

    Attributes:
        listing: The listing of the folder's files.
        digests: Digest by name, or None for a file that is too large to keep.
        doubtful: Names of files that may have changed although their size and time are the same.
    """

    __slots__ = ("digests", "doubtful", "listing")

    def __init__(self, listing: FolderListing) -> None:
        self.listing = listing
        self.digests: dict[str, str | None] = {}
        self.doubtful: set[str] = set()


class FolderLook(NamedTuple):
    """The state of a folder before a command.

    Attributes:
        census: The folder's files.
        kept: The ``KeptStates`` of the files, by folder.
        at_ns: The time of the scan.
        waiting: Files that ``read_on`` has yet to read.
        stopped: Set to end ``read_on``.
        n_compared: The number of files that had to be compared one by one.
    """

    census: Census
    kept: dict[str, KeptStates]
    at_ns: int
    waiting: Sequence[str]
    stopped: threading.Event
    n_compared: int = 0


class FileChange(NamedTuple):
    """A command's change of a file: the bytes before and after; None means no file."""

    at: str
    before: bytes | None
    after: bytes | None
    mode: int


class CommandEffects(NamedTuple):
    """The changes of a command.

    Attributes:
        changes: The changes that can be undone, by file.
        lost: Changed files whose old bytes were not stored, without secret files.
        is_whole: Whether every file was compared.
    """

    changes: tuple[FileChange, ...]
    lost: tuple[str, ...] = ()
    is_whole: bool = True


class Lookout:
    """Scans one folder repeatedly, to find files that a command changed.

    Args:
        root: A resolved folder.
        bodies: Stores bytes.
        secret: Returns absolute paths of files or folders whose bytes must not be kept.
        clock_ns: Returns the time in ns since 1970.
    """

    def __init__(
        self,
        root: Path,
        bodies: Bodies,
        secret: Callable[[], Collection[str]],
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        most_files: int = MOST_FILES,
        most_file_b: int = MOST_FILE_B,
        ahead_s: float = AHEAD_S,
    ) -> None:
        self._root = root
        self._bodies = bodies
        self._secret = secret
        self._clock_ns = clock_ns
        self._most_files = most_files
        self._most_file_b = most_file_b
        self._ahead_s = ahead_s
        self._kept: dict[str, KeptStates] = {}

    def before(self, stopped: threading.Event | None = None) -> FolderLook:
        """Scan and read changed files since the last scan; ``read_on`` reads the remaining files.

        Args:
            stopped: Set to stop reading.
        """
        at_ns = self._clock_ns()
        self._make_room()
        census = take_census(str(self._root), shut=SHUT, most_files=self._most_files)
        kept: dict[str, KeptStates] = {}
        new: list[str] = []
        # Files are grouped by size, because sorting all files would block other threads.
        old: dict[int, list[str]] = {}
        n_compared = 0
        for at, listing in census.folders.items():
            last = self._kept.get(at)
            if last is not None and last.listing == listing and _is_complete(last):
                kept[at] = last
                continue
            n_compared += len(listing.names)
            kept[at] = here = KeptStates(listing)
            front = f"{at}/" if at else ""
            earlier = {} if last is None else last.listing.by_name()
            for name, facts in listing.by_name().items():
                if last is not None and earlier.get(name) == facts and _is_certain(last, name):
                    here.digests[name] = last.digests[name]
                elif not is_link(facts):
                    is_old = _is_old(facts, at_ns)
                    group = old.setdefault(facts[1].bit_length() // 2, []) if is_old else new
                    group.append(front + name)
        look = FolderLook(census, kept, at_ns, (), stopped or threading.Event(), n_compared)
        self._kept = dict(kept)
        # A file that changed just now might change again without a visible difference, so read it
        # first.
        self._read(look, new, READING_S)
        waiting = [at for size in sorted(old) for at in old[size]]  # The smallest files come first.
        ahead_s = self._ahead_s if len(waiting) <= MOST_AHEAD else 0.0
        return look._replace(waiting=self._read(look, waiting, ahead_s))

    def read_on(self, look: FolderLook) -> None:
        """Read the waiting files while a command runs, until ``look.stopped`` is set."""
        self._read(look, look.waiting, READING_S)

    def after(self, look: FolderLook) -> CommandEffects:
        """Compare the files with ``look``."""
        old = look.census
        now = take_census(
            str(self._root), shut=SHUT, most_files=self._most_files, before=old.folders.keys()
        )
        secret = _Secret(self._secret())
        changes: list[FileChange] = []
        lost: list[str] = []
        whole: dict[str, bytes] = {}
        room = MOST_CHANGED_B
        with opened_folder(self._root) as root:
            for one in self._candidates(look, now):
                is_linked = one.facts is not None and is_link(
                    one.facts
                )  # Only the name of such a file is reported.
                if secret.has(f"{self._root}/{one.at}") and not is_linked:
                    continue
                if len(changes) >= MOST_CHANGED or room <= 0:
                    lost.append(one.at)
                    continue
                change = self._compared(root, one, whole)
                if change is None:
                    lost.append(one.at)
                elif change.before != change.after:
                    changes.append(change)
                    room -= len(change.before or b"") + len(change.after or b"")
        self._keep(whole, now)
        return CommandEffects(tuple(changes), tuple(lost), old.is_whole and now.is_whole)

    def _keep(self, whole: Mapping[str, bytes], now: Census) -> None:
        """Keep the bytes of changed files, so that the next scan need not read them again."""
        at_ns = self._clock_ns()
        digests: dict[str, dict[str, str | None]] = {}
        for path, data in whole.items():
            at, _, name = path.rpartition("/")
            digests.setdefault(at, {})[name] = self._bodies.put(data)
        for at, new in digests.items():
            last = self._kept.get(at) or KeptStates(_NOTHING)
            self._kept[at] = here = KeptStates(now.folders[at])
            earlier = last.listing.by_name()
            for name, facts in here.listing.by_name().items():
                if earlier.get(name) == facts and _is_certain(last, name):
                    here.digests[name] = last.digests[name]
                elif new.get(name) is not None and _is_old(facts, at_ns):
                    here.digests[name] = new[name]

    def _make_room(self) -> None:
        if self._bodies.size_b < CROWDED * self._bodies.most_b:
            return
        live = sum(
            facts[1]
            for one in self._kept.values()
            for name, facts in one.listing.by_name().items()
            if one.digests.get(name) is not None
        )
        if live < self._bodies.size_b / 2:
            self._bodies.clear()
            self._kept = {}

    def _read(self, look: FolderLook, paths: Sequence[str], seconds: float) -> Sequence[str]:
        """Keep the bytes of files unchanged since the scan; return the files not read in time."""
        if not paths:
            return ()
        secret = _Secret(self._secret())
        until = time.monotonic() + seconds
        folder, facts_here = None, dict[str, Facts]()
        with opened_folder(self._root) as root:
            for number, path in enumerate(paths):
                if look.stopped.is_set() or time.monotonic() >= until:
                    return tuple(paths[number:])
                at, _, name = path.rpartition("/")
                if at != folder:
                    folder, facts_here = at, look.census.folders[at].by_name()
                facts = facts_here[name]
                if secret.has(f"{self._root}/{path}"):
                    continue
                digest = None
                if facts[1] <= self._most_file_b:
                    body = read_body(root, path, self._most_file_b)
                    digest = self._bodies.put(body.data) if body and body.facts == facts else None
                if digest is not None or facts[1] > self._most_file_b:
                    here = look.kept[at]
                    # The set is updated first, so that a concurrent scan sees both values.
                    if not _is_old(facts, look.at_ns):
                        here.doubtful.add(name)
                    here.digests[name] = digest
        return ()

    def _candidates(self, look: FolderLook, now: Census) -> Iterator[_Candidate]:
        """Yield files that may have changed."""
        old = look.census
        changed = [at for at, listing in old.folders.items() if now.folders.get(at) != listing]
        doubtful = [at for at, one in look.kept.items() if one.doubtful]
        for at in dict.fromkeys((*changed, *doubtful)):
            front, kept = f"{at}/" if at else "", look.kept[at]
            there = now.folders.get(at, _NOTHING).by_name()
            for name, facts in old.folders[at].by_name().items():
                found = there.get(name)
                if found is None and not is_gone(str(self._root), front + name):
                    continue
                digest = kept.digests.get(name)
                if found != facts or (digest is not None and name in kept.doubtful):
                    yield _Candidate(front + name, facts, digest, found)
        for at, listing in now.folders.items():
            earlier = old.folders.get(at, _NOTHING)
            if earlier == listing:
                continue
            front, names = f"{at}/" if at else "", frozenset(earlier.names)
            for name, facts in listing.by_name().items():
                if name not in names and (old.is_whole or facts[3] >= look.at_ns):
                    yield _Candidate(front + name, None, None, facts)

    def _compared(self, root: int, one: _Candidate, whole: dict[str, bytes]) -> FileChange | None:
        """Compare one file; return None for a link, or if the old bytes are not stored.

        ``whole`` receives the file's new bytes, if the file has not changed since the census.
        """
        if any(facts is not None and is_link(facts) for facts in (one.was, one.facts)):
            return None
        before = None
        if one.was is not None:
            before = None if one.digest is None else self._bodies.get(one.digest)
            if before is None:
                return None
        after = None
        if one.facts is not None:
            body = read_body(root, one.at, self._most_file_b)
            if body is None:
                return None
            after = body.data
            if body.facts == one.facts:
                whole[one.at] = body.data
        mode = one.was[4] if one.was is not None else 0
        return FileChange(one.at, before, after, mode)


class _Candidate(NamedTuple):
    """A file that may have changed: old and new stat values, and the digest of the old bytes."""

    at: str
    was: Facts | None
    digest: str | None
    facts: Facts | None


_NOTHING = FolderListing()


def _is_certain(kept: KeptStates, name: str) -> bool:
    return name in kept.digests and name not in kept.doubtful


def _is_complete(kept: KeptStates) -> bool:
    """Return whether all storable bytes are stored, so that no new scan is needed."""
    if kept.doubtful:
        return False
    if len(kept.digests) == len(kept.listing.names):
        return True
    facts = zip(kept.listing.names, kept.listing.facts(), strict=True)
    return all(is_link(each) for name, each in facts if name not in kept.digests)


def _is_old(facts: Facts, at_ns: int) -> bool:
    """Return whether a file is so old that a later change would always change its time."""
    racy_ns = FINE_NS if facts[3] % _MS else RACY_NS
    return at_ns - max(facts[2], facts[3]) >= racy_ns


class _Secret:
    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(map(compared, paths))

    def has(self, path: str) -> bool:
        """Return whether a path is one of these paths, or lies inside one of them."""
        if not self._paths:
            return False
        path = compared(path)
        at = len(path)
        while at > 0:
            if path[:at] in self._paths:
                return True
            at = path.rfind("/", 0, at)
        return False


MOST_TEXT_B = 1 << 20
_PLAIN_MODES = frozenset({0o644, 0o664})  # New files usually have one of these modes.


class LedgerEntry(msgspec.Struct, frozen=True):
    """A change for the ledger.

    Attributes:
        path: The file.
        before: The old text, or None if there was no file, or for an ``opaque`` change.
        after: The new text, or None if there is no file, or for an ``opaque`` change.
        opaque: The change of a file that is not text.
        is_lost: Whether the change cannot be undone.
    """

    path: Path
    before: str | None
    after: str | None
    opaque: Opaque | None = None
    is_lost: bool = False


def entry_of(
    root: Path,
    change: FileChange,
    roots: Sequence[Path],
    copies: Copies,
    hide: Callable[[str], str],
) -> LedgerEntry:
    """Convert ``change`` for the ledger; store bytes that a text cannot restore.

    Args:
        root: The folder that the path is relative to.
        change: The change by a command.
        roots: The workspace's roots.
        copies: Stores the bytes.
        hide: Removes secrets from a text; bytes with secrets are not stored.
    """
    path = root / change.at
    before = _text(path, change.before, roots)
    after = _text(path, change.after, roots, before)
    if _are_lines(change, before, after):
        was, reads = (None if one is None else one.text for one in (before, after))
        entry = LedgerEntry(path, was, reads)
        if change.before is not None and change.after is None:
            assert before is not None
            _note_removed(entry, change, before, copies, hide)
        return entry
    return _opaque(path, change, copies, hide)


def _are_lines(change: FileChange, before: Decoded | None, after: Decoded | None) -> bool:
    """Return whether the old text, put back in place of the new text, restores the same bytes."""
    if (before is None) != (change.before is None) or (after is None) != (change.after is None):
        return False
    if before is None or after is None:
        return True
    is_same_kind = (before.encoding, before.mark, before.errors) == (
        after.encoding,
        after.mark,
        after.errors,
    )
    return is_same_kind and before.text != after.text


def _text(
    path: Path, data: bytes | None, roots: Sequence[Path], like: Decoded | None = None
) -> Decoded | None:
    if data is None or len(data) > MOST_TEXT_B:
        return None
    guess = like.encoding if like is not None and like.is_guess else None
    decoded = decode(data, lambda: charset_at(path, roots), guess)
    return decoded if decoded is not None and decoded.lossless else None


def _note_removed(
    entry: LedgerEntry,
    change: FileChange,
    text: Decoded,
    copies: Copies,
    hide: Callable[[str], str],
) -> None:
    """Store the encoding and mode, which a new file with this text would lack."""
    assert change.before is not None
    try:
        is_plain = created(text.text) == change.before
    except ValueError:
        is_plain = False
    if (is_plain and change.mode & 0o777 in _PLAIN_MODES) or hide(text.text) is not text.text:
        return
    try:
        copies.note_removed(entry.path, change.before, change.mode)
    except (OSError, ToolError):
        return  # Without the note, an undo restores the file as a new file.


def _opaque(
    path: Path, change: FileChange, copies: Copies, hide: Callable[[str], str]
) -> LedgerEntry:
    both = (change.before, change.after)
    was = "" if change.before is None else change.before.decode("latin-1")
    if hide(was) is not was:
        return LedgerEntry(path, None, None, is_lost=True)
    try:
        before, after = (None if data is None else copies.put(data) for data in both)
    except OSError:
        return LedgerEntry(path, None, None, is_lost=True)
    kind = binary_kind(next(filter(None, reversed(both)), b"")) or "text in another encoding"
    note = f"{kind}, {_size(change.before)} -> {_size(change.after)}"
    return LedgerEntry(path, None, None, Opaque(note, before, after, change.mode))


def _size(data: bytes | None) -> str:
    if data is None:
        return "nothing"
    return f"{len(data):,} bytes" if len(data) < 10_000 else f"{len(data) / 1_000:,.0f} KB"  # noqa: PLR2004
