"""Search one place: its files and, in their stead, the unsaved buffers of an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.files import exists
from indwell.sandbox import Finished
from indwell.tools.base import ToolContext
from indwell.tools.searching.grep_query import GrepQuery
from indwell.tools.searching.grep_report import FoundMatches
from indwell.tools.searching.joined_buffers import Joined, join, with_context
from indwell.tools.searching.patterns import SearchPlan
from indwell.tools.searching.ripgrep import listen, together
from indwell.tools.searching.ripgrep_output import Hits, RawLine
from indwell.tools.searching.search_place import SearchPlace, beneath
from indwell.workspace.paths import display

MAX_COUNTED = 500  # matches, or files; then the search ends
TIMEOUT_S = 20.0
SKIPPED = (  # H51
    *(".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", "dist", "build"),
)

_FAILED = 2  # ripgrep's exit code for errors, be it one unreadable file


class _Answer(msgspec.Struct, frozen=True):
    """What was found on disk, or in buffers, and how ripgrep ended."""

    hits: Hits
    finished: tuple[Finished, ...] = ()
    is_cut: bool = False


async def search(query: GrepQuery, place: SearchPlace, context: ToolContext) -> FoundMatches:
    """Search on disk and in buffers at the same time."""
    roots = context.workspace.roots
    is_root = place.start == place.root
    way = query.plan if is_root else SearchPlan(names=query.plan.names, matches=query.wanted)
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
    """All matches, by all processors and so in no order; or the first that came of very many."""
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
    """Put the lines of the joined buffers where they belong."""
    found: dict[str, list[RawLine]] = {}
    for number, data, _ in (line for lines in heard.lines.values() for line in lines):
        name, own_number = joined.place_of(number)
        found.setdefault(name, []).append((own_number, data, True))
    for name, matches in found.items():
        for line in with_context(buffers[name], matches, n_beside):
            hits.add(name, line)


def _from_either(wanted: Callable[[str], bool], place: SearchPlace) -> Callable[[str], bool]:
    """A glob may be written from the root or from where the search starts."""
    if place.start == place.root:
        return wanted
    depth = len(place.parts)
    return lambda name: wanted(name) or wanted("/".join(name.split("/")[depth:]))


def _below(paths: Iterable[Path], folder: Path) -> Iterator[Path]:
    """The paths that lie in a folder, or are it, sorted."""
    return (path for path in sorted(paths) if path.parts[: len(folder.parts)] == folder.parts)


def _name(path: Path, place: SearchPlace) -> str:
    return path.relative_to(place.root).as_posix()


def _complaint(finished: Finished) -> str:
    """What ripgrep finds wrong with the pattern, or nothing."""
    if finished.exit_code != _FAILED or finished.total_b:
        return ""
    errors = finished.errors.decode("utf-8", "replace")
    return errors.removeprefix("rg: ").strip() if "regex" in errors else ""
