"""Defines ``glob``, which finds files by a pattern of the path, newest first (H50)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from indwell.errors import ToolError
from indwell.files.listing import Newest, exists
from indwell.files.spelling import is_absolute, quoted, relative, slashed_glob
from indwell.sandbox import Finished
from indwell.tools.arguments import of_struct, renaming
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts
from indwell.tools.searching.patterns import (
    UNSAVED,
    SearchPlace,
    SearchScope,
    beneath,
    counted,
    path_line,
    path_matcher,
    scope_of,
    search_places,
    with_notes,
)
from indwell.tools.searching.ripgrep import listen, together
from indwell.workspace.paths import display

MAX_FILES = 100  # One result has at most 100 files (H50).
MAX_LOOKED_AT = 150_000  # Looking up the age of this many files takes about a second.
TIMEOUT_S = 10.0

_STEP = 2_000  # The limit is checked after each 2,000 names.


class Glob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of ``glob``."""

    pattern: Annotated[str, msgspec.Meta(description="such as *.py or src/**/*.{ts,tsx}")]
    path: str = "."


def make_glob() -> Tool[Glob]:
    """Make the tool."""
    return Tool(
        name="glob",
        description="List files by path pattern, newest first, without ignored files.",
        arguments=of_struct(Glob, renaming(directory="path", glob_pattern="pattern")),
        effect="read",
        facts=lambda arguments: ToolFacts(
            tool="glob", effect="read", paths=(arguments.path,), subject=arguments.pattern
        ),
        run=_run,
    )


async def _run(arguments: Glob, context: ToolContext) -> Outcome:
    roots = context.workspace.roots
    places = await search_places(context, arguments.path)
    if not await asyncio.to_thread(places[0].start.is_dir):
        raise ToolError(f"{quoted(arguments.path)} is a file; name a folder to search in")
    walks = await together(
        *(_walk(place, _relative(arguments.pattern, place.start), context) for place in places)
    )
    never_saved = await asyncio.to_thread(_never_saved, places, arguments.pattern, context)
    found = {path: age for walk in walks for path, age in walk.found.items()}
    newest = sorted(found, key=lambda path: (-found[path], path))
    shown = [path_line(path, roots) + UNSAVED for path in never_saved]
    shown += [path_line(path, roots) for path in newest]
    n_twice = sum(len(walk.found) for walk in walks) - len(found)  # One root may contain another.
    n_found = len(never_saved) + sum(walk.n_files for walk in walks) - n_twice
    if not n_found:
        shown = [_nothing(arguments, places, walks, context)]
    notes = []
    if n_found > MAX_FILES:
        notes.append(f"the newest {MAX_FILES} of {n_found:,} files; narrow the pattern for others")
    notes += dict.fromkeys(note for walk in walks for note in walk.notes)
    return Outcome(
        text=with_notes(shown[:MAX_FILES], notes), figure=counted(n_found, "file", "files")
    )


class _Walk(msgspec.Struct, frozen=True):
    """The result of searching one folder: times of the newest files, number of files, notes."""

    found: dict[Path, int]
    n_files: int
    notes: tuple[str, ...] = ()
    missing: str = ""  # The pattern names a folder that does not exist.


async def _walk(place: SearchPlace, pattern: str, context: ToolContext) -> _Walk:
    roots = context.workspace.roots
    way = scope_of(pattern)
    inner = await asyncio.to_thread(beneath, place, way.folder)
    if inner is None:
        return _Walk({}, 0, missing=way.folder)
    newest = Newest(
        place.start, MAX_FILES, lambda name: context.hidden(display(place.start / name, roots))
    )
    listing = _Listing(way, newest)
    # Git's own folder is skipped unless the path names it.
    skip = () if ".git" in inner.parts else ("--glob=!.git",)
    finished = await listen(
        ["--files", "--null", *skip, *way.options, SearchPlace(place.start, inner.start).argument],
        cwd=place.start,
        never_in=roots,
        timeout_s=TIMEOUT_S,
        take=listing.take,
    )
    found = {place.start / name: age for age, name in newest.names}
    return _Walk(found, newest.n_files, _notes(finished, is_full=listing.is_full))


def _notes(finished: Finished, *, is_full: bool) -> tuple[str, ...]:
    notes = []
    if is_full:
        notes.append(f"stopped after {MAX_LOOKED_AT:,} files, so newer ones may be missing")
    if finished.timed_out:
        notes.append(f"stopped after {TIMEOUT_S:g} s, so files may be missing")
    if finished.errors and not is_full:
        notes.append("some folders could not be read, so files may be missing")
    return tuple(notes)


def _never_saved(
    places: Sequence[SearchPlace], pattern: str, context: ToolContext
) -> tuple[Path, ...]:
    """Return matching open files that are not on disk, which count as the newest files."""
    found = []
    for path in sorted(context.workspace.unsaved()):
        for place in places:
            if path.parts[: len(place.start.parts)] != place.start.parts:
                continue
            matches = path_matcher(_relative(pattern, place.start))
            if (
                matches(path.relative_to(place.start).as_posix())
                and not exists(path)
                and not context.hidden(display(path, context.workspace.roots))
            ):
                found.append(path)
            break
    return tuple(found)


def _nothing(
    arguments: Glob, places: Sequence[SearchPlace], walks: Sequence[_Walk], context: ToolContext
) -> str:
    """Report a search without a match, with the known reasons."""
    pattern = arguments.pattern
    where = "in the workspace"
    if len(places) == 1:
        where = f"below {display(places[0].start, context.workspace.roots)!r}"
    said = f"no file {where} matches {pattern!r} (ignored files aside)"
    if all(walk.missing for walk in walks):
        return f"{said}: there is no folder {walks[0].missing!r} (links are not followed)"
    if pattern.startswith("/"):
        return f"{said}; a pattern starts at the folder of 'path'"
    if "[" in pattern and "\\[" not in pattern:
        return f"{said}; '[' begins a set of characters, write '\\[' for the character itself"
    return said


def _relative(pattern: str, folder: Path) -> str:
    """Return a pattern relative to ``folder``, if the model wrote it relative to a parent."""
    pattern = slashed_glob(pattern)
    if not pattern.startswith("/") and is_absolute(pattern):
        pattern = relative(pattern, folder.as_posix()) or pattern
    prefix = folder.as_posix().rstrip("/") + "/"
    return pattern.removeprefix(prefix).removeprefix("./")


class _Listing:
    """Reads file names from ripgrep's output, and keeps the matching names."""

    def __init__(self, way: SearchScope, newest: Newest) -> None:
        self._matches = way.matches
        self._newest = newest
        self._rest = b""

    @property
    def is_full(self) -> bool:
        """Return whether the search found enough names."""
        return self._newest.n_files >= MAX_LOOKED_AT

    def take(self, data: bytes) -> bool:
        """Add a part of the output; names begin with ``./`` and end with a NUL byte."""
        *names, self._rest = (self._rest + data).split(b"\0")
        for first in range(0, len(names), _STEP):
            room = MAX_LOOKED_AT - self._newest.n_files
            self._newest.add([*self._wanted(names[first : first + _STEP])][:room])
            if self.is_full:
                return True
        return False

    def _wanted(self, names: Sequence[bytes]) -> Iterator[bytes]:
        matches = self._matches
        below = (name[2:] for name in names)
        return below if matches is None else (one for one in below if matches(os.fsdecode(one)))
