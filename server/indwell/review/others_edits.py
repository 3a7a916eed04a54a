"""Merges edits by others, such as the user or a formatter, into a file's weave. Pure.

The result depends only on the recorded weave and the current text. Undo and redo in an editor
therefore need no extra state, and a restarted server computes the same result.

- Inserted lines belong to the user, also inside a hunk.
- Deleted lines are gone. If the agent had added deleted lines, that part of the hunk is gone, too.
- Lines that the agent removed and that reappear count as an undo, even if reformatted.
- A line that differs only in white space keeps its author, because formatters change white space.
- An agent's line with other content stays in its hunk and is marked as touched.
- A text closer to an earlier state with more of the agent's lines is merged from that state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from indwell.review.weave import GONE, ChangedPlace, Mark, Segment, Weave, plain, rewoven
from indwell.workspace.comparing.diff import ReplacedLines, compare
from indwell.workspace.comparing.matching import changed_blocks
from indwell.workspace.text import split_lines

MOST_COMPARED = 3  # At each keystroke, the text is compared with at most 3 earlier states.


def followed(weave: Weave, text: str | None, states: Sequence[Weave] = ()) -> Weave:
    """Return the weave of a file whose text is now ``text``.

    Args:
        weave: The recorded weave.
        text: The current text, or None if there is no file.
        states: Earlier weaves, newest last. A weave with an equal ``text`` is returned unchanged.
    """
    if _reads(weave, text):
        return weave
    if text is None:
        return GONE
    for state in reversed(states):
        if _reads(state, text):
            return state
    if weave.opaque:
        return Weave(plain(text).segments, opaque=weave.opaque)
    if not weave.is_there:
        return _there_again(weave, text)
    places = compare(weave.text, text).places
    continued = _continued(weave, text, places, states)
    return continued or weave.of(rewoven(weave, places, _resolved))


def _continued(
    weave: Weave, text: str, places: Sequence[ReplacedLines], states: Sequence[Weave]
) -> Weave | None:
    """Merge from an earlier state that resembles the text more and has more pending changes.

    Another process may have read the file from disk before an editor saved those changes. The other
    process's records must not remove the changes from the editor's text. Only lines in the text
    count as evidence, not missing lines.
    """
    found, least = None, sum(len(one.old) + len(one.new) for one in places)
    lacking = (state for state in reversed(states) if state.brought - weave.unjudged)
    for state in islice(lacking, MOST_COMPARED):
        if not state.is_there or state.opaque:
            continue
        own = compare(state.text, text).places
        state.forget_text()
        n_lines = sum(len(one.old) + len(one.new) for one in own)
        if n_lines >= least:
            continue
        other = state.of(rewoven(state, own, _resolved))
        if state.unjudged - weave.unjudged <= other.brought:
            found, least = other, n_lines
    return found


def _reads(weave: Weave, text: str | None) -> bool:
    if text is None or not weave.is_there:
        return text is None and not weave.is_there
    return weave.size == len(text) and weave.text == text


def _there_again(weave: Weave, text: str) -> Weave:
    """Treat a file that exists again as the removed file if half of the text is the same."""
    dead = {line for one in weave.segments for line in split_lines(one.text)}
    n_same = sum(len(line) for line in split_lines(text) if line in dead)
    if not n_same or 2 * n_same < len(text):
        return plain(text)
    return Weave(rewoven(weave, compare("", text).places, _resolved), created=weave.created)


def _resolved(place: ChangedPlace) -> Iterable[Segment]:
    """Return the segments of one changed place."""
    if not any(one.born or one.died for one in place.span):
        return [Segment("".join(place.new))]
    lines = [SegmentLine(text, one) for one in place.span for text in split_lines(one.text)]
    alive = "".join(line.text for line in lines if line.is_alive)
    if place.new and alive and squeezed(alive) and squeezed(alive) == squeezed("".join(place.new)):
        return rewritten(lines, place.new)
    done: list[Segment] = []
    at = b = 0
    for ghost, line in [*_revived(lines, place.new), (len(lines), len(place.new))]:
        right = place.right if ghost == len(lines) else None
        done += _settled(lines[at:ghost], place.new[b:line], right)
        if ghost < len(lines):
            done.append(lines[ghost].of._replace(text=place.new[line], died=None))
        at, b = ghost + 1, line + 1
    return done


def _revived(lines: Sequence[SegmentLine], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pair removed lines with the new lines that restore them."""
    dead = [i for i, line in enumerate(lines) if not line.is_alive]
    if not dead or not new:
        return []
    # White space is ignored, because a formatter may have run.
    blocks = changed_blocks([squeezed(lines[i].text) for i in dead], list(map(squeezed, new)))
    pairs: list[tuple[int, int]] = []
    a = b = 0
    for block in [*blocks, None]:
        a_stop, b_stop = (len(dead), len(new)) if block is None else (block.a0, block.b0)
        run = list(zip(dead[a:a_stop], range(b, b_stop), strict=True))
        is_telling = any(any(map(str.isalnum, new[line])) for _, line in run)
        if is_telling or len(run) == len(dead):
            pairs += run
        if block is not None:
            a, b = block.a1, block.b1
    if len(pairs) < len(new):
        # A line that the agent added and later removed reappears only if all new lines are paired.
        pairs = [pair for pair in pairs if lines[pair[0]].born is None]
    return pairs


