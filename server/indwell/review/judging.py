"""What a verdict makes of a weave: hunks settled, or taken out, as far as nothing is lost by it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from indwell.review.groups import Group, groups, is_pending
from indwell.review.taking import taken_out
from indwell.review.weave import BLOB, FILE, Mark, Weave, settled

TOUCHED = "you changed lines of it since"
BUILT_ON = "a later change rewrote the same lines"
NO_BYTES = "what it was is not kept, so it cannot be put back"
WITHIN = "a later change replaced all of the file"


class Judged(NamedTuple):
    """What became of it.

    Attributes:
        weave: Afterwards.
        groups: Those that were judged.
        kept: Those that were not, and why.
    """

    weave: Weave
    groups: tuple[Group, ...]
    kept: tuple[tuple[Group, str], ...] = ()


def accepted(
    weave: Weave, name: str, ids: Collection[str], only: Collection[tuple[str, int]] = ()
) -> Judged:
    """Settle hunks; of some actors only, if ``only`` names any."""
    chosen = _chosen(weave, name, ids, only)
    ranges = _by_segment((one, _these(only)) for one in chosen)

    def which(i: int, mark: Mark) -> bool:
        if i == BLOB:
            return any(one.kind == "opaque" for one in chosen) and _these(only)(mark)
        if i == FILE:
            return bool(chosen) and _these(only)(mark)
        return i in ranges and ranges[i](mark)

    return Judged(settled(weave, which), chosen)


def at_once(weave: Weave, edit: int) -> Weave:
    """Settle an edit as it is made, but where it stands among others that are not judged."""
    chosen = []
    for one in groups(weave, is_pending, ""):
        segments = weave.segments[one.start : one.stop]
        marks = {mark for part in segments for mark in (part.born, part.died) if mark is not None}
        if all(mark.edit == edit or mark.is_settled for mark in marks):
            chosen.append(one)
    ranges = _by_segment((one, is_pending) for one in chosen)

    def which(i: int, mark: Mark) -> bool:
        return mark.edit == edit if i < 0 else i in ranges and ranges[i](mark)

    return settled(weave, which)


def rejected(
    weave: Weave,
    name: str,
    ids: Collection[str],
    only: Collection[tuple[str, int]] = (),
    *,
    force: bool = False,
) -> Judged:
    """Take hunks out; of some actors only, if ``only`` names any."""
    return _without(weave, _chosen(weave, name, ids, only), _these(only), force=force)


def rewound(weave: Weave, name: str, session: str, after_turn: int, *, force: bool) -> Judged:
    """Take out all that a session did after a turn, whether it was accepted or not."""

    def which(mark: Mark) -> bool:
        return mark.session == session and mark.turn > after_turn

    return _without(weave, groups(weave, which, name), which, force=force, is_wide=True)


def _without(
    weave: Weave,
    chosen: Sequence[Group],
    which: Callable[[Mark], bool],
    *,
    force: bool,
    is_wide: bool = False,
) -> Judged:
    done, kept = [], []
    serials: set[int] = set()
    parts: list[tuple[Group, Callable[[Mark], bool]]] = []
    for one in chosen:
        reason = _reason(weave, one, which)
        if reason in {NO_BYTES, WITHIN} or (reason and not force):
            kept.append((one, reason))
            continue
        done.append(one)
        parts.append((one, which))
        if reason == BUILT_ON:
            reached = _reached(weave, one, which)
            serials |= reached if is_wide else set()
            parts[-1] = (one, _either(which, reached))
    ranges = _by_segment(parts)

    def goes(i: int, mark: Mark) -> bool:
        if i == BLOB:
            return any(one.kind == "opaque" for one in done) and which(mark)
        if i == FILE:
            return goes_with_file and which(mark)
        return mark.serial in serials or (i in ranges and ranges[i](mark))

    # The file itself goes, or comes back, only with the last of what the agent brought into it.
    goes_with_file = bool(done) and all(
        one.born is None or goes(i, one.born) or one.died is not None
        for i, one in enumerate(weave.segments)
    )
    return Judged(taken_out(weave, goes), tuple(done), tuple(kept))


def _reason(weave: Weave, one: Group, which: Callable[[Mark], bool]) -> str:
    """Why a group is better left; empty if nothing is lost without it."""
    if one.kind == "opaque":
        return _reason_of_bytes(weave, which)
    if one.is_touched:
        return TOUCHED
    for part in weave.segments[one.start : one.stop]:
        is_own = part.born is not None and which(part.born)
        if is_own and part.died is not None and not which(part.died):
            return BUILT_ON
    return ""


def _reason_of_bytes(weave: Weave, which: Callable[[Mark], bool]) -> str:
    """The same, of changes without lines: only the newest can be taken out."""
    first = min(i for i, blob in enumerate(weave.opaque) if which(blob.mark))
    if not all(which(blob.mark) for blob in weave.opaque[first:]):
        return WITHIN
    is_kept = weave.opaque[first].before is not None or weave.opaque[-1].after is not None
    return "" if is_kept else NO_BYTES


def _reached(weave: Weave, one: Group, which: Callable[[Mark], bool]) -> AbstractSet[int]:
    """The places of edits that changed what ``which`` brought there, and what these brought."""
    found: set[int] = set()
    n_before = -1
    segments = weave.segments[one.start : one.stop]
    while len(found) != n_before:
        n_before = len(found)
        for part in segments:
            if part.born is None or part.died is None:
                continue
            if which(part.born) or part.born.serial in found:
                found.add(part.died.serial)
    return found


def _chosen(
    weave: Weave, name: str, ids: Collection[str], only: Collection[tuple[str, int]]
) -> tuple[Group, ...]:
    return tuple(
        one
        for one in groups(weave, is_pending, name)
        if one.id in ids and (not only or not set(only).isdisjoint(one.actors))
    )


def _these(only: Collection[tuple[str, int]]) -> Callable[[Mark], bool]:
    """What is pending, of some actors or of all."""
    actors = frozenset(only)
    return lambda mark: not mark.is_settled and (not actors or mark.actor in actors)


def _either(which: Callable[[Mark], bool], serials: AbstractSet[int]) -> Callable[[Mark], bool]:
    return lambda mark: which(mark) or mark.serial in serials


def _by_segment(
    parts: Iterable[tuple[Group, Callable[[Mark], bool]]],
) -> Mapping[int, Callable[[Mark], bool]]:
    return {i: which for one, which in parts for i in range(one.start, one.stop)}
