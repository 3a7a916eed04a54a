"""Writes a running turn into its chat document, even while the user types there."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from indwell.agent.core import events
from indwell.errors import EditRefused, TextMoved
from indwell.lsp.chat import layout
from indwell.lsp.chat import layout as moving
from indwell.lsp.chat.layout import Section, TextSplice, edited, in_breaks, line_break
from indwell.lsp.chat.rendering import Rendering, taken_line
from indwell.lsp.editor.client import Client
from indwell.lsp.workspace.annotations import AnswerLimits
from indwell.lsp.workspace.buffer_edits import BufferEdits
from indwell.lsp.workspace.documents import Document, Documents
from indwell.workspace.base import AppliedChange

State: TypeAlias = Literal["new", "there", "changed", "gone"]
"""The state of a turn's section in the document: not inserted yet, unchanged, changed by the user,
or removed.
"""


class AnsweredPrompt(NamedTuple):
    """The prompt that a turn answers: the text in the document, and the text to insert."""

    words: str
    shown: str


_MOST_TAILS = 20  # the limit of remembered tails, which a late edit or an undo may insert again
_KNOWN_BY = 40  # The last 40 characters of a text are used to find the text.


class _Planned(NamedTuple):
    written: str
    near: int | None
    state: State
    cleared: int


class Writing:
    """The state of one turn in one document.

    Args:
        turn: The number of the turn.
        asked: The prompt that the turn answers.
        session: The session for the first line, or empty if the first line already names the
            session.
    """

    def __init__(self, turn: int, asked: AnsweredPrompt, session: str) -> None:
        self._turn, self._asked, self._session = turn, asked, session
        self._now = _Planned("", None, "new", 0)
        self._planned = self._now
        self._was_there = False
        self._delivered: list[str] = []
        self._tails: deque[str] = deque(maxlen=_MOST_TAILS)
        self._is_doubtful = self._is_planned = False

    @property
    def state(self) -> State:
        """The state of the turn's section when the document was last read."""
        return self._planned.state

    @property
    def written(self) -> str:
        """The part of the turn's text that is in the document."""
        return self._now.written

    def delivered(self, words: str) -> None:
        """Record text that the running turn has received and that leaves the draft."""
        self._delivered.append(words)

    def reopened(self) -> None:
        """Forget the state, because the document was opened again."""
        self._was_there |= self._now.state != "new"
        self._now = self._now._replace(state="new", near=None)

    def commit(self) -> None:
        """Record that the last plan was applied."""
        self._now, self._is_doubtful, self._is_planned = self._planned, False, False

    def doubt(self) -> None:
        """Record that the last edit may still be applied, because its result is unknown."""
        self._is_doubtful = True

    def plan(
        self,
        text: str,
        whole: str,
        *,
        tail: str = "",
        is_last: bool = False,
        back: tuple[str, ...] = (),
    ) -> str:
        """Plan the next text of the document.

        Args:
            text: The present text of the document.
            whole: The text of the turn so far, from its heading on.
            tail: Text below the turn until the next edit, such as the running tools.
            is_last: Whether no more text follows.
            back: Texts that return to the draft.
        """
        self._is_doubtful |= self._is_planned  # the last edit was sent, and its result is unknown
        self._is_planned = True
        text = self._without_tail(text)
        if self._now.state == "new":
            text = self._first(text, whole, is_last=is_last)
        else:
            text = self._next(text, whole, is_last=is_last)
        end = line_break(text)
        for words in self._delivered[self._now.cleared :]:
            text = edited(text, moving.cleared(text, in_breaks(words, end)))
        self._planned = self._planned._replace(cleared=len(self._delivered))
        for words in reversed(back):
            text = edited(text, moving.given_back(text, in_breaks(words, end)))
        if is_last and layout.draft_of(text) is None:
            at = len(text)
            text = edited(text, (TextSplice(at, at, f"\n\n{layout.YOU}\n\n"),))
        return self._with_tail(text, tail) if tail and not is_last else text

    def _without_tail(self, text: str) -> str:
        """Return the text without the tail of an earlier edit, even if the editor wrapped lines."""
        section = layout.section_of(text, self._turn, self._now.near)
        if section is None:
            return text
        for tail in reversed(self._tails):
            start = layout.start_of_end(text, section.end, tail)
            if start is not None and start > section.heading.end:
                return text[:start].rstrip() + text[section.end :]
        return text

    def _with_tail(self, text: str, tail: str) -> str:
        section = layout.section_of(text, self._turn, self._planned.near)
        if section is None or self._planned.state != "there":
            return text
        if tail not in self._tails:
            self._tails.append(tail)
        return edited(text, (TextSplice(section.end, section.end, f"\n\n{tail}"),))

    def _first(self, text: str, whole: str, *, is_last: bool) -> str:
        if self._session:
            text = edited(text, layout.bound(text, self._session))
        found = layout.section_of(text, self._turn) if self._was_there else None
        if found is not None:
            there = text[found.heading.start : found.end].replace("\r\n", "\n")
            if whole.startswith(there):
                self._now = self._now._replace(written=there)
            return self._next(text, whole, is_last=is_last)
        text = edited(text, moving.begun(text, self._asked.words, whole, self._asked.shown))
        section = layout.section_of(text, self._turn)
        near = section.heading.start if section else None
        self._planned = self._now._replace(written=whole, near=near, state="there")
        return text

    def _next(self, text: str, whole: str, *, is_last: bool) -> str:
        section = layout.section_of(text, self._turn, self._now.near)
        if section is None:
            self._planned = self._now._replace(state="gone")
            return text
        near, written = section.heading.start, self._now.written
        if self._is_doubtful:
            written = self._come(text, section, whole)
        new, state = whole[len(written) :], "there"
        if not layout.ends_alike(text, section.end, written):
            self._planned = self._now._replace(near=near, state="changed")
            if not is_last or not new.strip():
                return text
            new, state = "\n\n" + new.strip(), "changed"
        self._planned = _Planned(whole, near, state, self._now.cleared)  # type: ignore[arg-type]
        return edited(text, (TextSplice(section.end, section.end, new),))

    def _come(self, text: str, section: Section, whole: str) -> str:
        """Return the turn's text in the document, even if the editor applied the last edit late."""
        written = self._now.written
        last = text[max(section.heading.start, section.end - _KNOWN_BY) : section.end]
        last = last.replace("\r\n", "\n")
        at = whole.find(last, max(0, len(written) - _KNOWN_BY))
        return whole[: at + len(last)] if at + len(last) > len(written) and at >= 0 else written


