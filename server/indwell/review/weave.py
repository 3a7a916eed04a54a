"""A file with all that ever stood in it: each line knows who brought it and who took it away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from indwell.workspace.comparing.diff import ReplacedLines

FILE, BLOB = -1, -2  # in place of a segment's number: the file itself, a change without lines
PLACES = 1 << 20  # serial numbers that each edit has for its places


class Mark(NamedTuple):
    """Who changed a line, and whether that is settled.

    Attributes:
        session: Of the agent.
        turn: The turn of it.
        serial: Which place of which edit, growing: ``edit * PLACES + place``.
        origin: Names the edit in all processes.
        is_settled: Accepted; or nothing to review.
    """

    session: str
    turn: int
    serial: int
    origin: str = ""
    is_settled: bool = False

    @property
    def actor(self) -> tuple[str, int]:
        """The session and its turn."""
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
    """Lines with one fate.

    Attributes:
        text: Whole lines with their ends.
        born: Who brought them; None: they are the user's, or were always there.
        died: Who took them away; None: they are there.
        is_touched: The user rewrote them; still ``born`` as what they were made of.
    """

    text: str
    born: Mark | None = None
    died: Mark | None = None
    is_touched: bool = False


class Weave:
    """A file's segments, in order; a value that is never changed.

    Args:
        segments: In order.
        is_there: Is there such a file?
        created: The agent made the file.
        deleted: The agent removed it.
        opaque: Changes without lines, oldest first; under them the lines do not count.
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
        """What is visible; empty if there is no file."""
        return "".join([one.text for one in self.segments if one.died is None])

    @cached_property
    def size(self) -> int:
        """Visible characters; found without making the text."""
        return sum(len(one.text) for one in self.segments if one.died is None)

    @cached_property
    def unjudged(self) -> frozenset[int]:
        """The places of edits that nobody judged yet and that the user did not rewrite."""
        marks = {one.born for one in self.segments if not one.is_touched}
        marks |= {one.died for one in self.segments}
        return frozenset(one.serial for one in marks if one is not None and not one.is_settled)

    @cached_property
    def brought(self) -> frozenset[int]:
        """Those of the ``unjudged`` of which lines stand there."""
        marks = {one.born for one in self.segments if not one.is_touched and one.died is None}
        return frozenset(one.serial for one in marks if one is not None and not one.is_settled)

    @property
    def reads(self) -> str | None:
        """What is visible; None if there is no file."""
        return self.text if self.is_there else None

    def forget_text(self) -> None:
        """Free the memory of ``text``; it is made again when somebody asks."""
        self.__dict__.pop("text", None)

    def of(self, segments: Sequence[Segment]) -> Weave:
        """The same file with other segments."""
        return Weave(
            segments,
            is_there=self.is_there,
            created=self.created,
            deleted=self.deleted,
            opaque=self.opaque,
        )


GONE = Weave(is_there=False)


def plain(text: str | None) -> Weave:
    """A file that nobody changed yet; None: there is none."""
    if text is None:
        return GONE
    return Weave((Segment(text),) if text else ())


class ChangedPlace(NamedTuple):
    """What a changed place of the visible text covers.

    Attributes:
        span: The segments from the last visible one before it to the first visible one after it.
        new: The lines that came.
        right: The visible segment after it.
    """

    span: list[Segment]
    new: list[str]
    right: Segment | None


def rewoven(
    weave: Weave,
    places: Iterable[ReplacedLines],
    resolve: Callable[[ChangedPlace], Iterable[Segment]],
) -> list[Segment]:
    """The segments with each changed place of the visible text as ``resolve`` says it."""
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
    """Move segments on until ``stop`` characters are visible; one that reaches over is cut."""
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
    """Neighbours with the same fate as one, and none that is empty."""
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
    """The weave after an edit of the agent; ``mark`` is that of its first place."""
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
    """The weave after the agent removed the file."""
    segments = joined(_killed(one, mark) for one in weave.segments)
    return Weave(segments, is_there=False, created=weave.created, deleted=mark)


def _killed(one: Segment, mark: Mark) -> Segment:
    """A segment that the agent took away."""
    return one if one.died is not None else one._replace(died=mark)


def settled(weave: Weave, which: Callable[[int, Mark], bool]) -> Weave:
    """The weave with some marks settled.

    Args:
        weave: The file.
        which: Told the number of a segment, ``FILE`` or ``BLOB``, and a mark there.
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
    """The weave without the changes of ``which``, wherever they are."""
    return taken_out(weave, lambda i, mark: i != BLOB and which(mark))


def taken_out(weave: Weave, which: Callable[[int, Mark], bool]) -> Weave:
    """The weave without some changes.

    Args:
        weave: The file.
        which: Told the number of a segment, ``FILE`` or ``BLOB``, and a mark there: does it go?
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
    """Visible lines that stand before others now all have an end, so that no two become one."""
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
    """The line ending of a text; that of most systems if it has none."""
    if "\r\n" in text:
        return "\r\n"
    return "\r" if "\r" in text and "\n" not in text else "\n"
