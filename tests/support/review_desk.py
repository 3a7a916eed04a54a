"""Runs the editor's part of a review on one event loop: documents, hunks, a real ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.review.hunk_display import Reviewing
from indwell.lsp.review.shown_hunks import Published
from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import Document, Documents
from indwell.review.ledger import ReviewLedger
from indwell.service.chores import Chores


class Screen:
    """Receives the published diagnostics, and wakes waiting tests."""

    def __init__(self) -> None:
        self.features = ClientFeatures()
        self.hints: dict[str, Published] = {}
        self.published: list[Published] = []
        self.n_refreshes = 0
        self._shown = asyncio.Event()

    def publish(self, published: Published) -> None:
        """Replace the client's function that publishes diagnostics."""
        self.published.append(published)
        self.hints[published.uri] = published
        self._shown.set()

    def refresh_lenses(self) -> None:
        """Replace the client's function that refreshes lenses."""
        self.n_refreshes += 1
        self._shown.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until the condition is true."""
        async with asyncio.timeout(60):
            while not is_so():
                self._shown.clear()
                await self._shown.wait()

    def lines(self, uri: str) -> list[int]:
        """Return the marked lines, counted from 1."""
        published = self.hints.get(uri)
        found = published.diagnostics if published else []
        return [one["range"]["start"]["line"] + 1 for one in found]


class Desk:
    """One editor with one ledger."""

    def __init__(self, folder: Path, ledger: ReviewLedger) -> None:
        self.folder = folder
        self.ledger = ledger
        self.documents = Documents()
        self.screen = Screen()
        self.chores = Chores()
        self.wants_hints = True
        self.session: str | None = "s1"
        self.n_reads = 0
        self.reviewing = Reviewing(
            self.documents,
            self.screen,
            self.chores,
            self._read,
            self._differs,
            hints=lambda: self.wants_hints,
            session=lambda: self.session,
            others_s=0.2,
        )

    async def _read(self, ledger: ReviewLedger, path: Path) -> None:
        self.n_reads += 1
        text = path.read_bytes().decode() if path.exists() else None
        ledger.sync(path, text)

    async def _differs(self, document: Document) -> bool:
        assert document.path is not None
        return document.path.read_bytes().decode() != document.text

    def open(self, path: Path, text: str) -> Document:
        """Open a file, as the user does."""
        return self.documents.open(sync.OpenedDocument(path.as_uri(), "text", 1, text))

    def type_text(self, path: Path, text: str) -> None:
        """Replace a buffer's text, as the user does."""
        document = self.documents.at(path)
        self.documents.change(document.uri, document.version + 1, [sync.TextChange(text)])

    def path(self, name: str, text: str | None = None) -> Path:
        """Return a file's path; write the file if there is a text."""
        path = self.folder / name
        if text is not None:
            path.write_bytes(text.encode())
        return path