MOST_TRIES = 8  # the limit of attempts at one edit while the user keeps typing
LABEL = ""  # The label is empty, because Neovim prints the label of each edit.

Plan = Callable[[str], str]
"""Returns the new text of a document, given the present text."""


class Paper:
    """Writes into open chat documents.

    Args:
        documents: The editor's open documents.
        client: Applies the edits.
        timeout_s: The time limit for an edit, in seconds.
    """

    def __init__(
        self, documents: Documents, client: Client, timeout_s: Callable[[], float]
    ) -> None:
        self._documents = documents
        self._client = client
        self._timeout_s = timeout_s
        self._made: BufferEdits | None = None
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def change(self, document: Document, plan: Plan) -> AppliedChange | None:
        """Change a document; return None if there was nothing to change.

        Raises:
            EditRefused: The document was closed, or the editor did not apply the edit.
        """
        async with self._locks[document.uri]:
            for _ in range(MOST_TRIES):
                if self._documents.get(document.uri) is not document:
                    raise EditRefused("the chat was closed")
                if document.is_stale:
                    raise EditRefused(
                        "the editor's messages about the chat came in the wrong order"
                    )
                text = document.text
                changed = plan(text)
                if changed == text:
                    return None
                try:
                    return await self._edits.change(
                        document, Path(document.path or "chat.md"), changed, LABEL
                    )
                except TextMoved:
                    continue
            raise EditRefused("the chat was changed again and again")

    @property
    def _edits(self) -> BufferEdits:
        if self._made is None:
            limits = AnswerLimits(self._timeout_s(), self._timeout_s())
            self._made = BufferEdits(self._documents, self._client, limits)
        return self._made


EVERY_S = 0.1  # the least time, in seconds, between two edits
ASKS_S = 1.0  # an editor that takes more seconds probably asks its user about each edit
# the time, in seconds, from a refused edit to the next attempt; it is doubled each time
REFUSED_S = 1.0
MOST_S = 30.0
LAST_TRIES_S = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds before each retry after the turn's end; an editor may ask the user about each edit."""

