"""Which segments of a weave make up a hunk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from indwell.review.weave import PLACES, Mark, Segment, Weave
from indwell.workspace.text import n_line_ends, split_lines

Kind: TypeAlias = Literal["change", "create", "delete", "opaque"]


class Group(NamedTuple):
    """Neighbouring segments that some changes are about.

    Attributes:
        id: Short hex of what it is, not of where.
        start: Its first segment.
        stop: One past its last.
        actors: Session and turn of each change, oldest first.
        line: See ``Hunk``.
        old: Lines that come back without the changes.
        new: Lines that go.
        is_touched: The user rewrote lines of it.
        kind: As in ``Hunk``.
        note: As in ``Hunk``.
        origins: The places of edits that it comes from.
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
    """Has nobody judged it yet?"""
    return not mark.is_settled


def groups(weave: Weave, which: Callable[[Mark], bool], name: str) -> tuple[Group, ...]:
    """The groups of ``which`` changes, in order; ``name`` goes into their ids."""
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
    """All changes without lines are one."""
    own = [one for one in weave.opaque if which(one.mark)]
    actors = tuple(dict.fromkeys(one.mark.actor for one in own))
    marks = tuple(one.mark.origin for one in own)
    one = Group("", 0, 0, actors, 1, (), (), kind="opaque", note=own[-1].note, origins=marks)
    return one._replace(id=_digest(_identity(name, one), 1))


def _runs(weave: Weave, which: Callable[[Mark], bool]) -> Iterator[tuple[int, int]]:
    """From and to of each run of segments without a visible one of others in it."""
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
    """The one group of a file that the agent made or removed; None if lines tell it all."""
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
    assert mark is not None, "one of the two was asked for"
    whole = found[0] if found else Group("", 0, len(weave.segments), (mark.actor,), 1, (), ())
    return whole._replace(kind=kind)


def _identity(name: str, one: Group) -> str:
    return repr((name, one.actors, one.origins, one.old, one.new, one.kind, one.note))


def _digest(text: str, number: int) -> str:
    data = f"{number} {text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=6).hexdigest()
