"""Keeps all present and removed lines of a file, with who added and removed each line: a weave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from indwell.workspace.comparing.diff import ReplacedLines

# These numbers, in place of a segment's, refer to the file itself, and to a change without lines.
FILE, BLOB = -1, -2
PLACES = 1 << 20  # Each edit reserves this many serial numbers, one for each changed position.


class Mark(NamedTuple):
    """The author of a change to a line, and whether the change is accepted.

    Attributes:
        session: The agent's session.
        turn: The session's turn.
        serial: The number of the edit and of the position in it, ascending: ``edit * PLACES +
            place``.
        origin: The id of the edit in all processes.
        is_settled: Whether the change was accepted, or needs no review.
    """

    session: str
    turn: int
    serial: int
    origin: str = ""
    is_settled: bool = False

    @property
    def actor(self) -> tuple[str, int]:
        """The session and turn of the author."""
        return self.session, self.turn

    @property
    def edit(self) -> int:
        """The number of the edit."""
        return self.serial // PLACES


class Blob(NamedTuple):
    """A change without lines; see ``hunk.Opaque``."""

    mark: Mark
    note: str
    before: str | None = None
    after: str | None = None
    mode: int = 0


class Segment(NamedTuple):
    """Lines that were added, and perhaps removed, by the same changes.

    Attributes:
        text: Whole lines with their line endings.
        born: The change that added the lines, or None for the user's lines and original lines.
        died: The change that removed the lines, or None if the lines are visible.
        is_touched: Whether the user has edited the lines; ``born`` is still the author of the
            original lines.
    """

    text: str
    born: Mark | None = None
    died: Mark | None = None
    is_touched: bool = False


class Weave:
    """The segments of a file, in order. Immutable.

    Args:
        segments: The segments, in order.
        is_there: Whether the file exists.
        created: The change by which the agent created the file.
        deleted: The change by which the agent removed the file.
        opaque: Changes without lines, oldest first. With such changes, the segments have no
            meaning.
    """

    def __init__(
        self,
        segments: Sequence[Segment] = (),
        *,
        is_there: bool = True,
        created: Mark | None = None,
        deleted: Mark | None = None,
        opaque: tuple[Blob, ...] = (),
    ) -> None:
        self.segments = tuple(segments)
        self.is_there = is_there
        self.created = created
        self.deleted = deleted
        self.opaque = opaque

    @cached_property
    def text(self) -> str:
        """The visible text, or empty if there is no file."""
        return "".join([one.text for one in self.segments if one.died is None])

    @cached_property
    def size(self) -> int:
        """Number of visible characters, counted without joining the text."""
        return sum(len(one.text) for one in self.segments if one.died is None)

    @cached_property
    def unjudged(self) -> frozenset[int]:
        """Serials of changes that await a verdict and that the user has not edited."""
        marks = {one.born for one in self.segments if not one.is_touched}
        marks |= {one.died for one in self.segments}
        return frozenset(one.serial for one in marks if one is not None and not one.is_settled)

    @cached_property
    def brought(self) -> frozenset[int]:
        """Serials in ``unjudged`` whose added lines are still visible."""
        marks = {one.born for one in self.segments if not one.is_touched and one.died is None}
        return frozenset(one.serial for one in marks if one is not None and not one.is_settled)

    @property
    def reads(self) -> str | None:
        """The visible text, or None if there is no file."""
        return self.text if self.is_there else None

    def forget_text(self) -> None:
        """Free the cached ``text``; the next access joins it again."""
        self.__dict__.pop("text", None)

    def of(self, segments: Sequence[Segment]) -> Weave:
        """Return this weave with other segments."""
        return Weave(
            segments,
            is_there=self.is_there,
            created=self.created,
            deleted=self.deleted,
            opaque=self.opaque,
        )


GONE = Weave(is_there=False)


def plain(text: str | None) -> Weave:
    """Return the weave of an unchanged file; a ``text`` of None means no file."""
    if text is None:
        return GONE
    return Weave((Segment(text),) if text else ())


class ChangedPlace(NamedTuple):
    """The segments and lines at one changed position of the visible text.

    Attributes:
        span: The segments between the visible segments around the position.
        new: The new lines.
        right: The next visible segment, or None at the file's end.
    """

    span: list[Segment]
    new: list[str]
    right: Segment | None


def rewoven(
    weave: Weave,
    places: Iterable[ReplacedLines],
    resolve: Callable[[ChangedPlace], Iterable[Segment]],
) -> list[Segment]:
    """Return the segments, with each changed place replaced by the result of ``resolve``."""
    source: list[Segment] = list(reversed(weave.segments))
    done: list[Segment] = []
    at = 0
    for place in places:
        at = _copied(source, done, at, place.start)
        n_ghosts = 0
        while n_ghosts < len(done) and done[-1 - n_ghosts].died is not None:
            n_ghosts += 1
        cut = len(done) - n_ghosts
        span = done[cut:]
        del done[cut:]
        at = _copied(source, span, at, place.stop)
        while source and source[-1].died is not None:
            span.append(source.pop())
        right = source[-1] if source else None
        done += resolve(ChangedPlace(span, place.new, right))
    return joined([*done, *reversed(source)])


def _copied(source: list[Segment], target: list[Segment], at: int, stop: int) -> int:
    """Move segments to ``target`` up to visible offset ``stop``; split a segment at ``stop``."""
    while at < stop:
        one = source.pop()
        if one.died is None:
            size = stop - at
            if len(one.text) > size:
                source.append(one._replace(text=one.text[size:]))
                one = one._replace(text=one.text[:size])
            at += len(one.text)
        target.append(one)
    return at


def joined(segments: Iterable[Segment]) -> list[Segment]:
    """Merge adjacent segments that differ only in text, and drop empty segments."""
    done: list[Segment] = []
    run: list[str] = []
    fate: Segment | None = None
    for one in segments:
        if not one.text:
            continue
        if fate is not None and one[1:] == fate[1:]:
            run.append(one.text)
            continue
        if fate is not None:
            done.append(fate._replace(text="".join(run)))
        fate, run = one, [one.text]
    if fate is not None:
        done.append(fate._replace(text="".join(run)))
    return done


def edited(weave: Weave, places: Sequence[ReplacedLines], mark: Mark) -> Weave:
    """Return the weave after an agent's edit; ``mark`` is the mark of the first changed place."""
    numbers = iter(range(len(places)))

    def resolve(place: ChangedPlace) -> Iterable[Segment]:
        own = mark._replace(serial=mark.serial + next(numbers))
        last = max((i for i, one in enumerate(place.span) if one.died is None), default=None)
        cut = len(place.span) if last is None else last + 1
        yield from (_killed(one, own) for one in place.span[:cut])
        yield Segment("".join(place.new), born=own)
        yield from place.span[cut:]

    return weave.of(rewoven(weave, places, resolve))


