"""Who wrote what stands below the last heading of a chat: the user, or anybody else. Pure.

Only what came as a change from the editor, while the chat was open, counts as typed. What stood
there when it was opened, what the agent wrote, what flowed in because a heading was removed, and
what the disk held when the editor loaded it again does not: it is shown before it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from difflib import SequenceMatcher

from indwell.lsp.chat import layout
from indwell.workspace.base import digest

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_LEAST = 4  # characters, blanks aside, of which a piece that stays is told from a chance likeness
_PASTED = 12  # characters, blanks aside, that come at once: nobody types so fast
_MOST_PAIRS = 200_000  # of pieces that are compared: 10 ms
_MOST_PASTED = 400  # lines that are remembered
_STEP = 4_096

TYPED, FOREIGN = 1, 0


class Provenance:
    """The draft of one open chat, character by character.

    Args:
        text: As it was opened.
        known: Digest of a draft that the user is known to have typed here; empty if none is.

    Attributes:
        pasted: Lines that came many characters at once: typed, or loaded again from the disk.
    """

    def __init__(self, text: str, known: str = "") -> None:
        self._text = text
        self._start = _start(text)
        self._vouched: set[str] = set()
        is_known = bool(known) and draft_digest(text) == known
        self._marks = bytearray([TYPED if is_known else FOREIGN]) * (len(text) - self._start)
        self.pasted: dict[str, None] = {}

    @property
    def is_foreign(self) -> bool:
        """Does anything stand in the draft that the user is not known to have typed?"""
        draft = self._text[self._start :]
        n_left = 0
        for at, line in _lines(draft):
            n_foreign, n_all = self._foreign_in(at, line), len("".join(line.split()))
            n_left += n_foreign
            if n_left >= _LEAST or 0 < n_all == n_foreign:
                return True
        return False  # a full stop that both have says nothing

    def _foreign_in(self, at: int, line: str) -> int:
        marks = self._marks[at : at + len(line)]
        return sum(not mark and not one.isspace() for mark, one in zip(marks, line, strict=True))

    @property
    def digest(self) -> str:
        """Of the draft, if all of it is the user's; else empty."""
        return "" if self.is_foreign else draft_digest(self._text)

    def changed(self, text: str, by_agent: Collection[str] = ()) -> None:
        """The editor told of a change.

        Args:
            text: That the document reads now.
            by_agent: Lines that the agent has written into this document, blanks aside.
        """
        start = _start(text)
        old, new = self._text[self._start :], text[start:]
        head_before, head = self._text[: self._start], text[:start]
        marks = bytearray([TYPED]) * len(new)
        came: list[tuple[int, int]] = []
        end = 0
        for a, b, n in _kept(old, new, self._marks):
            came.append((end, b))
            marks[b : b + n] = self._marks[a : a + n]
            end = b + n
        for begin, stop in (*came, (end, len(new))):
            if self._is_moved(new[begin:stop], head_before, head):
                marks[begin:stop] = bytearray(stop - begin)
        if by_agent:
            for at, line in _lines(new):
                if line.strip() in by_agent and line.strip() not in old:
                    marks[at : at + len(line)] = bytearray(len(line))
        self._text, self._start, self._marks = text, start, marks

    def vouch(self, words: str) -> None:
        """The user said that these are to be sent, or has sent them."""
        self._vouched.update(line.strip() for line in words.split("\n"))
        draft = self._text[self._start :]
        at = draft.find(words)
        if words and at >= 0:
            self._marks[at : at + len(words)] = bytearray([TYPED]) * len(words)

    def loaded(self, disk: str) -> None:
        """Somebody else has written the disk: what came from there at once is theirs."""
        draft = self._text[self._start :]
        for line in {line.strip() for line in disk[_start(disk) :].split("\n")}:
            at = draft.find(line) if line in self.pasted and line not in self._vouched else -1
            while at >= 0 and line:
                self._marks[at : at + len(line)] = bytearray(len(line))
                at = draft.find(line, at + len(line))

    def _is_moved(self, piece: str, head_before: str, head: str) -> bool:
        """Stood a piece that is new in the draft above it before? Remembers what came at once."""
        lines = [line.strip() for line in piece.split("\n") if line.strip()]
        if len(lines) > 1 or len("".join(piece.split())) >= _PASTED:
            self.pasted.update(dict.fromkeys(lines))
            for line in list(self.pasted)[:-_MOST_PASTED]:
                del self.pasted[line]
        if not lines or head_before == head:
            return False
        fresh = (one for one in lines if one not in self._vouched)
        return any(head_before.count(one) > head.count(one) for one in fresh)


def draft_digest(text: str) -> str:
    """The digest of what would be sent; empty if nothing would be."""
    draft = text[_start(text) :].replace("\r\n", "\n").strip()
    return digest(draft) if draft else ""


def _start(text: str) -> int:
    """Where the draft's section begins; the end if there is none."""
    draft = layout.draft_of(text)
    return draft.heading.end if draft is not None else len(text)


def _kept(old: str, new: str, marks: bytearray) -> Iterator[tuple[int, int, int]]:
    """Pieces of ``old`` that stand in ``new``: where, where, how long; in order."""
    before = _common(old, new)
    room = min(len(old), len(new)) - before
    after = _common(old[len(old) - room :][::-1], new[len(new) - room :][::-1])
    yield 0, 0, before
    a_stop, b_stop = len(old) - after, len(new) - after
    if a_stop > before and b_stop > before:
        yield from _between(old, (before, a_stop), new, (before, b_stop), marks)
    yield a_stop, b_stop, after


def _between(
    old: str, a: tuple[int, int], new: str, b: tuple[int, int], marks: bytearray
) -> Iterator[tuple[int, int, int]]:
    was, now = old[slice(*a)], new[slice(*b)]
    if not any(not mark for mark in marks[slice(*a)]):
        return  # all of it was typed, and so is what stands there now
    ours, theirs = _TOKEN.findall(was), _TOKEN.findall(now)
    if len(ours) * len(theirs) > _MOST_PAIRS:
        ours, theirs = was.splitlines(keepends=True), now.splitlines(keepends=True)
    if len(ours) * len(theirs) > _MOST_PAIRS:  # too much to tell: none of it is typed
        n = min(len(was), len(now))
        yield a[0], b[0], n
        return
    at_a, at_b = _ends(ours), _ends(theirs)
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        piece = "".join(ours[block.a : block.a + block.size])
        if len("".join(piece.split())) >= _LEAST:
            yield a[0] + at_a[block.a], b[0] + at_b[block.b], len(piece)


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    limit, at = min(len(one), len(other)), 0
    while at < limit and one[at : at + _STEP] == other[at : at + _STEP]:
        at += _STEP
    while at < limit and one[at] == other[at]:
        at += 1
    return min(at, limit)


def _ends(pieces: list[str]) -> list[int]:
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    return ends


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1
