"""Whether the disk agrees with the buffers: ``stat`` first, then by digest (EDT-09, EDT-10).

A buffer started from a text on disk, when it was opened or saved last. If the disk holds another
text, somebody else changed it, or the editor opened the buffer with unsaved text that it had kept.
Either way nothing is overwritten. Line ends are no difference here: see ``documents.unbroken``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from indwell.errors import ToolError
from indwell.files.listing import FileState, state_of
from indwell.lsp.workspace.documents import Document, digested, unbroken
from indwell.workspace.base import Snapshot, Workspace, digest

Held: TypeAlias = str | None
"""The digest of what a disk holds; empty if there is no file, None if it is not known."""

Agrees: TypeAlias = Literal["yes", "changed", "gone"]

_NOTHING = frozenset({digest(""), digest("\n")})  # what editors show of a file that is still to be


@dataclass(slots=True)
class _KnownDocument:
    document: Document
    state: FileState | None
    held: Held
    told: Held = None


class DiskAgreement:
    """Compares open documents with their files.

    Args:
        disk: Reads and writes them.
        look: Tells two states of a file apart; runs in a thread.
    """

    def __init__(
        self, disk: Workspace, look: Callable[[Path], FileState | None] = state_of
    ) -> None:
        self._disk = disk
        self._look = look
        self._known: dict[str, _KnownDocument] = {}

    async def note(self, document: Document, path: Path) -> str:
        """What a reader of the buffer should know of the disk; empty if there is nothing."""
        state = await asyncio.to_thread(self._look, path)
        match await self._agrees(document, path, state):
            case "yes":
                return ""
            case "gone":
                return "the file is not on disk any more; the editor's text is shown"
            case "changed":
                return (
                    "the file on disk is newer than the editor's text: somebody else has changed "
                    "it; the editor's text is shown"
                )

    async def changed(self, documents: Sequence[Document]) -> tuple[Path, ...]:
        """Files that somebody else has changed under their buffers; each change is told once."""
        open_files = [(one, one.path) for one in documents if one.path is not None]
        self._known = {one.uri: self._known[one.uri] for one in documents if one.uri in self._known}
        paths = [path for _, path in open_files]
        states = await asyncio.to_thread(lambda: [self._look(path) for path in paths])
        changed = []
        for (document, path), state in zip(open_files, states, strict=True):
            if await self._agrees(document, path, state) == "yes":
                continue
            known = self._known[document.uri]
            if known.told != known.held:
                known.told = known.held
                changed.append(path)
        return tuple(changed)

    async def put(self, document: Document, path: Path) -> None:
        """Write a buffer's text to disk, so that commands see it, unless that loses something.

        Only over the text that the buffer started from. The editor is not told: its buffer holds
        the same text, and saving it changes nothing.
        """
        text = document.text
        try:
            on_disk = await self._disk.read(path)
            if unbroken(on_disk.text) != unbroken(text):
                if await _digest_of(on_disk) != await document.origin():
                    return
                await self._disk.write(path, on_disk, _ended(text, on_disk.text), label="Indwell")
        except ToolError:
            return  # gone, or no text there: not what the buffer started from either
        document.agrees(text)
        if document.text == text:  # else somebody typed meanwhile
            document.dirt = "clean"

    async def _agrees(self, document: Document, path: Path, state: FileState | None) -> Agrees:
        agreed = document.n_agreed
        held = await self._held(document, path, state)
        origin = await document.origin()
        if held is None or held == origin or (held == "" and origin in _NOTHING):
            return "yes"
        text, stamp = await document.stamped()
        now = stamp.digest if "\r" not in text else await digested(text, unbroken)
        if held == now:  # loaded again by the editor, or saved a moment ago
            document.agrees(text)
            if document.text is text:
                document.dirt = "clean"
            return "yes"
        if document.n_agreed != agreed:
            return "yes"  # saved while we looked: what was seen is old
        return "changed" if held else "gone"

    async def _held(self, document: Document, path: Path, state: FileState | None) -> Held:
        """What the disk holds; read only if the file does not look as when it was read last."""
        known = self._known.get(document.uri)
        if known is None or known.document is not document:
            known = self._known[document.uri] = _KnownDocument(document, state=None, held=None)
        elif state is not None and state.is_certain and known.state == state:
            return known.held
        known.state = state
        known.held = "" if state is None else await self._read(path)
        return known.held

    async def _read(self, path: Path) -> Held:
        try:
            snapshot = await self._disk.read(path)
        except ToolError:
            return None
        return await _digest_of(snapshot) if snapshot.lossless else None


async def _digest_of(snapshot: Snapshot) -> str:
    if "\r" not in snapshot.text:
        return snapshot.stamp.digest
    return await digested(snapshot.text, unbroken)


def _ended(text: str, like: str) -> str:
    r"""``text`` with ``\r\n`` where the file has it throughout and the editor does not show it."""
    if "\r" in text or "\r\n" not in like or like.count("\n") != like.count("\r\n"):
        return text
    return text.replace("\n", "\r\n")
