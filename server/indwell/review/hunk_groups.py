"""Groups a weave's segments into hunks, and applies verdicts to the weave. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, TypeAlias

from indwell.review.weave import BLOB, FILE, PLACES, Mark, Segment, Weave, settled, taken_out
from indwell.workspace.text import n_line_ends, split_lines

TOUCHED = "you have changed lines of it since"
BUILT_ON = "a later change rewrote the same lines"
NO_BYTES = "its earlier text is not kept, so it cannot be restored"
WITHIN = "a later change replaced all of the file"


class Judged(NamedTuple):
    """The result of accepting or rejecting groups of hunks.

    Attributes:
        weave: The weave after the verdict.
        groups: The groups that were accepted or rejected.
        kept: The groups that were neither accepted nor rejected, each with the reason.
    """

    weave: Weave
    groups: tuple[Group, ...]
    kept: tuple[tuple[Group, str], ...] = ()


def accepted(
    weave: Weave, name: str, ids: Collection[str], only: Collection[tuple[str, int]] = ()
) -> Judged:
    """Accept hunks; if ``only`` is not empty, accept only the changes of these actors."""
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
    """Accept a new edit, except where it is part of a group with other pending changes."""
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
    """Reject hunks; if ``only`` is not empty, reject only the changes of these actors."""
    return _without(weave, _chosen(weave, name, ids, only), _these(only), force=force)


def rewound(weave: Weave, name: str, session: str, after_turn: int, *, force: bool) -> Judged:
    """Undo all changes of a session after a turn, accepted or not."""

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

    # The creation or removal of a file is undone only if no line added by the agent remains.
    goes_with_file = bool(done) and all(
        one.born is None or goes(i, one.born) or one.died is not None
        for i, one in enumerate(weave.segments)
    )
    return Judged(taken_out(weave, goes), tuple(done), tuple(kept))


def _reason(weave: Weave, one: Group, which: Callable[[Mark], bool]) -> str:
    """Return the reason not to undo a group, or an empty text if an undo loses no later work."""
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
    """Return the same as ``_reason`` for changes without lines; only the newest can be undone."""
    first = min(i for i, blob in enumerate(weave.opaque) if which(blob.mark))
    if not all(which(blob.mark) for blob in weave.opaque[first:]):
        return WITHIN
    is_kept = weave.opaque[first].before is not None or weave.opaque[-1].after is not None
    return "" if is_kept else NO_BYTES


def _reached(weave: Weave, one: Group, which: Callable[[Mark], bool]) -> AbstractSet[int]:
    """Return the serials of changes that build on the selected changes, also indirectly."""
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
    """Return a predicate for pending changes of these actors; an empty ``only`` selects all."""
    actors = frozenset(only)
    return lambda mark: not mark.is_settled and (not actors or mark.actor in actors)


def _either(which: Callable[[Mark], bool], serials: AbstractSet[int]) -> Callable[[Mark], bool]:
    return lambda mark: which(mark) or mark.serial in serials


def _by_segment(
    parts: Iterable[tuple[Group, Callable[[Mark], bool]]],
) -> Mapping[int, Callable[[Mark], bool]]:
    return {i: which for one, which in parts for i in range(one.start, one.stop)}


Kind: TypeAlias = Literal["change", "create", "delete", "opaque"]


class Group(NamedTuple):
    """Adjacent segments that share a set of changes: a hunk before display.

    Attributes:
        id: Short hex digest of the content, not of the position.
        start: Number of the first segment.
        stop: The number after the last segment.
        actors: Session and turn of each change, oldest first.
        line: See ``Hunk``.
        old: Lines that undoing the changes restores.
        new: Lines that undoing the changes removes.
        is_touched: Whether the user has edited lines of this group.
        kind: See ``Hunk``.
        note: See ``Hunk``.
        origins: The edits that the changes come from, with positions.
    """

    id: str
    start: int
    stop: int
    actors: tuple[tuple[str, int], ...]
    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    is_touched: bool = False
    kind: Kind = "change"
    note: str = ""
    origins: tuple[str, ...] = ()


def is_pending(mark: Mark) -> bool:
    """Return whether the change awaits a verdict."""
    return not mark.is_settled


def groups(weave: Weave, which: Callable[[Mark], bool], name: str) -> tuple[Group, ...]:
    """Group the selected changes, in file order; ``name`` is part of the group ids."""
    if any(which(one.mark) for one in weave.opaque):
        return (_opaque(weave, which, name),)
    found = [_group(weave, run, which) for run in _runs(weave, which)]
    real = [one for one in found if one.old != one.new]
    whole = _of_file(weave, which, found)
    if whole is not None:
        real = [whole] if weave.is_there or whole.old or weave.created is None else []
    done: list[Group] = []
    line, at = 1, 0
    seen: dict[str, int] = {}
    for one in real:
        for part in weave.segments[at : one.start]:
            if part.died is None:
                line += n_line_ends(part.text, 0, len(part.text))
        text = _identity(name, one)
        number = seen[text] = seen.get(text, 0) + 1
        done.append(one._replace(id=_digest(text, number), line=line))
        line += len(one.new)
        at = one.stop
    return tuple(done)


def _opaque(weave: Weave, which: Callable[[Mark], bool], name: str) -> Group:
    """Return one group for all changes without lines."""
    own = [one for one in weave.opaque if which(one.mark)]
    actors = tuple(dict.fromkeys(one.mark.actor for one in own))
    marks = tuple(one.mark.origin for one in own)
    one = Group("", 0, 0, actors, 1, (), (), kind="opaque", note=own[-1].note, origins=marks)
    return one._replace(id=_digest(_identity(name, one), 1))


def _runs(weave: Weave, which: Callable[[Mark], bool]) -> Iterator[tuple[int, int]]:
    """Yield start and stop of each series of selected segments without visible others between."""
    start = stop = -1
    for i, one in enumerate(weave.segments):
        if _is_in(one, which):
            start = i if start < 0 else start
            stop = i + 1
        elif one.died is None and start >= 0:
            yield start, stop
            start = -1
    if start >= 0:
        yield start, stop


def _is_in(one: Segment, which: Callable[[Mark], bool]) -> bool:
    if one.born is not None and which(one.born):
        return True
    return one.died is not None and which(one.died)


def _group(weave: Weave, run: tuple[int, int], which: Callable[[Mark], bool]) -> Group:
    old: list[str] = []
    new: list[str] = []
    marks: dict[tuple[str, int], int] = {}
    origins: set[str] = set()
    is_touched = False
    for one in weave.segments[run[0] : run[1]]:
        is_own = one.born is not None and which(one.born)
        is_back = one.died is not None and which(one.died)
        if is_own and one.died is None:
            new += split_lines(one.text)
        elif is_back and not is_own:
            old += split_lines(one.text)
        is_touched = is_touched or (is_own and one.is_touched)
        for mark in (one.born, one.died):
            if mark is not None and which(mark):
                marks[mark.actor] = min(mark.serial, marks.get(mark.actor, mark.serial))
                origins.add(f"{mark.origin}.{mark.serial % PLACES}")
    actors = tuple(sorted(marks, key=marks.__getitem__))
    return Group(
        "", *run, actors, 0, tuple(old), tuple(new), is_touched, origins=tuple(sorted(origins))
    )


def _of_file(weave: Weave, which: Callable[[Mark], bool], found: list[Group]) -> Group | None:
    """Return the single group of a created or removed file, or None for an ordinary edit."""
    created = weave.created if weave.created is not None and which(weave.created) else None
    deleted = weave.deleted if weave.deleted is not None and which(weave.deleted) else None
    kind: Kind
    if deleted is not None and not weave.is_there:
        kind = "delete"
    elif created is not None and not any(
        one.died is None and (one.born is None or not which(one.born)) for one in weave.segments
    ):
        kind = "create"
    else:
        return None
    mark = deleted if deleted is not None else created
    assert mark is not None, "only one of the two was selected"
    whole = found[0] if found else Group("", 0, len(weave.segments), (mark.actor,), 1, (), ())
    return whole._replace(kind=kind)


def _identity(name: str, one: Group) -> str:
    return repr((name, one.actors, one.origins, one.old, one.new, one.kind, one.note))


def _digest(text: str, number: int) -> str:
    data = f"{number} {text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=6).hexdigest()
