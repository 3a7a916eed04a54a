"""Tracks an editor's open chat documents: their sessions, and the turns in their texts."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote

import msgspec

from indwell.agent.core import events
from indwell.edges import loop_time
from indwell.errors import EditRefused, ToolError, UserError
from indwell.lsp.chat import layout
from indwell.lsp.chat.completion import FileNames
from indwell.lsp.chat.drafts import Asking, Drafts
from indwell.lsp.chat.files import caught_up, changed_on_disk, chats_folder
from indwell.lsp.chat.rendering import Rendering, own_words
from indwell.lsp.chat.stream import AnsweredPrompt, Paper, Plan, Stream, Writing
from indwell.lsp.front_door import EventListener
from indwell.lsp.host import Host
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.workspace.documents import Document
from indwell.service.mentions import SUFFIX
from indwell.service.sessions.recorded_turns import RecordedTurn, events_of
from indwell.service.turns.queue import Ticket
from indwell.sessions.ids import is_id
from indwell.workspace.paths import parse


class SentWords(msgspec.Struct, eq=False):
    """Text of a chat document that is being sent to the model.

    Attributes:
        is_placed: Whether the text has left the draft, because a turn has received the text or
            because the text is queued.
    """

    ticket: Ticket
    uri: str
    raw: str
    words: str
    is_placed: Callable[[], bool] | None = None


class Steering(msgspec.Struct, eq=False):
    """A message that steered a running turn, exactly as written in the document."""

    ticket: Ticket
    raws: list[str]


EDIT_S = 2.0  # the time limit, in seconds, for the editor to apply an edit
FIRST_LINE = 400  # the limit of characters for the first line, which names the session


class Chats:
    """Knows the open chats, and writes turns into them.

    Args:
        host: The editor's server.

    Attributes:
        paper: Edits the documents.
        names: The names of files that a prompt can mention.
        drafts: Determines whether the user typed the drafts.
        asking: Asks the user about drafts that the user did not type.
        sent: The texts that are being sent.
        standing: Texts that were sent, and that the draft may still contain.
        steered: The messages that steered the running turn, by document.
        locks: A lock for each document, which allows one send at a time.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.paper = Paper(
            host.documents,
            host.client,
            lambda: min(host.settings.apply_edit_timeout_s, EDIT_S),
        )
        self.names = FileNames(host.chores.begin, loop_time)
        self.sent: list[SentWords] = []
        self.standing: list[SentWords] = []
        self.steered: dict[str, Steering] = {}
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.drafts = Drafts(host)
        self.asking = Asking(host, self.drafts)
        self._streams: dict[tuple[str, int], Stream] = {}
        # The number of a running turn whose section the user removed, by document.
        self._cut: dict[str, int] = {}
        host.documents.on_change(self._look)
        host.door.listeners.append((events.TurnStarted, self._begin))

    def document(self, uri: str | None) -> Document:
        """Return the named chat; without a name, the chat that was opened last.

        Raises:
            UserError: The document is not open, or is not a chat.
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
        if not document.is_chat:
            raise UserError(
                f"{self._host.display(document)} is not a chat; its name must end with `{SUFFIX}`"
            )
        return document

    def session_of(self, document: Document) -> str:
        """Return the session id in a document, which may be any text."""
        return layout.session_of(document.body.line(0)[:FIRST_LINE])

    def of_session(self, session: str) -> Document | None:
        """Return the open chat of a session; if several are open, the newest chat."""
        return next((one for one in self._open() if self.session_of(one) == session), None)

    def is_streaming(self, session: str) -> bool:
        """Return whether a turn of this session is being written into an open document."""
        return any(key[0] == session and one.is_open for key, one in self._streams.items())

    def runs_in(self, document: Document) -> bool:
        """Return whether a turn of this document runs."""
        return self.ticket_of(document) is not None

    def ticket_of(self, document: Document) -> Ticket | None:
        """Return the running turn of this document."""
        turns, session = self._host.turns, self.session_of(document)
        own = {id(one.ticket) for one in self.sent if one.uri == document.uri}
        for running in filter(None, (turns.running, *turns.beside)):
            # The turn has ended, although its stream is still open.
            if running.finished is not None:
                continue
            if running.session is not None and running.session.id == session:
                return running
            if id(running) in own:
                return running
        return None

    def taken(self, document: Document) -> tuple[str, ...]:
        """Return the texts at the beginning of a draft that were already sent, in order."""
        waiting = [one for one in self.standing if one.uri == document.uri]
        taken = [one.raw for one in waiting if one.is_placed is None or not one.is_placed()]
        steered = self.steered.get(document.uri)
        if steered is not None and not steered.ticket.ended.is_set():
            taken += steered.raws
        return tuple(taken)

    async def catch_up(self, document: Document) -> None:
        """Add the session's turns that the document lacks."""
        session = self.session_of(document)
        if not is_id(session):
            return

        def is_streaming() -> bool:
            return any(key[0] == session for key in self._streams)

        try:
            turns = await self.turns_of(session)
            await self.paper.change(
                document,
                lambda text: (
                    text
                    if is_streaming()
                    else caught_up(text, turns, session, self.running_in(session))
                ),
            )
        except (UserError, EditRefused):
            return  # The session is unknown or the document is read-only, so nothing is changed.

    async def turns_of(self, session: str) -> tuple[RecordedTurn, ...]:
        """Return a session's recorded turns, without a turn that ran while they were read.

        A running turn may end before the caller writes the document, which would then show an
        unfinished turn.

        Raises:
            UserError: There is no such session in this workspace.
        """
        running = self.running_in(session)
        await self._host.service.stored.check_session(session)
        opened = self._host.sessions.find(session)
        if opened is not None:
            await opened.parts.log.commit()
        reading = await self._host.service.stored.session(session)
        turns = await asyncio.to_thread(events_of, reading.records)
        return tuple(one for one in turns if one.finished is not None or one.turn != running)

    def tell(self, message: str) -> None:
        """Show a sentence to the user."""
        self._host.client.show(types.MessageType.Warning, f"Indwell: {message}")

    def _open(self) -> list[Document]:
        """Return the open chats, the newest first."""
        return [one for one in reversed(list(self._host.documents)) if one.is_chat]

    def _path(self, uri: str) -> Path | None:
        return parse(uri, self._host.root) if uri.startswith("file:") else None

    def _look(self, path: Path) -> None:
        """Handle a buffer that was opened, changed, saved or closed."""
        if not path.name.lower().endswith(SUFFIX):
            return
        document = self._host.documents.at(path)
        if self.drafts.look(path) is not None and document is not None:
            if self._is_own(path) and self.session_of(document):
                self._host.chores.begin(self.catch_up(document))
        elif document is not None:
            self._look_again(document.uri)

    def _look_again(self, uri: str) -> None:
        """Update a running turn whose text the user removed from the document and put back."""
        document, turn = self._host.documents.get(uri), self._cut.get(uri)
        if document is None or turn is None or layout.section_of(document.text, turn) is None:
            return
        del self._cut[uri]
        self._host.chores.begin(self.catch_up(document))

    def running_in(self, session: str) -> int:
        """Return the number of a session's running turn, or 0 if no turn is running."""
        running = self._host.turns.running_in(session)
        return 0 if running is None or running.finished is not None else running.number

    def took(self, ticket: Ticket, words: str) -> None:
        """Show in the running turn's document that the turn has taken a message."""
        stream = self._streams.get((ticket.session.id, ticket.number)) if ticket.session else None
        if stream is not None:
            stream.took(words)

    def _is_own(self, path: Path) -> bool:
        try:
            return path.parent == chats_folder(self._host.root)
        except UserError:
            return False

    def _begin(self, session: str, event: events.Event) -> None:
        """Write a starting turn into its document, if the turn has a document."""
        running = self._host.turns.running_in(session)
        if running is None or event.turn != running.number:
            return
        assert isinstance(event, events.TurnStarted)
        stream = self._stream(running, session, event)
        if stream is None:
            return
        key = session, event.turn

        def hear(of: str, event: events.Event) -> None:
            if (of, event.turn) == key:
                stream.take(event)

        listener = (object, hear)
        stream.take(event)
        self._streams[key] = stream
        self._host.door.listeners.append(listener)
        self._host.chores.begin(self._run(key, stream, running, listener))

    async def _run(
        self, key: tuple[str, int], stream: Stream, ticket: Ticket, listener: EventListener
    ) -> None:
        try:
            await stream.run()
        finally:
            self._host.door.listeners.remove(listener)
            if self._streams.get(key) is stream:
                del self._streams[key]
            self.standing = [one for one in self.standing if one.ticket is not ticket]
        await ticket.ended.wait()
        document, written = self.of_session(key[0]), stream.document
        if written is not None and stream.state == "gone":
            self._cut[written.uri] = key[1]
            self._look_again(written.uri)
        elif document is not None and document is not written:  # the document was renamed
            await self.catch_up(document)

    def _given(self, uri: str, ticket: Ticket, words: str) -> str:
        """Return the steering messages that the model received, as written in the document."""
        steered = self.steered.get(uri)
        if steered is None or steered.ticket is not ticket:
            return ""
        raws = steered.raws
        found = next((raw for raw in raws if raw.replace("\r\n", "\n") == words), "")
        if found:
            raws.remove(found)
        return found

    def _stream(self, ticket: Ticket, session: str, event: events.TurnStarted) -> Stream | None:
        sent = next((one for one in self.sent if one.ticket is ticket), None)
        found = self._host.documents.get(sent.uri) if sent else self.of_session(session)
        if found is None:
            return None
        raw, words = (sent.raw, sent.words) if sent else ("", "")
        named = "" if self.session_of(found) == session else session
        asked = AnsweredPrompt(raw, own_words(words or event.words))
        writing = Writing(event.turn, asked, named)
        if sent is not None:
            sent.is_placed = lambda: bool(writing.written)
        return Stream(
            Rendering(event.turn, partial(self._link, found)),
            writing,
            given=partial(self._given, found.uri, ticket),
            words=words,
            opened=partial(self._host.documents.get, found.uri),
            paper=self.paper,
            say=self.tell,
            on_disk=self._finish_on_disk,
        )

    def _link(self, document: Document, path: str, line: int) -> str:
        """Return a link to a line, relative to the document's folder."""
        try:
            target = parse(path, self._host.root)
        except ToolError:
            return ""
        if document.path is None:
            return f"{target.as_uri()}#L{line}"
        relative = os.path.relpath(target, document.path.parent)
        return f"{quote(Path(relative).as_posix())}#L{line}"

    async def _finish_on_disk(self, document: Document, plan: Plan) -> None:
        """Write the rest of a turn to the file of a closed chat, unless the file has changed."""
        roots = self._host.sessions.workspace.roots if self._host.sessions.workspace else ()
        if document.path is not None:
            await asyncio.to_thread(
                changed_on_disk, document.path, roots, plan, expected=document.text
            )