def _settled(
    lines: Sequence[SegmentLine], new: Sequence[str], right: Segment | None
) -> Iterable[Segment]:
    """Return the segments of lines between two restored lines."""
    if not new:
        return [line.segment() for line in lines if not line.is_alive]
    if any(line.is_alive for line in lines):
        return rewritten(lines, new)
    dead = [line.segment() for line in lines]
    own = Segment("".join(new))
    # The user's lines split a hunk that surrounds them, and stay outside an adjacent hunk.
    is_before = right is not None and right.born is not None
    return [own, *dead] if is_before else [*dead, own]


ALIKE = 0.6  # From this similarity (0 to 1) on, a line counts as an edited version of another line.
MOST_PAIRS = 2_500  # For more pairs of lines, which take over 5 ms, similarity is not computed.


class SegmentLine(NamedTuple):
    """One line of a segment."""

    text: str
    of: Segment

    @property
    def is_alive(self) -> bool:
        """Return whether the line is visible."""
        return self.of.died is None

    @property
    def born(self) -> Mark | None:
        """The change that added the line."""
        return self.of.born

    def segment(self) -> Segment:
        """Return the line as a segment."""
        return self.of._replace(text=self.text)


def squeezed(text: str) -> str:
    """Return the text without white space."""
    return "".join(text.split())


def rewritten(lines: Sequence[SegmentLine], new: Sequence[str]) -> Iterator[Segment]:
    """Yield the segments after ``new`` replaced the visible lines of ``lines``.

    Requires a visible line in ``lines``, at least one line in ``new``, and no unchanged line.
    """
    alive = [i for i, line in enumerate(lines) if line.is_alive]
    old = [lines[i].text for i in alive]
    at = line = 0
    for a, b, n_old, n_new in _steps(old, new):
        stop = alive[a] if n_old else len(lines)
        yield from _gap(lines[at:stop], new[line:b])
        if n_old:
            at = alive[a + n_old - 1] + 1
            yield from _became(lines[stop:at], new[b : b + n_new])
        line = b + n_new


def line_by_line(place: ReplacedLines) -> Iterator[ReplacedLines]:
    """Split a changed place, so that each old line is paired with a similar new line."""
    start, i, j = place.start, 0, 0
    for a, b in [*_paired(place.old, place.new)[1:], (len(place.old), len(place.new))]:
        part = ReplacedLines(start, place.old[i:a], place.new[j:b])
        yield part
        start, i, j = part.stop, a, b


