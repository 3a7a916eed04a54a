"""The chat documents of one editor: which session each belongs to, and the turns that stream in."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from lsprotocol import types

from indwell.agent import events
from indwell.agent.session import Session
from indwell.errors import EditRefused, ToolError, UserError
from indwell.lsp.chat import layout
from indwell.lsp.chat.catching_up import caught_up
from indwell.lsp.chat.file_names import FileNames
from indwell.lsp.chat.files import changed_on_disk, chats_folder
from indwell.lsp.chat.paper import Paper, Plan
from indwell.lsp.chat.rendering import Rendering
from indwell.lsp.chat.restored import own_words
from indwell.lsp.chat.stream import Stream
from indwell.lsp.chat.writing import Asked, Writing
from indwell.lsp.chat_names import SUFFIX, is_chat
from indwell.lsp.documents import Document
from indwell.lsp.host import Host
from indwell.lsp.tickets import Ticket
from indwell.sessions.ids import is_id
from indwell.sessions.transcript import TurnView, transcript
from indwell.workspace.paths import parse

EDIT_S = 2.0  # for an edit to come; one that comes later is seen in the text, and not sent again
FIRST_LINE = 400  # characters in which a session can be named


@dataclass(slots=True, eq=False)
class Sent:
    """Words on their way: as they stood in the document, and as they were sent."""

    ticket: Ticket
    uri: str
    raw: str
    words: str


class Chats:
    """Knows the open chats, and writes turns into them.

    Args:
        host: Of the editor.

    Attributes:
        paper: Edits them.
        names: Of the files that words can mention.
        sent: What is on its way.
        steered: Words of a document that the running turn was given, as they stand there.
        made: Documents that this process has made.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.paper = Paper(
            host.documents,
            host.client,
            lambda: min(host.settings.apply_edit_timeout_s, EDIT_S),
        )
        self.names = FileNames(host.chores.begin, host.backend.monotonic)
        self.sent: list[Sent] = []
        self.steered: dict[str, str] = {}
        self.made: set[Path] = set()
        self._streams: dict[tuple[str, int], Stream] = {}
        self._found: dict[Path, tuple[Document, frozenset[str]]] = {}
        host.documents.on_change(self._look)
        host.turns.listeners.append(self._hear)

    def document(self, uri: str | None) -> Document:
        """The chat that is meant: the one that was opened last, if none is named.

        Raises:
            UserError: It is not open, or is no chat.
        """
        if uri is None:
            newest = next(iter(self._open()), None)
            if newest is None:
                raise UserError("no chat is open; `indwell.chat` opens one")
            return newest
        document = self._host.documents.get(uri)
        if document is None:
            path = self._path(uri)
            document = self._host.documents.at(path) if path else None
        if document is None:
            raise UserError("the chat is not open in the editor; open it first")
        if not is_chat(document.uri):
            raise UserError(
                f"{self._host.display(document)} is no chat; its name must end with `{SUFFIX}`"
            )
        return document

    def session_of(self, document: Document) -> str:
        """The session that a document names; it may be anything."""
        return layout.session_of(document.body.line(0)[:FIRST_LINE])

    def of_session(self, session: str) -> Document | None:
        """The open chat of a session: the one that was opened last."""
        return next((one for one in self._open() if self.session_of(one) == session), None)

    def runs_in(self, document: Document) -> bool:
        """Does a turn of this document run?"""
        running = self._host.turns.running
        if running is None or running.finished is not None:  # it is only being tidied up
            return False
        session = self.session_of(document)
        if running.session is not None and running.session.id == session:
            return True
        return any(one.ticket is running and one.uri == document.uri for one in self.sent)

    def stood_there(self, document: Document) -> frozenset[str]:
        """Lines of the draft that stood in the file when it was opened."""
        known = self._found.get(document.path) if document.path else None
        return known[1] if known and known[0] is document else frozenset()

    async def catch_up(self, document: Document) -> None:
        """Put in what the session has and the document has not."""
        session = self.session_of(document)
        if not is_id(session):
            return

        def is_streaming() -> bool:
            return any(key[0] == session for key in self._streams)

        try:
            turns = await self.turns_of(session)
            await self.paper.change(
                document,
                lambda text: text if is_streaming() else caught_up(text, turns, session),
            )
        except (UserError, EditRefused):
            return  # a document that names no session of ours, or cannot be changed, stays so

    async def turns_of(self, session: str) -> tuple[TurnView, ...]:
        """What was said in a session.

        Raises:
            UserError: There is no such session in this workspace.
        """
        await self._host.backend.check_session(self._host.root, session)
        current = self._host.sessions.current
        if current is not None and current.id == session:
            await current.parts.log.commit()
        reading = await self._host.backend.session(self._host.root, session)
        return await asyncio.to_thread(transcript, reading.records)

    def tell(self, message: str) -> None:
        """A sentence to the user."""
        self._host.client.show(types.MessageType.Warning, f"Indwell: {message}")

    def _open(self) -> list[Document]:
        """Open chats, the newest first."""
        return [one for one in reversed(list(self._host.documents)) if is_chat(one.uri)]

    def _path(self, uri: str) -> Path | None:
        return parse(uri, self._host.root) if uri.startswith("file:") else None

    def _look(self, path: Path) -> None:
        """A buffer was opened, changed, saved or closed."""
        if not path.name.lower().endswith(SUFFIX):
            return
        document, known = self._host.documents.at(path), self._found.get(path)
        if document is None:
            self._found.pop(path, None)
        elif known is None or known[0] is not document:
            self._found[path] = document, draft_lines(document.text)
            if self._is_own(path) and self.session_of(document):
                self._host.chores.begin(self.catch_up(document))

    def _is_own(self, path: Path) -> bool:
        try:
            return path.parent == chats_folder(self._host.root)
        except UserError:
            return False

    def _hear(self, event: events.Event) -> None:
        running = self._host.turns.running
        session = running.session if running is not None else None
        if running is None or session is None or event.turn != running.number:
            return
        key = session.id, event.turn
        if isinstance(event, events.TurnStarted):
            stream = self._stream(running, session, event)
            if stream is not None:
                self._streams[key] = stream
                self._host.chores.begin(self._run(key, stream))
        stream = self._streams.get(key)
        if stream is not None:
            stream.take(event)

    async def _run(self, key: tuple[str, int], stream: Stream) -> None:
        try:
            await stream.run()
        finally:
            if self._streams.get(key) is stream:
                del self._streams[key]

    def _stream(self, ticket: Ticket, session: Session, event: events.TurnStarted) -> Stream | None:
        sent = next((one for one in self.sent if one.ticket is ticket), None)
        found = self._host.documents.get(sent.uri) if sent else self.of_session(session.id)
        if found is None:
            return None
        raw, words = (sent.raw, sent.words) if sent else ("", "")
        named = "" if self.session_of(found) == session.id else session.id
        self.steered.pop(found.uri, None)
        asked = Asked(raw, own_words(words or event.words))
        return Stream(
            Rendering(event.turn, partial(self._link, found)),
            Writing(event.turn, asked, named),
            words=words,
            opened=partial(self._host.documents.get, found.uri),
            paper=self.paper,
            say=self.tell,
            on_disk=self._finish_on_disk,
        )

    def _link(self, document: Document, path: str, line: int) -> str:
        """Where a line is, as seen from the document's folder."""
        try:
            target = parse(path, self._host.root)
        except ToolError:
            return ""
        if document.path is None:
            return f"{target.as_uri()}#L{line}"
        relative = os.path.relpath(target, document.path.parent)
        return f"{quote(Path(relative).as_posix())}#L{line}"

    async def _finish_on_disk(self, document: Document, plan: Plan) -> None:
        """The rest of a turn whose document was closed: only where nobody has changed the file."""
        roots = self._host.sessions.workspace.roots if self._host.sessions.workspace else ()
        if document.path is not None:
            await asyncio.to_thread(
                changed_on_disk, document.path, roots, plan, expected=document.text
            )


def draft_lines(text: str) -> frozenset[str]:
    """The lines of what would be sent."""
    draft = layout.draft_of(text)
    if draft is None:
        return frozenset()
    return frozenset(
        line.strip() for line in text[draft.start : draft.stop].split("\n") if line.strip()
    )
