"""Updates the display of pending hunks after changes of the ledger or of documents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from indwell.lsp.editor.client import Client
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.review.shown_hunks import Hints, Shown, reachable
from indwell.lsp.workspace.documents import LONG, Document, Documents
from indwell.review.hunk import Hunk
from indwell.review.ledger import ReviewLedger
from indwell.service.chores import Chores
from indwell.workspace.text import split_lines

RELOAD_S = 2.0  # the time, in seconds, in which editors reload changed files by themselves

SAID = (
    "{name} was changed on disk by a verdict in another editor or a terminal, and the buffer "
    "still shows the rejected change; reload the file"
)

Differs: TypeAlias = Callable[[Document], Awaitable[bool]]
"""Returns whether the file on disk differs from the buffer as last opened or saved."""


class Elsewhere:
    """Reads what other processes rejected, and warns of buffers that still show such changes.

    A file may lose hunks for other reasons, such as ``git checkout``, so only a recorded rejection
    counts. The disk is read before a warning, because another editor may not have saved its
    rejection yet.

    Args:
        documents: The open documents.
        chores: Runs the wait for the editor.
        differs: Compares a buffer with the disk.
        tell: Shows a sentence to the user.
        reload_s: The time in which the editor reloads a file, in seconds.
    """

    def __init__(
        self,
        documents: Documents,
        chores: Chores,
        differs: Differs,
        tell: Callable[[str], None],
        *,
        reload_s: float = RELOAD_S,
    ) -> None:
        self._documents = documents
        self._chores = chores
        self._differs = differs
        self._tell = tell
        self._reload_s = reload_s

    async def hear(self, ledger: ReviewLedger) -> None:
        """Read the verdicts that other processes have recorded."""
        before = {path: ledger.n_taken_back(path) for path in ledger.known()}
        await ledger.refresh()
        for path, number in before.items():
            if ledger.n_taken_back(path) > number and self._left(ledger, path) is not None:
                self._chores.begin(self._say(ledger, path))

    def _left(self, ledger: ReviewLedger, path: Path) -> Document | None:
        """Return the unmodified buffer of a file, if the buffer's text differs from the records."""
        document = self._documents.at(path)
        if document is None or document.dirt != "clean" or document.is_stale:
            return None
        return None if ledger.recorded(path) == document.text else document

    async def _say(self, ledger: ReviewLedger, path: Path) -> None:
        await asyncio.sleep(self._reload_s)
        document = self._left(ledger, path)
        if document is not None and await self._differs(document):
            self._tell(SAID.format(name=path.name))


SETTLE_S = 0.05  # the pause in seconds, because key presses and edits come in bursts
SLICE_S = 0.004  # This work uses the event loop for at most 4 ms at a time.
# the time, in seconds, between two reads of what other processes accepted or rejected, while hunks
# are shown
OTHERS_S = 5.0
QUIET_S = 20.0  # the time, in seconds, between two reads while no hunks are shown

_Seen: TypeAlias = tuple[Shown, bool]

ReadClosed: TypeAlias = Callable[[ReviewLedger, Path], Awaitable[None]]
"""Passes the text of a file that is not open to the ledger."""


