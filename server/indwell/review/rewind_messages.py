"""User-visible messages about a rewind of files: questions before, a report after. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from indwell.review.hunk import Hunk, Rejection
from indwell.review.verdicts import VerdictOutcome
from indwell.workspace.paths import display

NAMED = 3


def question(plans: Sequence[Rejection], roots: Sequence[Path]) -> str:
    """Ask whether to rewind these files too."""
    return f"Restore the files too? ({_files([one.path for one in plans], roots)})"


def conflict(done: VerdictOutcome, roots: Sequence[Path]) -> str:
    """Ask whether to undo changes that conflict with later work."""
    paths = dict.fromkeys(hunk.path for hunk, _ in done.kept)
    reasons = dict.fromkeys(why for _, why in done.kept)
    return (
        f"Some changes cannot be reverted without losing later work: "
        f"{_files(list(paths), roots)} ({'; '.join(list(reasons)[:NAMED])}). Keep the present "
        "text, or restore the earlier text?"
    )


def report(done: VerdictOutcome, roots: Sequence[Path]) -> tuple[str, ...]:
    """Report each outcome in a sentence; empty if nothing was done."""
    sentences = []
    paths = list(dict.fromkeys(one.path for one in done.hunks))
    if paths:
        sentences.append(f"restored {_files(paths, roots)}")
    if done.kept:
        kept = list(dict.fromkeys(hunk.path for hunk, _ in done.kept))
        sentences.append(f"kept later work in {_files(kept, roots)}: {_reasons(done.kept)}")
    sentences += [f"{display(path, roots)!r} was not restored: {why}" for path, why in done.failed]
    if done.copies:
        folder = done.copies[0][1].parent
        sentences.append(
            f"what the files held before is kept in {str(folder)!r} ("
            + ", ".join(copy.name for _, copy in done.copies[:NAMED])
            + (", …" if len(done.copies) > NAMED else "")
            + "); in the editor, undo brings it back file by file"
        )
    return tuple(sentences)


def unrecorded(names: Sequence[str], known: Iterable[Path], roots: Sequence[Path]) -> str:
    """Name the changed files that have no record and so stay as they are; empty if none."""
    recorded = {display(path, roots) for path in known}
    missing = [name for name in names if name not in recorded]
    if not missing:
        return ""
    shown = ", ".join(missing[:NAMED])
    more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
    number = "1 file stays" if len(missing) == 1 else f"{len(missing):,} files stay"
    return (
        f"{number} as now: {shown}{more}. Indwell has no record of what this session changed "
        "there; take the changes back with git, or with undo in the editor"
    )


def _reasons(kept: Iterable[tuple[Hunk, str]]) -> str:
    return "; ".join(list(dict.fromkeys(why for _, why in kept))[:NAMED])


def _files(paths: Sequence[Path], roots: Sequence[Path]) -> str:
    names = ", ".join(display(path, roots) for path in paths[:NAMED])
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    number = "1 file" if len(paths) == 1 else f"{len(paths):,} files"
    return f"{number}: {names}{more}"