def _steps(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return matching ranges of lines: old start, new start, old count, new count."""
    end = (len(old), len(new), 0, 0)
    if squeezed("".join(old)) == squeezed("".join(new)):
        return [*_wrapped(old, new), end]
    return [*((a, b, 1, 1) for a, b in _paired(old, new)), end]


def _wrapped(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Pair the smallest ranges of lines that are equal except for white space."""
    a_sizes = [len(squeezed(line)) for line in old]
    b_sizes = [len(squeezed(line)) for line in new]
    a = b = 0
    while a < len(old) and b < len(new):
        a0, b0 = a, b
        n_a, n_b = a_sizes[a], b_sizes[b]
        a, b = a + 1, b + 1
        while n_a != n_b:
            if n_a < n_b:
                n_a += a_sizes[a]
                a += 1
            else:
                n_b += b_sizes[b]
                b += 1
        # Empty lines join the range before, unless both sides have an empty line.
        while a < len(old) and not a_sizes[a] and not (b < len(new) and not b_sizes[b]):
            a += 1
        while b < len(new) and not b_sizes[b] and not (a < len(old) and not a_sizes[a]):
            b += 1
        yield a0, b0, a - a0, b - b0


def _paired(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pair old with new lines, in order, for the highest total similarity."""
    if len(old) * len(new) > MOST_PAIRS:
        return (
            list(zip(range(len(old)), range(len(new)), strict=False))
            if len(old) == len(new)
            else []
        )
    ratio = _ratio()
    old_words, new_words = [one.strip() for one in old], [one.strip() for one in new]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    likeness = [[0.0] * len(new) for _ in old]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            like = _alike(ratio, old_words[i], new_words[j])
            likeness[i][j] = like
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + like)
    pairs, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        if likeness[i][j] and best[i][j] == best[i + 1][j + 1] + likeness[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _alike(ratio: Callable[[str, str], float], one: str, other: str) -> float:
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    like = ratio(one, other)
    return like if like >= ALIKE else 0.0


@cache
def _ratio() -> Callable[[str, str], float]:
    from rapidfuzz.distance import Indel  # noqa: PLC0415 # 15 ms that start-up need not pay

    return Indel.normalized_similarity


def _gap(lines: Sequence[SegmentLine], new: Sequence[str]) -> Iterator[Segment]:
    """Yield the segments of old and new lines that have no similar counterpart."""
    marks = [line.born for line in lines if line.is_alive and line.born is not None]
    stop = 1 + max((i for i, line in enumerate(lines) if line.is_alive), default=-1)
    if new and marks:
        mark = _heir(marks)
        yield from _replaced(lines[:stop], mark)
        yield Segment("".join(new), born=mark, is_touched=True)
    else:
        yield from (line.segment() for line in lines[:stop] if not line.is_alive)
        yield Segment("".join(new))
    yield from (line.segment() for line in lines[stop:])


def _became(lines: Sequence[SegmentLine], new: Sequence[str]) -> Iterator[Segment]:
    """Yield the segments of old lines that similar or reformatted lines replaced."""
    alive = [line for line in lines if line.is_alive]
    agents = [line.born for line in alive if line.born is not None]
    text = "".join(new)
    if not agents:
        yield from (line.segment() for line in lines if not line.is_alive)
        yield Segment(text)
        return
    is_same = squeezed("".join(line.text for line in alive)) == squeezed(text)
    is_touched = not is_same or any(line.of.is_touched for line in alive)
    mark = _heir(agents)
    yield from _replaced(lines, mark)
    yield Segment(text, born=mark, is_touched=is_touched)


def _heir(marks: Sequence[Mark]) -> Mark:
    """Choose the author of the new lines: the last pending change, or else the last change.

    If the author were an accepted change, it would seem to have removed pending lines, and the user
    could never reject these lines.
    """
    return next((one for one in reversed(marks) if not one.is_settled), marks[-1])


def _replaced(lines: Sequence[SegmentLine], mark: Mark) -> Iterator[Segment]:
    """Yield removed lines unchanged, and visible lines of other changes as removed by ``mark``."""
    for line in lines:
        if not line.is_alive:
            yield line.segment()
        elif line.born is None or line.born.serial != mark.serial:
            yield line.of._replace(text=line.text, died=mark)
