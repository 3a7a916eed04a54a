"""Defines ``grep``, which finds lines by a pattern, on disk and in unsaved buffers (H51).

Unsaved buffers are joined into one text, which is searched once.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from indwell.errors import ToolError
from indwell.files.listing import exists
from indwell.files.spelling import slashed_glob
from indwell.sandbox import Finished
from indwell.tools.arguments import Given, of_struct, renamed
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts
from indwell.tools.searching.grep_report import FoundMatches, GrepQuery, report
from indwell.tools.searching.patterns import SearchPlace, SearchScope, beneath, search_places
from indwell.tools.searching.ripgrep import Hits, Mode, RawLine, listen, together
from indwell.workspace.paths import display

_NAMES = {
    "-i": "ignore_case",
    "ignoreCase": "ignore_case",
    "output_mode": "mode",
    "include": "glob",
}
_MODES = {"content": "lines", "files_with_matches": "files"}
_AROUND = ("-A", "-B", "-C")
# The options have no effect, because lines always have numbers and results a limit.
_DONE_ANYHOW = ("-n", "head_limit")
MAX_COUNTED = 500  # The search ends after this many matches or files.
TIMEOUT_S = 20.0
SKIPPED = (  # A search skips these folders (H51).
    *(".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", "dist", "build"),
)
_FAILED = 2  # The value is ripgrep's exit code for errors, even for one unreadable file.
MAX_UNSAVED = 32 << 20  # The limit is in characters of all buffers that are searched.
_PIECE = 1 << 18  # Splitting this many characters into lines takes about 2 ms.
_MARK = "\ufeff"  # Some editors keep the byte order mark in the text.


class Grep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of ``grep``."""

    pattern: Annotated[str, msgspec.Meta(description="regular expression (Rust), by line")]
    path: Annotated[str, msgspec.Meta(description="file or folder")] = "."
    glob: Annotated[str, msgspec.Meta(description="only these files, such as *.py")] = ""
    ignore_case: bool = False
    mode: Mode = "lines"
    context: Annotated[int, msgspec.Meta(ge=0, le=5, description="lines around each match")] = 0


def _understood(given: Given) -> Given:
    """Translate grep's own options; the lines before and after a match become a single number."""
    ours = renamed({one: given[one] for one in given if one not in _DONE_ANYHOW}, _NAMES)
    around = [ours.pop(one) for one in _AROUND if one in ours]
    if around and "context" not in ours:
        ours["context"] = max(around) if all(isinstance(one, int) for one in around) else around[0]
    if isinstance(mode := ours.get("mode"), str):
        ours["mode"] = _MODES.get(mode, mode)
    return ours


def make_grep() -> Tool[Grep]:
    """Make the tool."""
    return Tool(
        name="grep",
        description="Search file contents, not in ignored files and dependency folders.",
        arguments=of_struct(Grep, _understood),
        effect="read",
        facts=lambda arguments: ToolFacts(
            tool="grep", effect="read", paths=(arguments.path,), subject=arguments.pattern
        ),
        run=_run,
    )


async def _run(arguments: Grep, context: ToolContext) -> Outcome:
    if not arguments.pattern or "\0" in arguments.pattern:
        raise ToolError(f"{arguments.pattern!r} is not a pattern to search for")
    query = GrepQuery(
        pattern=arguments.pattern,
        glob=slashed_glob(arguments.glob).removeprefix("./"),
        mode=arguments.mode,
        beside=arguments.context if arguments.mode == "lines" else 0,
        ignore_case=arguments.ignore_case,
    )
    places = await search_places(context, arguments.path)
    found = await together(*(search(query, place, context) for place in places))
    complaint = next((one.complaint for one in found if one.complaint), "")
    if complaint:  # The model often means plain text, such as a call with an open bracket.
        query = msgspec.structs.replace(query, is_plain=True)
        found = await together(*(search(query, place, context) for place in places))
        if not any(one.hits.counts for one in found):
            raise ToolError(
                f"{query.pattern[:200]!r} is not a regular expression that ripgrep takes; escape "
                f"special characters with a backslash; {complaint[:500]}"
            )
    return await asyncio.to_thread(report, query, found, context, complaint)


class _Answer(msgspec.Struct, frozen=True):
    """The matches on disk or in buffers, and the way in which ripgrep ended."""

    hits: Hits
    finished: tuple[Finished, ...] = ()
    is_cut: bool = False


async def search(query: GrepQuery, place: SearchPlace, context: ToolContext) -> FoundMatches:
    """Search on disk and in buffers at the same time."""
    roots = context.workspace.roots
    is_root = place.start == place.root
    way = query.scope if is_root else SearchScope(names=query.scope.names, matches=query.wanted)
    inner = await asyncio.to_thread(beneath, place, way.folder)
    skipped = [name for name in SKIPPED if inner is None or name not in inner.parts]
    wanted = _from_either(query.wanted, place)
    unsaved = context.workspace.unsaved()
    taken = {_name(path, place) for path in _below(unsaved, place.root)}
    buffers = {
        _name(path, place): unsaved[path]
        for path in _below(unsaved, place.start)
        if set(skipped).isdisjoint(path.relative_to(place.root).parts)
        and wanted(_name(path, place))
        and not context.hidden(display(path, roots))
    }
    joined = await asyncio.to_thread(join, buffers)
    disk, heard = await together(
        _on_disk(
            query,
            inner,
            roots,
            (*way.options, *(f"--glob=!{name}" for name in skipped)),
            lambda name: (
                name not in taken
                and (way.matches is None or wanted(name))
                and not context.hidden(display(place.root / name, roots))
            ),
        ),
        _in_buffers(query, place, roots, joined),
    )
    await asyncio.to_thread(_merge, disk.hits, heard.hits, joined, buffers, query.beside)
    finished = (*disk.finished, *heard.finished)
    return FoundMatches(
        place=place,
        hits=disk.hits,
        unsaved=frozenset(buffers),
        is_cut=disk.is_cut or heard.is_cut,
        timed_out=any(one.timed_out for one in finished),
        has_binary=disk.hits.has_binary,
        has_errors=any(one.errors for one in finished),
        left_out=joined.left_out,
        missing=way.folder if inner is None else "",
        complaint=next(filter(None, map(_complaint, finished)), ""),
    )


