"""What a text that somebody else made of a file means for the agent's lines in it.

A pure function of the weave and of the text: it is asked again from the same weave whenever the
text changes, so undo and redo in an editor need no memory of their own, and a server that was
started again sees what the one before it saw.

- Lines that came between others are the user's, inside a hunk too.
- Lines that went are gone; if they were the agent's, so is that part of the hunk.
- Lines that the agent had taken away and that are there again are there again: an undo. So are
  those that a formatter changed on their way back.
- Only white space differs: whose a line was, it is. This is what formatters do.
- The agent's lines in other words: part of the hunk still, and touched.
- All of it is nearer to an earlier form that has more of the agent's lines: it goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from indwell.review.rewriting import Line, rewritten, squeezed
from indwell.review.weave import GONE, Place, Segment, Weave, plain, rewoven
from indwell.workspace.comparing.diff import Replaced, compare
from indwell.workspace.comparing.matching import changed_blocks
from indwell.workspace.text import split_lines

MOST_COMPARED = 3  # earlier forms; each is compared with the text as it is typed


def followed(weave: Weave, text: str | None, states: Sequence[Weave] = ()) -> Weave:
    """The weave of a file that reads ``text`` now.

    Args:
        weave: As it was recorded.
        text: None: there is no file.
        states: Earlier ones, newest last; a text that is exactly that of one of them is it again.
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
    weave: Weave, text: str, places: Sequence[Replaced], states: Sequence[Weave]
) -> Weave | None:
    """An earlier form that was typed on in, if it has changes that the weave lacks.

    Another process may know the file from a disk where an editor has not saved them yet; what it
    wrote down must not take them from the editor that holds them. Lines that stand there tell; that
    others are gone does not.
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
    """A file that was gone: the one that the agent removed, if half of it came back; or another."""
    dead = {line for one in weave.segments for line in split_lines(one.text)}
    n_same = sum(len(line) for line in split_lines(text) if line in dead)
    if not n_same or 2 * n_same < len(text):
        return plain(text)
    return Weave(rewoven(weave, compare("", text).places, _resolved), created=weave.created)


def _resolved(place: Place) -> Iterable[Segment]:
    """What becomes of one changed place."""
    if not any(one.born or one.died for one in place.span):
        return [Segment("".join(place.new))]
    lines = [Line(text, one) for one in place.span for text in split_lines(one.text)]
    alive = "".join(line.text for line in lines if line.is_alive)
    if place.new and alive and squeezed(alive) and squeezed(alive) == squeezed("".join(place.new)):
        return rewritten(lines, place.new)
    done: list[Segment] = []
    at = b = 0
    for ghost, line in [*_revived(lines, place.new), (len(lines), len(place.new))]:
        right = place.right if ghost == len(lines) else None
        done += _settled(lines[at:ghost], place.new[b:line], right)
        if ghost < len(lines):
            done.append(lines[ghost].risen(place.new[line]))
        at, b = ghost + 1, line + 1
    return done


def _revived(lines: Sequence[Line], new: Sequence[str]) -> list[tuple[int, int]]:
    """Which lines of the dead are which of the new ones."""
    dead = [i for i, line in enumerate(lines) if not line.is_alive]
    if not dead or not new:
        return []
    # A formatter may have been at them since.
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
        # A line that the agent brought and took away comes back only by an undo of all of it.
        pairs = [pair for pair in pairs if lines[pair[0]].born is None]
    return pairs


def _settled(lines: Sequence[Line], new: Sequence[str], right: Segment | None) -> Iterable[Segment]:
    """Lines with nothing among them that came back."""
    if not new:
        return [line.segment() for line in lines if not line.is_alive]
    if any(line.is_alive for line in lines):
        return rewritten(lines, new)
    dead = [line.segment() for line in lines]
    own = Segment("".join(new))
    # Between two lines of a hunk it parts them; beside one it stays outside.
    is_before = right is not None and right.born is not None
    return [own, *dead] if is_before else [*dead, own]
