"""One running turn on its way into a chat document, while the user types in it.

What is new is put at the end of the turn's section, in one edit a tenth of a second at most. Where
that end is, is looked up in the newest text each time. If the section does not end as it was
written (the user undid a piece, or writes there), nothing more is put in until it does again, or
the turn has ended: then the rest follows once, behind whatever stands there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from indwell.agent import events
from indwell.errors import EditRefused
from indwell.lsp.chat.paper import Paper, Plan
from indwell.lsp.chat.rendering import Rendering
from indwell.lsp.chat.writing import State, Writing
from indwell.lsp.documents import Document

EVERY_S = 0.1  # at most ten edits a second
ASKS_S = 1.0  # an editor that takes longer for an edit probably asks its user about each
REFUSED_S = 1.0  # from an edit that was not taken to the next try; doubled each time
MOST_S = 30.0
LAST_TRIES_S = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Before the tries when the turn has ended: somebody may be asked about each edit."""

_SAID: dict[State, str] = {
    "changed": "the chat was changed where the answer is being written; the rest of it comes "
    "when the turn has ended",
    "gone": "the running turn was taken out of the chat; it goes on, and the session has all of it",
}

OnDisk = Callable[[Document, Plan], Awaitable[None]]
"""Takes the document as it was closed, and what its file should read."""


class Stream:
    """A turn that is written down.

    Args:
        rendering: Makes its Markdown.
        writing: Knows how much of it stands in the document.
        words: Of the user, that come back if the model never got them; empty if they were not
            written in this document.
        given: Words that the turn was given, as they stand in this document; empty if they came
            from elsewhere.
        opened: The document as the editor has it open now, if it does.
        paper: Writes.
        say: Tells the user something.
        on_disk: Writes the end into a document that was closed meanwhile.
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
        self._document: Document | None = None
        self._was_told: set[State] = set()

    @property
    def document(self) -> Document | None:
        """Where it was written last."""
        return self._document

    @property
    def is_open(self) -> bool:
        """Has the editor the document open now?"""
        return self._opened() is not None

    @property
    def state(self) -> State:
        """Of the section, as it was found last."""
        return self._writing.state

    def take(self, event: events.Event) -> None:
        """Go on with what happened."""
        self._rendering.take(event)
        match event:
            case events.Steered(text=text, delivered=True):
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

    async def run(self) -> None:
        """Write until the turn has ended and all of it stands there."""
        loop = asyncio.get_running_loop()
        refused_s = REFUSED_S
        while not self._over.is_set():
            await self._news.wait()
            self._news.clear()
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
            "the editor did not take the end of the answer; the session has all of it, and "
            "`indwell.chat` shows it"
        )

    async def _write(self, *, is_last: bool) -> None:
        document = self._opened()
        back = tuple(self._back) if is_last else ()
        plan = partial(self._writing.plan, whole=self._rendering.text, is_last=is_last, back=back)
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