_SAID: dict[State, str] = {
    "changed": "the chat was changed where the answer is being written; the rest of it comes "
    "when the turn has ended",
    "gone": "the running turn was removed from the chat; it continues, and the session has "
    "all of it",
}

OnDisk = Callable[[Document, Plan], Awaitable[None]]
"""Receives the document as it was closed, and the new text for its file."""


class Stream:
    """A turn that is being written into a document.

    Args:
        rendering: Renders the turn's Markdown.
        writing: The turn's state in the document.
        words: The user's prompt, which returns to the draft if the model never gets it, or empty if
            the prompt was not written in this document.
        given: Returns a message to the turn as written in this document, or empty if the message
            was written elsewhere.
        opened: Returns the open document, or None if the document is closed.
        paper: Writes the edits.
        say: Shows a message to the user.
        on_disk: Writes the end of the turn into a document that was closed.
    """

    def __init__(
        self,
        rendering: Rendering,
        writing: Writing,
        *,
        words: str,
        given: Callable[[str], str],
        opened: Callable[[], Document | None],
        paper: Paper,
        say: Callable[[str], None],
        on_disk: OnDisk,
    ) -> None:
        self._rendering, self._writing, self._words = rendering, writing, words
        self._given = given
        self._opened, self._paper, self._say, self._on_disk = opened, paper, say, on_disk
        self._news = asyncio.Event()
        self._over = asyncio.Event()
        self._back: list[str] = []
        self._taken: list[str] = []
        self._document: Document | None = None
        self._was_told: set[State] = set()

    @property
    def document(self) -> Document | None:
        """The document into which the turn was last written."""
        return self._document

    @property
    def is_open(self) -> bool:
        """True if the document is open in the editor."""
        return self._opened() is not None

    @property
    def state(self) -> State:
        """The state of the section when the document was last read."""
        return self._writing.state

    def take(self, event: events.Event) -> None:
        """Add an event to the turn's text."""
        self._rendering.take(event)
        match event:
            case events.Steered(text=text, delivered=True):
                if text in self._taken:
                    self._taken.remove(text)
                if words := self._given(text):
                    self._writing.delivered(words)
            case events.Steered(text=text):
                self._back.append(text)
            case events.TurnFinished(draft=draft):
                if self._words and draft.startswith(self._words):
                    self._back.insert(0, self._words)
                self._over.set()
            case _:
                pass
        self._news.set()

    def took(self, words: str) -> None:
        """Show that the running turn has taken a message, before the model receives it."""
        self._taken.append(words)
        self._news.set()

    async def run(self) -> None:
        """Write until the turn has ended and its whole text is in the document."""
        loop = asyncio.get_running_loop()
        refused_s = REFUSED_S
        while not self._over.is_set():
            await self._news.wait()
            self._news.clear()
            if self._over.is_set():
                break  # the last edit writes the receipt together with the returned text
            begun = loop.time()
            try:
                await self._write(is_last=False)
                took = loop.time() - begun
                pause = max(EVERY_S, 2 * took if took < ASKS_S else 20 * took)
                refused_s = REFUSED_S
            except EditRefused:
                pause, refused_s = refused_s, min(2 * refused_s, MOST_S)
                self._news.set()
            await self._wait(pause)
        for before in LAST_TRIES_S:
            await asyncio.sleep(before)
            try:
                await self._write(is_last=True)
            except EditRefused:
                continue
            return
        self._say(
            "the editor did not accept the end of the answer; the session has all of it, and "
            "`indwell.chat` shows it"
        )

    async def _write(self, *, is_last: bool) -> None:
        document = self._opened()
        back = tuple(self._back) if is_last else ()
        tail = "\n\n".join(filter(None, (self._rendering.running, taken_line(self._taken))))
        plan = partial(
            self._writing.plan, whole=self._rendering.text, tail=tail, is_last=is_last, back=back
        )
        if document is None:
            if is_last and self._document is not None:
                self._writing.reopened()
                await self._on_disk(self._document, plan)
            return
        if document is not self._document:
            if self._document is not None:
                self._writing.reopened()
            self._document = document
        try:
            await self._paper.change(document, plan)
        except EditRefused:
            self._writing.doubt()
            raise
        self._writing.commit()
        state = self._writing.state
        if state in _SAID and state not in self._was_told and not is_last:
            self._was_told.add(state)
            self._say(_SAID[state])

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            return