class Reviewing:
    """Shows pending hunks in the editor.

    Args:
        documents: The open documents.
        screen: The editor.
        chores: Runs the background work.
        read_closed: Passes the text of a file that is not open to the ledger.
        differs: Compares a buffer with the disk.
        hints: Returns whether the user wants hint diagnostics.
        session: Returns the id of the current session.
        others_s: The time between two reads of other processes' verdicts, in seconds.
    """

    def __init__(
        self,
        documents: Documents,
        screen: Client,
        chores: Chores,
        read_closed: ReadClosed,
        differs: Differs,
        *,
        hints: Callable[[], bool],
        session: Callable[[], str | None],
        others_s: float = OTHERS_S,
    ) -> None:
        self.documents = documents
        self._screen = screen
        self._chores = chores
        self._read_closed = read_closed
        self._wants_hints = hints
        self.session = session
        self._hints = Hints(screen.publish)
        self._elsewhere = Elsewhere(documents, chores, differs, self._warn)
        self._ledger: ReviewLedger | None = None
        self._opened = asyncio.Event()
        self._known: frozenset[Path] = frozenset()
        self._unread: dict[Path, None] = {}
        self._shown: dict[Path, _Seen] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._poll: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._others_s = others_s
        self._is_at_work = False
        self._is_late = False
        self._is_stopped = False
        documents.on_change(self._moved)

    @property
    def ledger(self) -> ReviewLedger | None:
        """The ledger, or None until it is loaded."""
        return self._ledger

    def attach(self, ledger: ReviewLedger) -> None:
        """Show the pending hunks of the ledger, in the background."""
        self._ledger = ledger
        ledger.on_change(self._changed)
        self._known = frozenset(ledger.known())
        self._unread.update(dict.fromkeys(ledger.paths()))
        self._opened.set()
        self._wake()

    async def opened(self, timeout_s: float) -> ReviewLedger | None:
        """Wait for the ledger; return None after the time-out."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._opened.wait()
        except TimeoutError:
            return None
        return self._ledger

    def look_again(self) -> None:
        """Show everything again, after a setting or the current session has changed."""
        self._shown.clear()
        self._wake()

    def stop(self) -> None:
        """Remove all hints and lenses from the editor."""
        self._is_stopped = True
        for timer in (self._timer, self._poll):
            if timer is not None:
                timer.cancel()
        self._hints.clear_all()

    def shown(self, document: Document) -> Shown:
        """Return the hunks of a document; the ledger first reads a changed text that is short."""
        ledger, path = self._ledger, document.path
        if ledger is None or path is None:
            return Shown(document.uri, (), None, self.documents.encoding, None)
        if path in self._unread and len(document.text) <= LONG and _is_true(ledger, document):
            del self._unread[path]
            ledger.sync(path, document.text)
            self._wake()
        return self._shown_at(ledger, path)

    def known(self, path: Path) -> Shown:
        """Return a file's hunks as the ledger last read the file; requires the ledger."""
        assert self._ledger is not None
        return self._shown_at(self._ledger, path)

    def everything(self) -> list[Hunk]:
        """Return all pending hunks, by file and line."""
        ledger = self._ledger
        if ledger is None:
            return []
        return [hunk for path in ledger.paths() for hunk in ledger.hunks(path)]

    async def caught_up(self) -> None:
        """Wait until the ledger knows all changes of the editor and of other processes."""
        if self._ledger is not None:
            await self._elsewhere.hear(self._ledger)
        while self._unread and self._ledger is not None:
            await self._read(self._ledger)

    def _warn(self, words: str) -> None:
        if not self._is_stopped:
            self._screen.show(types.MessageType.Warning, f"Indwell: {words}")

    def _moved(self, path: Path) -> None:
        """Handle a document that was opened, changed, saved or closed, or a changed file."""
        if path in self._known and not self._is_stopped:
            self._unread[path] = None
            self._wake()

    def _changed(self) -> None:
        ledger = self._ledger
        if ledger is not None:
            known = frozenset(ledger.known())
            self._unread.update(dict.fromkeys(known - self._known))
            self._known = known
            self._wake()

    def _wake(self) -> None:
        if self._timer is None and not self._is_at_work and not self._is_stopped:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(SETTLE_S, self._begin)
        elif self._is_at_work:
            self._is_late = True

    def _begin(self) -> None:
        self._timer = None
        if not self._is_stopped:
            self._is_at_work, self._is_late = True, False
            self._chores.begin(self._work())

    async def _work(self) -> None:
        try:
            assert self._ledger is not None
            await self._hear_others(self._ledger)
            await self._read(self._ledger)
            await self._show(self._ledger)
        finally:
            self._is_at_work = False
            self._look_later()
            if self._is_late or self._unread:
                self._wake()

    async def _hear_others(self, ledger: ReviewLedger) -> None:
        """Read the changes and verdicts that other processes have recorded."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._heard_at >= self._others_s:
            self._heard_at = loop.time()
            await self._elsewhere.hear(ledger)

    def _look_later(self) -> None:
        """Schedule the next read, because other processes send no notifications."""
        if self._poll is not None:
            self._poll.cancel()
        if not self._is_stopped:
            after_s = self._others_s if self._shown else QUIET_S
            self._poll = asyncio.get_running_loop().call_later(after_s, self._wake)

    async def _read(self, ledger: ReviewLedger) -> None:
        """Give the ledger the texts of files that may have changed."""
        for path in tuple(self._unread):
            self._unread.pop(path, None)
            document = self.documents.at(path)
            if document is None:
                await self._read_closed(ledger, path)
            elif _is_true(ledger, document):
                text = document.text
                if len(text) > LONG:
                    await ledger.synced(path, text)
                else:
                    ledger.sync(path, text)
                    await asyncio.sleep(0)
                if document.text is not text:
                    self._unread[path] = None

    async def _show(self, ledger: ReviewLedger) -> None:
        """Show the files whose hunks have changed."""
        loop = asyncio.get_running_loop()
        until, has_lenses = loop.time() + SLICE_S, False
        for path in dict.fromkeys((*ledger.paths(), *self._shown)):
            if ledger.is_busy(path) or self._is_stopped:
                continue
            is_new = self._show_file(ledger, path)
            has_lenses |= is_new and self.documents.at(path) is not None
            if loop.time() > until:
                await asyncio.sleep(0)
                until = loop.time() + SLICE_S
        if has_lenses and not self._is_stopped:
            self._screen.refresh_lenses()

    def _show_file(self, ledger: ReviewLedger, path: Path) -> bool:
        """Show one file; return whether its hunks changed."""
        shown = self._shown_at(ledger, path)
        wants, before = self._wants_hints(), self._shown.get(path)
        seen = (shown, wants)
        if before == seen:  # The comparison is fast, because tuples compare references first.
            return False
        if shown.hunks:
            self._shown[path] = seen
        else:
            self._shown.pop(path, None)
        if wants:
            self._hints.show(path, shown)
        else:
            self._hints.clear(path)
        return before is not None or bool(shown.hunks)

    def _shown_at(self, ledger: ReviewLedger, path: Path) -> Shown:
        hunks, document = ledger.hunks(path), self.documents.at(path)
        n_lines = None
        if any(not hunk.new for hunk in hunks):
            n_lines = _n_lines(document, ledger.text(path))
        uri = document.uri if document is not None else path.as_uri()
        return Shown(uri, hunks, n_lines, self.documents.encoding, self.session())


def _is_true(ledger: ReviewLedger, document: Document) -> bool:
    """Return whether a buffer has the file's text.

    If messages came in an impossible order, the buffer's text may be wrong. An empty buffer without
    edits may belong to a deleted file.
    """
    is_only_shown = not document.text and document.dirt == "clean"
    is_gone = document.path is not None and ledger.text(document.path) is None
    return not document.is_stale and not (is_only_shown and is_gone)


def _n_lines(document: Document | None, text: str | None) -> int | None:
    """Return the number of lines that the cursor can reach."""
    if document is not None:
        number = document.body.n_lines
        return reachable(number, ends_empty=not document.body.line(number - 1))
    if text is None:
        return 1
    return max(len(split_lines(text)), 1)
