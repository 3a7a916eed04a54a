"""``grep``: lines that match a regular expression, on disk and in unsaved buffers (H51)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from indwell.errors import ToolError
from indwell.sandbox import Finished, run_program
from indwell.tools.base import Facts, Outcome, Tool, ToolContext
from indwell.tools.glob import path_matcher
from indwell.tools.ripgrep import WALK, ripgrep, search_place
from indwell.workspace.paths import display

MAX_MATCHES = 200  # H51
LINE_CHARS = 300
TIMEOUT_S = 20.0
SKIPPED = (  # H51
    *(".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", "dist", "build"),
)
MAX_BUFFERS = 50  # unsaved buffers that are searched

_SEARCH = (
    *("--line-number", "--no-heading", "--with-filename", "--null"),
    *("--max-columns=1200", "--max-columns-preview"),  # bytes; cut to characters afterwards
)
_MATCH = re.compile(rb"([^\0]*)\0(\d+):([^\n]*)\n")
_WARNING = re.compile(rb"(?s)\A.*(?:binary file (?:after match|matches)) \(found [^\n]*\)\n")
_STDIN = "<stdin>"


class Grep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``grep``."""

    pattern: Annotated[str, msgspec.Meta(description="regular expression (Rust), by line")]
    path: Annotated[str, msgspec.Meta(description="file or folder")] = "."
    glob: Annotated[str, msgspec.Meta(description="only these files, such as *.py")] = ""
    ignore_case: bool = False


class Match(msgspec.Struct, frozen=True, order=True):
    """One line that matches.

    Attributes:
        path: Relative to the root that was searched.
        line: Its number, from 1.
        text: The line, cut.
    """

    path: str
    line: int
    text: str


def make_grep() -> Tool[Grep]:
    """The tool."""
    return Tool(
        name="grep",
        description="Search file contents. Ignored files and dependency folders are left out.",
        arguments=Grep,
        effect="read",
        facts=lambda arguments: Facts(
            tool="grep", effect="read", paths=(arguments.path,), subject=arguments.pattern
        ),
        run=_run,
    )


async def _run(arguments: Grep, context: ToolContext) -> Outcome:
    if not arguments.pattern or "\0" in arguments.pattern:
        raise ToolError(f"{arguments.pattern!r} is no pattern to search for")
    workspace = context.workspace
    root, start = await search_place(context, arguments.path)
    relative = start.relative_to(root)
    skipped = [name for name in SKIPPED if name not in relative.parts]
    wanted = path_matcher(arguments.glob.removeprefix("./")) if arguments.glob else None
    unsaved = _in_reach(workspace.unsaved(), root, start, skipped, wanted)
    options = [*_SEARCH, *(("--ignore-case",) if arguments.ignore_case else ())]
    pattern = ["-e", arguments.pattern, "--"]

    matches: list[Match] = []
    for path, text in list(unsaved.items())[:MAX_BUFFERS]:
        if context.hidden(display(root / path, workspace.roots)):
            continue
        argv = [ripgrep(), *WALK, *options, *pattern, "-"]
        found = _Matches(lambda _: True)
        await _search(argv, root, found, arguments.pattern, text.encode("utf-8", "replace"))
        matches += [Match(path, one.line, one.text) for one in found.matches]
    taken = frozenset(workspace.unsaved())
    found = _Matches(
        lambda path: (
            root / path not in taken
            and (wanted is None or wanted(path))
            and not context.hidden(display(root / path, workspace.roots))
        ),
        MAX_MATCHES - len(matches),
    )
    finished = None
    if not found.is_full:
        files = ["--sort=path", *(f"--glob=!{name}" for name in skipped), *_narrow(arguments.glob)]
        argv = [ripgrep(), *WALK, *options, *files, *pattern, _from_here(relative)]
        finished = await _search(argv, root, found, arguments.pattern)
    matches = sorted(matches + found.matches)[:MAX_MATCHES]

    notes = []
    if found.is_full:
        notes.append(f"stopped at {MAX_MATCHES} matches; narrow the pattern, path or glob")
    if finished is not None and finished.timed_out:
        notes.append(f"stopped after {TIMEOUT_S:g} s; narrow the path or glob")
    if finished is not None and finished.errors:
        notes.append("some files could not be read")
    if len(unsaved) > MAX_BUFFERS:
        notes.append(f"only {MAX_BUFFERS} of {len(unsaved)} unsaved buffers were searched")
    body = [*_grouped(matches, root, workspace.roots, unsaved)]
    if not matches:
        where = display(start, workspace.roots)
        body.append(f"nothing in {where!r} matches {arguments.pattern!r} (ignored files aside)")
    figure = "1 match" if len(matches) == 1 else f"{len(matches)} matches"
    return Outcome(text="\n".join(body + [f"[{note}]" for note in notes]), figure=figure)


