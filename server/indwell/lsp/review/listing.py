"""``indwell/changes``: pending hunks as rows for a client that draws them itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types

from indwell.lsp.protocol_review import ChangeRow, ChangesResult
from indwell.lsp.review.offers import Shown
from indwell.lsp.review.places import range_of
from indwell.review.hunk import Hunk


def changes_of(
    shown: Iterable[Shown],
    display: Callable[[Path], str],
    *,
    session: str | None,
    turn: int | None,
    pending: int,
) -> ChangesResult:
    """The rows of files, narrowed to a session or a turn of it, with what they add up to."""
    found = [
        (hunk, one)
        for one in shown
        for hunk in one.hunks
        if any(session in {None, by.session} and turn in {None, by.turn} for by in hunk.actors)
    ]
    return ChangesResult(
        changes=tuple(_row(hunk, one, display(hunk.path)) for hunk, one in found),
        files=len({hunk.path for hunk, _ in found}),
        added=sum(len(hunk.new) for hunk, _ in found),
        removed=sum(len(hunk.old) for hunk, _ in found),
        pending=pending,
    )


def _row(hunk: Hunk, shown: Shown, path: str) -> ChangeRow:
    newest = hunk.actors[-1]
    return ChangeRow(
        id=hunk.id,
        uri=shown.uri,
        path=path,
        range=_range(range_of(hunk, shown.n_lines, shown.encoding)),
        old="".join(hunk.old),
        new="".join(hunk.new),
        turn=newest.turn,
        session=newest.session,
        touched=hunk.is_touched,
        kind=hunk.kind,
        note=hunk.note,
    )


def _range(plain: Mapping[str, Any]) -> types.Range:
    return types.Range(
        start=types.Position(**plain["start"]),
        end=types.Position(**plain["end"]),
    )
