"""A verdict as the model is to be told of it: what it really did to the file. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from indwell.review.hunk import Hunk, Verdict
from indwell.review.records import Judged, digest
from indwell.review.weave import Weave
from indwell.workspace.comparing.diff import compare
from indwell.workspace.text import n_line_ends


def said(
    record: Judged, path: Path, hunks: tuple[Hunk, ...], before: Weave, after: Weave
) -> Verdict:
    """The verdict of a record.

    Args:
        record: What was written down.
        path: Of the file.
        hunks: Those that were judged, whole.
        before: The file before it.
        after: The file after it.
    """
    verdict = Verdict(path, id=record.id)
    if not any(one.kind == "opaque" for one in hunks):  # its bytes are no text
        was = digest(before.reads)
        became = was if record.is_accepted else digest(after.reads)
        verdict = msgspec.structs.replace(verdict, was=was, became=became)
    if record.is_accepted:
        return msgspec.structs.replace(verdict, accepted=hunks)
    if record.only:  # a hunk may have the lines of other turns, too, and these stay
        hunks = _taken_back(record, hunks, before.reads, after.reads)
    return msgspec.structs.replace(verdict, rejected=hunks)


def _taken_back(
    record: Judged, hunks: Sequence[Hunk], before: str | None, after: str | None
) -> tuple[Hunk, ...]:
    """What went of some hunks, as it was made."""
    if before is None or after is None or any(one.kind == "opaque" for one in hunks):
        return tuple(hunks)
    places = compare(before, after).places
    if not places:
        return tuple(hunks)
    actors = tuple(dict.fromkeys(actor for one in hunks for actor in one.actors))
    if not record.force:  # by force also what others built on it
        actors = tuple(one for one in actors if (one.session, one.turn) in record.only)
    starts = _line_numbers(before, [place.start for place in places])
    return tuple(
        Hunk(
            id=hunks[0].id,
            path=hunks[0].path,
            actors=actors,
            line=line,
            old=tuple(place.new),
            new=tuple(place.old),
        )
        for line, place in zip(starts, places, strict=True)
    )


def _line_numbers(text: str, offsets: Sequence[int]) -> list[int]:
    """The lines (from 1) that begin at some places of a text, in order."""
    numbers = []
    line = at = 0
    for offset in offsets:
        line += n_line_ends(text, at, offset)
        numbers.append(line + 1)
        at = offset
    return numbers
