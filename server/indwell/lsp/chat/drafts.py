"""Determines who wrote the draft of a chat document, and asks the user if that is unknown."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from indwell.context.untrusted_text import folded, visible
from indwell.errors import ToolError, UserError
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.reading import read_bytes
from indwell.files.private import read_own
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.chat import layout
from indwell.lsp.chat.files import LIMIT_B
from indwell.lsp.host import Host
from indwell.lsp.workspace.documents import Document, unbroken
from indwell.workspace.base import digest

_TOKEN = lazy_pattern(r"\s+|\w+|[^\w\s]")
_LEAST = 4  # A shorter sequence of non-blank characters may be in both texts by coincidence.
_PASTED = 12  # Nobody types 12 non-blank characters in one change.
_MOST_PAIRS = 200_000  # the limit of pairs of text parts to compare, which takes 10 ms
_MOST_PASTED = 400  # the limit of pasted lines to remember
_STEP = 4_096

TYPED, FOREIGN = 1, 0


class Provenance:
    """Tracks which characters of an open chat's draft the user has typed.

    Args:
        text: The text of the document when it was opened.
        known: The digest of a draft that the user typed earlier, or empty if unknown.

    Attributes:
        pasted: Lines that were inserted at once, by pasting or by reloading the file.
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
        """True if the draft contains text that the user may not have typed."""
        draft = self._text[self._start :]
        n_left = 0
        for at, line in _lines(draft):
            n_foreign, n_all = self._foreign_in(at, line), len("".join(line.split()))
            n_left += n_foreign
            if n_left >= _LEAST or 0 < n_all == n_foreign:
                return True
        return False  # A common full stop does not prove that the text moved.

    def _foreign_in(self, at: int, line: str) -> int:
        marks = self._marks[at : at + len(line)]
        return sum(not mark and not one.isspace() for mark, one in zip(marks, line, strict=True))

    @property
    def digest(self) -> str:
        """The digest of the draft if the user typed the whole draft, or an empty text."""
        return "" if self.is_foreign else draft_digest(self._text)

    def changed(self, text: str, by_agent: Collection[str] = ()) -> None:
        """Record a change of the document.

        Args:
            text: The new text of the document.
            by_agent: The lines that the agent has written into the document, without blanks.
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
        """Record that the user sent this text or agreed to send the text."""
        self._vouched.update(line.strip() for line in words.split("\n"))
        draft = self._text[self._start :]
        at = draft.find(words)
        if words and at >= 0:
            self._marks[at : at + len(words)] = bytearray([TYPED]) * len(words)

    def loaded(self, disk: str) -> None:
        """Record that another program wrote the file, so that new lines are not the user's."""
        draft = self._text[self._start :]
        for line in {line.strip() for line in disk[_start(disk) :].split("\n")}:
            at = draft.find(line) if line in self.pasted and line not in self._vouched else -1
            while at >= 0 and line:
                self._marks[at : at + len(line)] = bytearray(len(line))
                at = draft.find(line, at + len(line))

    def _is_moved(self, piece: str, head_before: str, head: str) -> bool:
        """Return whether added text was above the draft before; remember lines that were pasted."""
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
    """Return the digest of the text to send, or an empty text for an empty draft."""
    draft = text[_start(text) :].replace("\r\n", "\n").strip()
    return digest(draft) if draft else ""


def _start(text: str) -> int:
    """Return where the draft's section begins, or the end of the text if there is no draft."""
    draft = layout.draft_of(text)
    return draft.heading.end if draft is not None else len(text)


def _kept(old: str, new: str, marks: bytearray) -> Iterator[tuple[int, int, int]]:
    """Yield the parts of ``old`` that ``new`` still has: both positions and the length."""
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
        return  # The user typed the whole old text, so the new text is the user's, too.
    ours, theirs = _TOKEN.findall(was), _TOKEN.findall(now)
    if len(ours) * len(theirs) > _MOST_PAIRS:
        ours, theirs = was.splitlines(keepends=True), now.splitlines(keepends=True)
    # A comparison would take too long, so nothing counts as typed.
    if len(ours) * len(theirs) > _MOST_PAIRS:
        n = min(len(was), len(now))
        yield a[0], b[0], n
        return
    at_a, at_b = _ends(ours), _ends(theirs)
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        piece = "".join(ours[block.a : block.a + block.size])
        if len("".join(piece.split())) >= _LEAST:
            yield a[0] + at_a[block.a], b[0] + at_b[block.b], len(piece)