async def _on_disk(
    query: GrepQuery,
    inner: SearchPlace | None,
    roots: Sequence[Path],
    options: Sequence[str],
    wanted: Callable[[str], bool],
) -> _Answer:
    """Return the matches on disk, in no order; if there are too many, only the first ones."""
    if inner is None:
        return _Answer(Hits(query.mode))
    root = inner.root
    hits = Hits(query.mode, MAX_COUNTED, wanted, lambda name: exists(root / name))
    argv = (*query.in_files, *options, "--", inner.argument)
    finished = await listen(argv, cwd=root, never_in=roots, timeout_s=TIMEOUT_S, take=hits.take)
    return _Answer(hits, (finished,), hits.is_full)


async def _in_buffers(
    query: GrepQuery, place: SearchPlace, roots: Sequence[Path], joined: Joined
) -> _Answer:
    lines = Hits("lines", MAX_COUNTED)
    if not joined.data:
        return _Answer(lines)
    finished = await listen(
        query.in_text,
        cwd=place.root,
        never_in=roots,
        timeout_s=TIMEOUT_S,
        take=lines.take,
        stdin=joined.data,
    )
    return _Answer(lines, (finished,), lines.is_full)


def _merge(
    hits: Hits, heard: Hits, joined: Joined, buffers: Mapping[str, str], n_beside: int
) -> None:
    """Assign the lines of the joined buffers to their files."""
    found: dict[str, list[RawLine]] = {}
    for number, data, _ in (line for lines in heard.lines.values() for line in lines):
        name, own_number = joined.place_of(number)
        found.setdefault(name, []).append((own_number, data, True))
    for name, matches in found.items():
        for line in with_context(buffers[name], matches, n_beside):
            hits.add(name, line)


def _from_either(wanted: Callable[[str], bool], place: SearchPlace) -> Callable[[str], bool]:
    """Accept a glob that is relative to the root or to the start of the search."""
    if place.start == place.root:
        return wanted
    depth = len(place.parts)
    return lambda name: wanted(name) or wanted("/".join(name.split("/")[depth:]))


def _below(paths: Iterable[Path], folder: Path) -> Iterator[Path]:
    """Yield the paths that are in a folder, or that are the folder itself, sorted."""
    return (path for path in sorted(paths) if path.parts[: len(folder.parts)] == folder.parts)


def _name(path: Path, place: SearchPlace) -> str:
    return path.relative_to(place.root).as_posix()


def _complaint(finished: Finished) -> str:
    """Return ripgrep's complaint about the pattern, or an empty text."""
    if finished.exit_code != _FAILED or finished.total_b:
        return ""
    errors = finished.errors.decode("utf-8", "replace")
    return errors.removeprefix("rg: ").strip() if "regex" in errors else ""


class Joined(msgspec.Struct, frozen=True):
    """Several texts, joined into one text.

    Attributes:
        data: The bytes of all texts; each text begins on a new line.
        names: The names of the included texts, in order.
        starts: The number of lines before each text.
        left_out: Names of texts that did not fit.
    """

    data: bytes
    names: tuple[str, ...]
    starts: tuple[int, ...]
    left_out: tuple[str, ...]

    def place_of(self, line: int) -> tuple[str, int]:
        """Return the name of the text that has a line, and the line's number in that text."""
        at = bisect_right(self.starts, line - 1) - 1
        return self.names[at], line - self.starts[at]


def join(texts: Mapping[str, str], room: int = MAX_UNSAVED) -> Joined:
    """Join texts as long as they fit in ``room`` characters."""
    pieces: list[bytes] = []
    names: list[str] = []
    starts: list[int] = []
    left_out: list[str] = []
    n_lines = 0
    for name, text in texts.items():
        if len(text) > room:
            left_out.append(name)
            continue
        room -= len(text)
        data = text.removeprefix(_MARK).encode("utf-8", "replace")
        if data and not data.endswith(b"\n"):
            data += b"\n"
        if data:
            pieces.append(data)
            names.append(name)
            starts.append(n_lines)
            n_lines += data.count(b"\n")
    return Joined(b"".join(pieces), tuple(names), tuple(starts), tuple(left_out))


def with_context(text: str, matches: Sequence[RawLine], n_beside: int) -> list[RawLine]:
    """Return the matching lines, with ``beside`` lines on either side."""
    if not n_beside:
        return list(matches)
    found = {number: (number, data, True) for number, data, _ in matches}
    near = {one + by for one in found for by in range(-n_beside, n_beside + 1)} - found.keys()
    n_before = 0
    for lines in _pieces(text.removeprefix(_MARK).removesuffix("\n")):
        for number in near:
            if n_before < number <= n_before + len(lines):
                line = lines[number - n_before - 1]
                found[number] = (number, line.encode("utf-8", "replace"), False)
        n_before += len(lines)
    return [found[number] for number in sorted(found)]


def _pieces(text: str) -> Iterator[list[str]]:
    """Yield lines in portions, because splitting a large buffer at once delays other threads."""
    at = 0
    while at <= len(text):
        end = text.find("\n", at + _PIECE)
        end = end if end >= 0 else len(text)
        yield text[at:end].split("\n")
        at = end + 1