async def _search(
    argv: Sequence[str], cwd: Path, found: _Matches, pattern: str, stdin: bytes = b""
) -> Finished:
    """Run ripgrep into ``found``.

    Raises:
        ToolError: The pattern is no regular expression.
    """
    finished = await run_program(
        argv,
        cwd=cwd,
        timeout_s=TIMEOUT_S,
        limit_b=3_000,
        on_chunk=found.feed,
        enough=found.enough,
        stdin=stdin,
    )
    if finished.exit_code == _FAILED and not finished.total_b:
        errors = finished.errors.decode("utf-8", "replace")
        if "regex" in errors:
            complaint = errors.removeprefix("rg: ").strip()
            raise ToolError(
                f"{pattern[:200]!r} is no regular expression that ripgrep takes; escape special "
                f"characters with a backslash; {complaint[:500]}"
            )
    return finished


_FAILED = 2  # ripgrep's exit code for errors, be it one unreadable file


def _from_here(relative: Path) -> str:
    """A path that cannot be taken for an option."""
    return "." if relative == Path() else f"./{relative.as_posix()}"


def _in_reach(
    unsaved: Mapping[Path, str],
    root: Path,
    start: Path,
    skipped: Sequence[str],
    wanted: Callable[[str], bool] | None,
) -> dict[str, str]:
    """Unsaved buffers that the search would come to, by path relative to ``root``, sorted."""
    reached = {}
    for path in sorted(unsaved):
        if path.parts[: len(start.parts)] != start.parts:
            continue
        relative = path.relative_to(root)
        if not set(skipped).isdisjoint(relative.parts):
            continue
        if wanted is None or wanted(relative.as_posix()):
            reached[relative.as_posix()] = unsaved[path]
    return reached


def _narrow(glob: str) -> tuple[str, ...]:
    """Let ripgrep leave files out by name, where a pattern allows it; the rest is filtered here.

    As a file type, not as ``--glob``: that would bring ignored files back.
    """
    return () if not glob or "/" in glob else (f"--type-add=wanted:{glob}", "--type=wanted")


def _grouped(
    matches: Sequence[Match], root: Path, roots: Sequence[Path], unsaved: Mapping[str, str]
) -> Iterator[str]:
    """Lines for the model: each path once, its matches below it."""
    path = None
    for match in matches:
        if match.path != path:
            path = match.path
            yield display(root / path, roots) + (" (not saved yet)" if path in unsaved else "")
        yield f"{match.line}: {match.text}"


class _Matches:
    """Takes matches as ripgrep writes them, until there are enough."""

    def __init__(self, wanted: Callable[[str], bool], limit: int = MAX_MATCHES) -> None:
        self.matches: list[Match] = []
        self.enough = asyncio.Event()
        self._wanted = wanted
        self._limit = limit
        self._rest = b""

    @property
    def is_full(self) -> bool:
        """Nothing more is taken."""
        return len(self.matches) >= self._limit

    def feed(self, data: bytes) -> None:
        """Take what came: path, NUL byte, number, colon, line."""
        self._rest += data
        at = 0
        for found in _MATCH.finditer(self._rest):
            at = found.end()
            self._take(*found.groups())
            if self.is_full:
                self._rest = b""
                self.enough.set()
                return
        self._rest = self._rest[at:]

    def _take(self, path: bytes, line: bytes, text: bytes) -> None:
        name = _WARNING.sub(b"", path).decode("utf-8", "surrogateescape").removeprefix("./")
        if self._wanted(name):
            words = text.decode("utf-8", "replace").rstrip("\r")
            if len(words) > LINE_CHARS:
                words = f"{words[:LINE_CHARS]}…"
            self.matches.append(Match(name, int(line), words))
