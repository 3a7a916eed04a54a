"""Finds and runs the program ``rg``, and reads the program's output in parts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.sandbox import Finished, find_program, run_program

WALK = ("--no-config", "--hidden", "--no-require-git", "--color=never", "--path-separator=/")
"""Options of every search. Ignore files apply, also outside of a git repository; hidden files are
searched.

Links are
never followed, which is ripgrep's default. Paths have the same form on Windows.
"""
T = TypeVar("T")
_ERRORS_B = 3_000  # The rest of ripgrep's error messages is dropped.
MAX_SHOWN = 200  # At most 200 matches or files are shown (H51).
Mode = Literal["lines", "files", "count"]
OPTIONS: dict[Mode, tuple[str, ...]] = {
    "lines": (
        *("--line-number", "--column", "--no-heading", "--no-context-separator"),
        # The limit is in bytes; lines are cut to characters afterwards.
        *("--max-columns=4000", "--max-columns-preview"),
    ),
    "files": ("--files-with-matches",),
    "count": ("--count",),
}
"""Options for each kind of result, used with ``--null``, which marks the end of a path."""
_FORMS: dict[Mode, re.Pattern[bytes]] = {
    "lines": re.compile(rb"([^\0]*)\0(\d+)(?:-|:(\d+):)([^\n]*)\n"),
    "files": re.compile(rb"([^\0]+)\0"),
    "count": re.compile(rb"([^\0]*)\0(\d+)\r?\n"),
}
_WARNING = lazy_pattern(rb"(?s)\A.*(?:binary file (?:after match|matches)) \(found [^\n]*\)\n")
_BEFORE_B = 100  # At most 100 bytes of a long line are shown before the line's first match.
RawLine = tuple[int, bytes, bool]
"""A line of a result: number from 1, bytes (perhaps cut), and whether it matches or is context."""


def ripgrep(never_in: Sequence[Path]) -> str:
    """Return the program's path.

    Args:
        never_in: The workspace's folders.

    Raises:
        ToolError: ripgrep is not installed.
    """
    found = find_program("rg", never_in)
    if found is None:
        raise ToolError(
            "ripgrep (rg) was not found beside Python or on PATH; install it with "
            "'pip install ripgrep' or the system's packages, or search with bash"
        )
    return str(found)


async def listen(
    options: Sequence[str],
    *,
    cwd: Path,
    never_in: Sequence[Path],
    timeout_s: float,
    take: Callable[[bytes], bool],
    enough: asyncio.Event | None = None,
    stdin: bytes = b"",
) -> Finished:
    """Run ripgrep, and pass its output to ``take``, in order, until the limit.

    Args:
        options: Further options, after those of ``WALK``.
        cwd: The folder in which ripgrep runs.
        never_in: The workspace's folders; a program in a workspace folder is not run, because
            ripgrep has no sandbox.
        timeout_s: Seconds after which ripgrep is stopped.
        take: Receives the next bytes, and returns whether the output is sufficient. The function is
            called in a thread, one call at a time, so that the event loop stays free.
        enough: An event that is set as soon as ``take`` returns True; ripgrep ends a few
            milliseconds later.
        stdin: The standard input of ripgrep.

    Raises:
        ToolError: There is no ripgrep, or ``cwd`` cannot be used.
        asyncio.CancelledError: The caller was cancelled; ripgrep has ended.
    """
    intake = _Intake(take, enough or asyncio.Event())
    work = asyncio.create_task(intake.work())
    try:
        finished = await run_program(
            [await asyncio.to_thread(ripgrep, never_in), *WALK, *options],
            cwd=cwd,
            timeout_s=timeout_s,
            limit_b=_ERRORS_B,
            on_chunk=intake.feed,
            enough=intake.enough,
            stdin=stdin,
            alone=True,  # Ripgrep starts other programs only with --pre and --search-zip.
        )
        intake.close()
        await work
    finally:
        work.cancel()
        await asyncio.wait({work})
    return finished


async def together(*searches: Coroutine[object, object, T]) -> list[T]:
    """Run searches at the same time and wait for all, even if one fails or the caller is cancelled.

    Raises:
        ToolError: The first error of a search.
    """
    ended = await asyncio.gather(*searches, return_exceptions=True)
    return [_good(one) for one in ended]


def _good(ended: T | BaseException) -> T:
    if isinstance(ended, BaseException):
        raise ended
    return ended


class _Intake:
    """Passes parts of the output to a thread; parts are queued while the thread works."""

    def __init__(self, take: Callable[[bytes], bool], enough: asyncio.Event) -> None:
        self.enough = enough
        self._take = take
        self._pieces: list[bytes] = []
        self._came = asyncio.Event()
        self._is_closed = False

    def feed(self, data: bytes) -> None:
        if not self.enough.is_set():
            self._pieces.append(data)
            self._came.set()

    def close(self) -> None:
        self._is_closed = True
        self._came.set()

    async def work(self) -> None:
        while not self._is_closed or self._pieces:
            await self._came.wait()
            self._came.clear()
            data = b"".join(self._pieces)
            self._pieces.clear()
            if not data:
                continue
            is_enough = await asyncio.to_thread(self._take, data)
            if is_enough:
                self.enough.set()
                self._pieces.clear()
                return


class Hits:
    """The files and lines found below one folder.

    Args:
        mode: The requested kind of result.
        limit: Matches (or files) after which further output is ignored.
        wanted: Returns whether to search the file of this name.
        is_file: Returns whether a file of this name exists; called only for names with line feeds.
    """

    def __init__(
        self,
        mode: Mode,
        limit: int = 0,
        wanted: Callable[[str], bool] = lambda _name: True,
        is_file: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self.lines: dict[str, list[RawLine]] = {}
        self.counts: dict[str, int] = {}
        self.is_full = False
        self._mode: Mode = mode
        self._limit = limit
        self._wanted = wanted
        self._is_file = is_file
        self._n_taken = 0
        self._names: dict[bytes, str | None] = {}
        self._rest = b""
        self._has_binary = False

    @property
    def has_binary(self) -> bool:
        """Return whether ripgrep did not search or show a binary file completely."""
        return self._has_binary or _WARNING.match(self._rest) is not None

    def take(self, data: bytes) -> bool:
        """Add a part of the output; return True when the limit is reached."""
        self._rest += data
        at = 0
        for found in _FORMS[self._mode].finditer(self._rest):
            at = found.end()
            name = self._name(found[1])
            if name is None:
                continue
            if self._mode == "lines":
                is_match = found[3] is not None
                text = _around(found[4], int(found[3])) if is_match else found[4]
                self.add(name, (int(found[2]), text, is_match))
            else:
                self.counts[name] = int(found[2]) if self._mode == "count" else 1
                self._n_taken += 1
            if self._n_taken >= self._limit:
                self.is_full = True
                break
        self._rest = self._rest[at:]
        return self.is_full

    def add(self, name: str, line: RawLine) -> None:
        """Add one line."""
        self.lines.setdefault(name, []).append(line)
        if line[2]:
            self.counts[name] = self.counts.get(name, 0) + 1
            self._n_taken += 1

    def _name(self, raw: bytes) -> str | None:
        """Return the path, or None if the file is not wanted."""
        if raw not in self._names:
            names = self._readings(raw)
            self._names[raw] = names[0] if all(map(self._wanted, names)) else None
        return self._names[raw]

    def _readings(self, raw: bytes) -> tuple[str, ...]:
        """Return the path without ripgrep's message before it; two paths if the text is ambiguous.

        Both paths can exist if a folder has a special name. In that case, both must be searchable,
        or a denied file could be read under the other name.
        """
        whole = raw.decode("utf-8", "surrogateescape")
        rest = _WARNING.sub(b"", raw) if b"\n" in raw else raw
        if rest == raw:
            names = [whole]
        else:
            names = [whole] if self._is_file(whole) else []
            self._has_binary |= not names
            names.append(rest.decode("utf-8", "surrogateescape"))
        return tuple(name.removeprefix("./") for name in names)


def _around(line: bytes, column: int) -> bytes:
    """Return a long line from shortly before its first match on.

    Args:
        line: The line, or its beginning.
        column: The position where the match begins, in bytes from 1.
    """
    first = column - 1 - _BEFORE_B
    if first <= _BEFORE_B or column > len(line):
        return line
    while first < column - 1 and line[first] & 0xC0 == 0x80:  # noqa: PLR2004 - within a character
        first += 1
    return "…".encode() + line[first:]
