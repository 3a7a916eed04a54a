"""Taking changes out of a weave: what they brought goes, what they took away is there again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from indwell.review.weave import BLOB, FILE, Mark, Segment, Weave, joined


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
