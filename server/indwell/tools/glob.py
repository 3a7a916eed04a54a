"""``glob``: files by the pattern of their path, newest first (H50)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
from wcmatch import glob as wildcards
from wcmatch._wcparse import PatternLimitException  # exported nowhere else

from indwell.errors import ToolError
from indwell.files import newest_first
from indwell.sandbox import run_program
from indwell.tools.base import Facts, Outcome, Tool, ToolContext
from indwell.tools.ripgrep import WALK, ripgrep, search_place
from indwell.workspace.paths import display

MAX_FILES = 100  # H50
MAX_SORTED = 50_000  # files whose age is looked up; beyond that the pattern says too little
TIMEOUT_S = 15.0
MAX_GLOBSTARS = 3  # each one multiplies the work of a match by the depth of the path
MAX_DEPTH = 64
MAX_PATTERN = 1_000  # characters

_FLAGS = (
    wildcards.GLOBSTAR
    | wildcards.BRACE
    | wildcards.DOTGLOB
    | wildcards.MATCHBASE  # a pattern without a slash names files in any folder
    | wildcards.FORCEUNIX
)


class Glob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``glob``."""

    pattern: Annotated[str, msgspec.Meta(description="such as *.py or src/**/*.{ts,tsx}")]
    path: Annotated[str, msgspec.Meta(description="folder")] = "."


def make_glob() -> Tool[Glob]:
    """The tool."""
    return Tool(
        name="glob",
        description="List files by path pattern, newest first. Ignored files are left out.",
        arguments=Glob,
        effect="read",
        facts=lambda arguments: Facts(
            tool="glob", effect="read", paths=(arguments.path,), subject=arguments.pattern
        ),
        run=_run,
    )


def path_matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a relative path with ``/`` matches: ``*`` within a name, ``**`` across folders.

    Braces give alternatives. A pattern without a slash is for the name, in any folder.

    Raises:
        ToolError: The pattern is empty, or would cost too much.
    """
    if not pattern or "\0" in pattern:
        raise ToolError(f"{pattern!r} is no pattern; write one such as '*.py' or 'src/**/*.ts'")
    if len(pattern) > MAX_PATTERN or pattern.count("**") > MAX_GLOBSTARS:
        raise ToolError(
            f"{pattern[:100]!r} is too long or has over {MAX_GLOBSTARS} '**'; use a simpler one"
        )
    try:
        matcher = wildcards.compile(pattern, flags=_FLAGS)
    except PatternLimitException as error:
        raise ToolError(f"{pattern[:100]!r} has too many alternatives in braces") from error
    return lambda path: path.count("/") <= MAX_DEPTH and bool(matcher.match(path))


async def _run(arguments: Glob, context: ToolContext) -> Outcome:
    workspace = context.workspace
    root, folder = await search_place(context, arguments.path)
    if not await asyncio.to_thread(folder.is_dir):
        raise ToolError(f"{arguments.path!r} is a file; name a folder to search in")
    listing = _Listing(path_matcher(_relative(arguments.pattern, folder)))
    # Git's own folder is left out, unless it is what was asked for.
    skip = () if ".git" in folder.relative_to(root).parts else ("--glob=!.git",)
    finished = await run_program(
        [ripgrep(), "--files", "--null", *WALK, *skip, "."],
        cwd=folder,
        timeout_s=TIMEOUT_S,
        limit_b=3_000,
        on_chunk=listing.feed,
        enough=listing.enough,
    )
    found = await asyncio.to_thread(newest_first, [folder / path for path in listing.found])
    shown = [display(path, workspace.roots) for path in found[:MAX_FILES]]
    n_found = f"{len(found):,}"
    notes = []
    if len(found) > MAX_FILES:
        notes.append(f"the newest {MAX_FILES} of {n_found} files; narrow the pattern for others")
    if listing.enough.is_set():
        notes.append(f"stopped after {n_found} files, so newer ones may be missing")
    if finished.timed_out:
        notes.append(f"stopped after {TIMEOUT_S:g} s, so files may be missing")
    if finished.errors:
        notes.append("some folders could not be read")
    if not found:
        where = display(folder, workspace.roots)
        shown.append(f"no file below {where!r} matches {arguments.pattern!r} (ignored files aside)")
    figure = "1 file" if len(found) == 1 else f"{n_found} files"
    return Outcome(text="\n".join(shown + [f"[{note}]" for note in notes]), figure=figure)


def _relative(pattern: str, folder: Path) -> str:
    """A pattern as seen from ``folder``, if it was written from further up."""
    prefix = folder.as_posix().rstrip("/") + "/"
    return pattern.removeprefix(prefix).removeprefix("./")


class _Listing:
    """Takes file names as ripgrep writes them and keeps those that match."""

    def __init__(self, matches: Callable[[str], bool]) -> None:
        self.found: list[str] = []
        self.enough = asyncio.Event()
        self._matches = matches
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take what came; names end with a NUL byte."""
        *names, self._rest = (self._rest + data).split(b"\0")
        for name in names:
            path = name.decode("utf-8", "surrogateescape").removeprefix("./")
            if self._matches(path):
                self.found.append(path)
        if len(self.found) >= MAX_SORTED:
            self.enough.set()