def removed(weave: Weave, mark: Mark) -> Weave:
    """Return the weave after the agent removed the file."""
    segments = joined(_killed(one, mark) for one in weave.segments)
    return Weave(segments, is_there=False, created=weave.created, deleted=mark)


def _killed(one: Segment, mark: Mark) -> Segment:
    """Mark a segment as removed by a change, unless the segment is already removed."""
    return one if one.died is not None else one._replace(died=mark)


def settled(weave: Weave, which: Callable[[int, Mark], bool]) -> Weave:
    """Return the weave in which the selected changes count as accepted (``is_settled``).

    Args:
        weave: The file.
        which: Selects marks, given the segment's number (or ``FILE`` or ``BLOB``) and the mark.
    """

    def settle(i: int, mark: Mark | None) -> Mark | None:
        return mark._replace(is_settled=True) if mark is not None and which(i, mark) else mark

    changed = [
        one._replace(born=settle(i, one.born), died=settle(i, one.died))
        for i, one in enumerate(weave.segments)
    ]
    opaque = tuple(
        one._replace(mark=one.mark._replace(is_settled=True)) if which(BLOB, one.mark) else one
        for one in weave.opaque
    )
    return Weave(
        joined(changed),
        is_there=weave.is_there,
        created=settle(FILE, weave.created),
        deleted=settle(FILE, weave.deleted),
        opaque=opaque,
    )


def all_taken_out(weave: Weave, which: Callable[[Mark], bool]) -> Weave:
    """Undo the selected changes, except changes without lines."""
    return taken_out(weave, lambda i, mark: i != BLOB and which(mark))


def taken_out(weave: Weave, which: Callable[[int, Mark], bool]) -> Weave:
    """Return the weave with the selected changes undone.

    Args:
        weave: The file.
        which: Selects changes, given the segment's number (or ``FILE`` or ``BLOB``) and the mark.
    """
    kept = []
    for i, one in enumerate(weave.segments):
        if one.born is not None and which(i, one.born):
            continue
        is_back = one.died is not None and which(i, one.died)
        kept.append(one._replace(died=None) if is_back else one)
    is_there, created, deleted = weave.is_there, weave.created, weave.deleted
    if deleted is not None and which(FILE, deleted):
        is_there, deleted = True, None
    segments = _ended(kept, weave.text)
    if created is not None and which(FILE, created):
        created = None
        is_there = is_there and any(one.died is None for one in segments)
    blobs = [one for one in weave.opaque if which(BLOB, one.mark)]
    if blobs:
        is_there = blobs[0].before is not None
    return Weave(
        joined(segments),
        is_there=is_there,
        created=created,
        deleted=deleted,
        opaque=tuple(one for one in weave.opaque if one not in blobs),
    )


def _ended(segments: Sequence[Segment], text: str) -> list[Segment]:
    """Give every visible line except the last a line ending, so that no lines are joined."""
    done = list(segments)
    last: int | None = None
    for i, one in enumerate(done):
        if one.died is not None or not one.text:
            continue
        if last is not None and not done[last].text.endswith(("\n", "\r")):
            done[last] = done[last]._replace(text=done[last].text + _ending(text))
        last = i
    return done


def _ending(text: str) -> str:
    """Return the line ending of a text, or a line feed if the text has no line ending."""
    if "\r\n" in text:
        return "\r\n"
    return "\r" if "\r" in text and "\n" not in text else "\n"
