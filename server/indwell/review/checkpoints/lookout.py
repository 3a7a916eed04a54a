"""The files of one folder before and after a command: what it changed, made and removed. Blocks.

The first look reads what it can keep within its bounds, later ones only what changed since. What
the bytes were stands in a file without a name that ends with the process.

Reading a large folder takes seconds, for which no command waits: what is not read when it begins is
read beside it. Only bytes of files that still look as before the command are kept; what it changed
first is told as lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.files.bodies import Bodies, opened_folder, read_body
from indwell.files.census import Census, Facts, is_gone, is_link, take_census

SHUT = frozenset(
    {
        # The folders that grep skips (H51), but for `dist` and `build`: they may be the user's.
        *(".git", "node_modules", "__pycache__", ".venv", "venv", ".tox"),
        # Other caches, the stores of other version controls, and documents of our chats.
        *(".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".cache"),
        *(".gradle", ".parcel-cache", ".turbo", ".hg", ".svn", ".jj", ".indwell/chats"),
    }
)
"""Names that are left out; so are folders that say of themselves that they are caches."""

MOST_FILES = 50_000  # 0.2 s a look
MOST_FILE_B = 4 << 20
AHEAD_S = 0.25  # of reading before a command; what is not read by then is read while it runs, …
READING_S = 3.0  # … for so long; and the rest by the next look
RACY_NS = 2_000_000_000  # FAT counts in steps of 2 s; within one, a second change may look the same
MOST_CHANGED = 2_000  # files of one command, …
MOST_CHANGED_B = 64 << 20  # … and their bytes, before and after
CROWDED = 0.75  # of the room for bytes: if half of it is old by then, all is read anew


class Known(NamedTuple):
    """A file as it was at a look: its facts, and the digest of its bytes if they are kept."""

    facts: Facts
    digest: str | None
    is_certain: bool = True


class Look(NamedTuple):
    """How a folder was before a command.

    Attributes:
        census: Its files.
        known: What is known of them.
        at_ns: When it was taken.
        waiting: Files still to be read, by ``read_on``.
        stopped: Set when ``read_on`` is to end.
    """

    census: Census
    known: dict[str, Known]
    at_ns: int
    waiting: Sequence[str]
    stopped: threading.Event


class FileChange(NamedTuple):
    """What a command did to one file: its bytes before and after, None where there was none."""

    at: str
    before: bytes | None
    after: bytes | None
    mode: int


class Seen(NamedTuple):
    """What a command did.

    Attributes:
        changes: By file; each can be taken back.
        lost: Files that it changed, of which the old bytes are not kept; secret ones are not told.
        is_whole: All was looked at.
    """

    changes: tuple[FileChange, ...]
    lost: tuple[str, ...] = ()
    is_whole: bool = True


class Lookout:
    """Looks at one folder, again and again.

    Args:
        root: Resolved.
        bodies: Keeps bytes.
        secret: Absolute paths of files, or folders, whose bytes are not to be kept.
        clock_ns: The time, in ns since 1970.
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
        self._known: dict[str, Known] = {}

    def before(self) -> Look:
        """Look, and read what changed since the last look; ``read_on`` reads what is left."""
        at_ns = self._clock_ns()
        self._make_room()
        census = take_census(str(self._root), shut=SHUT, most_files=self._most_files)
        known: dict[str, Known] = {}
        waiting: list[tuple[int, str]] = []
        for at, facts in census.files.items():
            last = self._known.get(at)
            if last is not None and last.facts == facts and last.is_certain:
                known[at] = last
            elif not is_link(facts):
                waiting.append((facts[1], at))
        look = Look(census, known, at_ns, (), threading.Event())
        paths = [at for _, at in sorted(waiting)]  # the smallest first
        # What changed just now might change again and look the same: it is read before the command.
        self._read(look, [at for at in paths if not _is_old(census.files[at], at_ns)], READING_S)
        old = [at for at in paths if _is_old(census.files[at], at_ns)]
        self._known = known
        return look._replace(waiting=self._read(look, old, self._ahead_s))

    def read_on(self, look: Look) -> None:
        """Read what waits, while a command runs, until ``look.stopped`` is set."""
        self._read(look, look.waiting, READING_S)

    def after(self, look: Look) -> Seen:
        """What became of the files since ``look``."""
        old = look.census
        now = take_census(
            str(self._root), shut=SHUT, most_files=self._most_files, before=old.folders
        )
        secret = _Secret(self._secret())
        changes: list[FileChange] = []
        lost: list[str] = []
        room = MOST_CHANGED_B
        with opened_folder(self._root) as root:
            for at in self._candidates(look, now):
                facts = now.files.get(at)
                is_linked = facts is not None and is_link(facts)  # its name is told, no more
                if secret.has(f"{self._root}/{at}") and not is_linked:
                    continue
                if len(changes) >= MOST_CHANGED or room <= 0:
                    lost.append(at)
                    continue
                change = self._compared(root, at, look, now)
                if change is None:
                    lost.append(at)
                elif change.before != change.after:
                    changes.append(change)
                    room -= len(change.before or b"") + len(change.after or b"")
        return Seen(tuple(changes), tuple(lost), old.is_whole and now.is_whole)

    def _make_room(self) -> None:
        if self._bodies.size_b < CROWDED * self._bodies.most_b:
            return
        live = sum(one.facts[1] for one in tuple(self._known.values()) if one.digest is not None)
        if live < self._bodies.size_b / 2:
            self._bodies.clear()
            self._known = {}

    def _read(self, look: Look, paths: Sequence[str], seconds: float) -> Sequence[str]:
        """Keep bytes of files that still are as in the look; gives those that time is up for."""
        if not paths:
            return ()
        secret = _Secret(self._secret())
        until = time.monotonic() + seconds
        with opened_folder(self._root) as root:
            for number, at in enumerate(paths):
                if look.stopped.is_set() or time.monotonic() >= until:
                    return tuple(paths[number:])
                facts = look.census.files[at]
                if secret.has(f"{self._root}/{at}"):
                    continue
                digest = None
                if facts[1] <= self._most_file_b:
                    body = read_body(root, at, self._most_file_b)
                    digest = self._bodies.put(body.data) if body and body.facts == facts else None
                if digest is not None or facts[1] > self._most_file_b:
                    look.known[at] = Known(facts, digest, _is_old(facts, look.at_ns))
        return ()

    def _candidates(self, look: Look, now: Census) -> Iterator[str]:
        """Files that may be other ones by now."""
        old = look.census
        for at, facts in old.files.items():
            found = now.files.get(at)
            if found is None and not is_gone(str(self._root), at):
                continue
            known = look.known.get(at)
            is_certain = known is None or known.is_certain or known.digest is None
            if found != facts or not is_certain:
                yield at
        for at, facts in now.files.items():
            if at not in old.files and (old.is_whole or facts[3] >= look.at_ns):
                yield at

    def _compared(self, root: int, at: str, look: Look, now: Census) -> FileChange | None:
        """One file before and after; None if the old bytes are not kept, or it is a link."""
        was, known = look.census.files.get(at), look.known.get(at)
        facts = now.files.get(at)
        if (was is not None and is_link(was)) or (facts is not None and is_link(facts)):
            return None
        before = None
        if was is not None:
            if known is None or known.digest is None:
                return None
            before = self._bodies.get(known.digest)
            if before is None:
                return None
        after = None
        if facts is not None:
            body = read_body(root, at, self._most_file_b)
            if body is None:
                return None
            after = body.data
            digest = self._bodies.put(after)
            if digest is not None:
                is_certain = _is_old(body.facts, self._clock_ns())
                self._known[at] = Known(body.facts, digest, is_certain)
        mode = was[4] if was is not None else 0
        return FileChange(at, before, after, mode)


def _is_old(facts: Facts, at_ns: int) -> bool:
    """Would a later change show, whatever the steps in which the clock of the disk counts?"""
    return at_ns - max(facts[2], facts[3]) >= RACY_NS


class _Secret:
    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)

    def has(self, path: str) -> bool:
        """Is it one of these, or in one?"""
        if not self._paths:
            return False
        at = len(path)
        while at > 0:
            if path[:at] in self._paths:
                return True
            at = path.rfind("/", 0, at)
        return False