def _common(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts."""
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


_FOLDER = "chat-drafts"
_LIMIT_B = 1_000


def remembered(state: Path, chat: Path) -> str:
    """Return the digest of the last saved draft, or an empty text if unknown."""
    try:
        return read_bytes(_place(state, chat), [state], _LIMIT_B).decode("ascii", "replace")
    except (ToolError, OSError):
        return ""


def remember(state: Path, chat: Path, draft: str) -> None:
    """Store the digest of a draft; if that fails, Indwell will ask the user."""
    place, data = _place(state, chat), draft.encode("ascii", "replace")
    try:
        known = remembered(state, chat).encode("ascii", "replace")
        if known == data:
            return
        if known:
            write_atomic(place, data, [state], expected=known)
        else:
            write_atomic(place, data, [state], parents=True, create=True)
    except (ToolError, OSError):
        return


def _place(state: Path, chat: Path) -> Path:
    return state / _FOLDER / f"{digest(str(chat))}.txt"


SAVING_S = 0.3  # the longest time, in seconds, between an editor's write and its didSave


class _KnownDraft(msgspec.Struct, eq=False):
    document: Document
    provenance: Provenance
    text: str
    n_saves: int
    saved: str  # the digest of the text that the editor last read or wrote


class Drafts:
    """Determines which parts of the drafts the user has typed.

    Args:
        host: The editor's server.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[Path, _KnownDraft] = {}

    def look(self, path: Path) -> Document | None:
        """Handle a chat that was opened, changed, saved or closed; return an opened chat."""
        document, known = self._host.documents.at(path), self._known.get(path)
        if document is None:
            self._known.pop(path, None)
            return None
        n_saves = self._host.documents.n_saves[path]
        if known is None or known.document is not document:
            text, state = document.text, self._state()
            provenance = Provenance(text, remembered(state, path) if state else "")
            self._known[path] = _KnownDraft(document, provenance, text, n_saves, _digest(text))
            return document
        if document.text is not known.text:
            n_pasted = len(known.provenance.pasted)
            known.provenance.changed(document.text, document.by_agent)
            known.text = document.text
            if len(known.provenance.pasted) > n_pasted:
                self._host.chores.begin(self._compare(known, path))
        if n_saves != known.n_saves:
            known.n_saves, known.saved = n_saves, _digest(known.text)
            self._keep(path, known.provenance)
        return None

    async def is_foreign(self, document: Document) -> bool:
        """Return whether the text to send has parts that the user may not have typed."""
        known = self._of(document)
        if known is None or document.path is None:
            return True
        await self._compare(known, document.path)
        return known.provenance.is_foreign

    def vouch(self, document: Document, words: str) -> None:
        """Record that the user sent this text or agreed to send the text."""
        known = self._of(document)
        if known is not None:
            known.provenance.vouch(words)

    def _of(self, document: Document) -> _KnownDraft | None:
        known = self._known.get(document.path) if document.path is not None else None
        return known if known is not None and known.document is document else None

    async def _compare(self, known: _KnownDraft, path: Path) -> None:
        """Check whether the editor loaded a file that another program wrote."""
        try:
            data = await asyncio.to_thread(read_own, path, LIMIT_B)
        except (ToolError, OSError):
            return
        disk = data.decode("utf-8", "replace")
        if not await self._is_saved(known, _digest(disk)):
            known.provenance.loaded(disk)

    async def _is_saved(self, known: _KnownDraft, held: str) -> bool:
        """Return whether the disk has the editor's last text; editors write it before didSave."""
        try:
            async with asyncio.timeout(SAVING_S):
                while known.saved != held:
                    await self._host.documents.changed()
        except TimeoutError:
            return False
        return True

    def _keep(self, path: Path, provenance: Provenance) -> None:
        known, state = provenance.digest, self._state()
        if known and state is not None:
            # Write without a thread, because the server cancels background tasks at its end.
            remember(state, path, known)

    def _state(self) -> Path | None:
        try:
            return self._host.composition.shown_folder().parent
        except UserError:
            return None


def _digest(text: str) -> str:
    """Return the digest of a text, ignoring line breaks and blanks at the end."""
    return digest(unbroken(text).removeprefix("\ufeff").rstrip())


SEND = "Send them"
MOST_ASKED = 4_000  # the limit of characters for a question in a message
# the time limit, in seconds, for the user's answer, because some editors never answer
QUESTION_S = 60.0


class BeingSent(UserError):
    """The text is already being sent, or the user is being asked about the text."""


class Asking:
    """Asks the user about drafts, with one question at a time for each document.

    Args:
        host: The editor's server.
        drafts: Determines which text the user has typed.
    """

    def __init__(self, host: Host, drafts: Drafts) -> None:
        self._host, self._drafts = host, drafts
        self._open: set[str] = set()
        self._unanswered: set[tuple[str, str]] = set()

    def check_free(self, document: Document) -> None:
        """Check that no question about this chat is open.

        Raises:
            BeingSent: A question about this chat is open.
        """
        if document.uri in self._open:
            raise BeingSent("a question about this chat waits for your answer; nothing was sent")

    async def check(self, document: Document, words: str) -> None:
        """Check that the user typed the text or agrees to send the text.

        Raises:
            UserError: The user does not agree.
        """
        if not await self._drafts.is_foreign(document):
            return
        key = document.uri, digest(words)
        if len(words) <= MOST_ASKED and key not in self._unanswered:
            question = (
                "Indwell: some of this text was not typed by you since you opened the file. Send "
                f"it as yours?\n\n{folded(visible(words))}"
            )
            answer, in_time = await self.choose(document, question, SEND)
            if answer:
                self._drafts.vouch(document, words)
                return
            if not in_time:
                self._unanswered.add(key)
        raise UserError(
            "some of this text was not typed by you since you opened the file; remove it, or "
            "write in a chat of your own (`indwell.chat`)"
        )

    async def choose(self, document: Document, question: str, title: str) -> tuple[bool, bool]:
        """Ask the user; return whether the user chose the title, and answered in time."""
        self.check_free(document)
        within_s = min(self._host.settings.answer_timeout_s, QUESTION_S)
        clock = asyncio.get_running_loop().time
        begun = clock()
        self._open.add(document.uri)
        try:
            chosen = await self._host.client.choose(question, (title,), within_s)
        finally:
            self._open.discard(document.uri)
        return chosen == title, clock() - begun < within_s
