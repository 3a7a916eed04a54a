"""Opens the chat document of a session: by command, after a fork or rewind, or for a question."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from pathlib import Path

from indwell import edges
from indwell.agent.features.questions import UserQuestion
from indwell.context.untrusted_text import visible
from indwell.errors import EditRefused, UserError
from indwell.lsp.chat import layout
from indwell.lsp.chat import layout as moving
from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.files import (
    caught_up,
    changed_on_disk,
    chat_of,
    made_chat,
    new_chat,
    new_text,
)
from indwell.lsp.chat.layout import edited, noted
from indwell.lsp.chat.markdown import quoted
from indwell.lsp.chat.rendering import question_words
from indwell.lsp.host import Host
from indwell.lsp.messages.documents import ChatArguments, ChatResult
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.workspace.documents import Document, path_of
from indwell.service.mentions import SUFFIX, is_chat
from indwell.service.turns.queue import Ticket


async def opened(
    host: Host, chats: Chats, arguments: ChatArguments, *, note: str = ""
) -> ChatResult:
    """Open a chat without taking the focus.

    Args:
        host: The server's state for this editor.
        chats: The editor's chats.
        arguments: The arguments that name the chat.
        note: A paragraph to insert above the draft.

    Raises:
        UserError: There is no such session, or the chat cannot be created.
    """
    path, session = await _found(host, chats, arguments)
    if note:
        await _put(host, chats, path, note)
    return await _shown(host, path, session)


async def _found(host: Host, chats: Chats, arguments: ChatArguments) -> tuple[Path, str | None]:
    """Return the file of a session's chat, and the text with all turns of the session."""
    root = host.root
    if arguments.uri is not None:
        return await _named(host, arguments.uri), None
    wanted = arguments.session or (None if arguments.new else host.sessions.id)
    if wanted is None:
        return await asyncio.to_thread(new_chat, root, _today(), new_text()), None
    turns = await chats.turns_of(wanted)
    document = chats.of_session(wanted)
    if document is not None and document.path is not None:
        await chats.catch_up(document)
        return document.path, wanted
    found = await asyncio.to_thread(chat_of, root, wanted)
    if found is not None:
        await asyncio.to_thread(
            changed_on_disk,
            found,
            [root],
            lambda text: caught_up(text, turns, wanted, chats.running_in(wanted)),
        )
        return found, wanted
    ended = [one for one in turns if one.finished is not None]
    path = await asyncio.to_thread(new_chat, root, _today(), new_text(wanted, ended))
    return path, wanted


async def _put(host: Host, chats: Chats, path: Path, note: str) -> None:
    """Insert a paragraph above the draft, if the document accepts it."""

    def plan(text: str) -> str:
        return edited(text, noted(text, note))

    document = host.documents.at(path)
    if document is None:
        await asyncio.to_thread(changed_on_disk, path, [path.parent], plan)
        return
    # A refused edit is harmless, because the caller has already shown the note.
    with contextlib.suppress(EditRefused):
        await chats.paper.change(document, plan)


async def _named(host: Host, uri: str) -> Path:
    path = path_of(uri)
    if path is None or not is_chat(uri):
        raise UserError(f"{visible(uri[:200])!r} is not a chat; its name must end with `{SUFFIX}`")
    if host.documents.at(path) is None:
        workspace = host.sessions.workspace
        roots = workspace.roots if workspace is not None else (host.root,)
        await asyncio.to_thread(made_chat, path, roots, new_text())
    return path


async def _shown(host: Host, path: Path, session: str | None) -> ChatResult:
    uri = path.as_uri()
    shown = await host.client.show_document(uri)
    if not shown and host.documents.at(path) is None:
        host.client.show(types.MessageType.Info, f"Indwell: the chat is in {path}; open it")
    return ChatResult(uri=uri, path=str(path), session=session, shown=shown)


def _today() -> str:
    return edges.now().astimezone().strftime("%Y-%m-%d")


async def mark_rewound(chats: Chats, session: str, turn: int) -> None:
    """Add a note to a session's open chat that the session was rewound to the end of a turn."""
    document = chats.of_session(session)
    if document is None:
        return
    try:
        await chats.paper.change(document, partial(_marked, turn=turn))
    except EditRefused:
        return  # A missing note is harmless, because the session was rewound.


async def show_fork(host: Host, chats: Chats, origin: str, session: str, turn: int | None) -> None:
    """Tell the user about a fork; if the original session has a chat, create one for the fork."""
    if host.client.features.has("events"):
        return
    where = ending_of(turn)
    words = f"Indwell: a new session continues from {where}; your next prompts go there"
    if chats.of_session(origin) is None:
        host.client.show(types.MessageType.Info, words)
        return
    chat = await opened(host, chats, ChatArguments(session=session))
    name = chat.path.replace("\\", "/").rsplit("/", 1)[-1]
    host.client.show(
        types.MessageType.Info,
        f"Indwell: a new session continues from {where}, in the chat {name}",
    )


def ending_of(turn: int | None) -> str:
    """Return a description of where a conversation continues."""
    if turn is None:
        return "the end of the last turn"
    return f"the end of turn {turn}" if turn else "the beginning"


def _marked(text: str, turn: int) -> str:
    turns = [one.turn for one in layout.headings(text) if one.kind == "turn"]
    if not turns or turns[-1] <= turn:
        return text
    between = "the text between is" if turn else "the text above is"
    note = quoted(f"Rewound to {ending_of(turn)}; {between} no longer part of the conversation.")
    draft = layout.draft_of(text)
    above = text[: draft.heading.start] if draft is not None else text
    if above.rstrip().replace("\r\n", "\n").endswith(note):
        return text
    return edited(text, layout.noted(text, note))


class QuestionPlace:
    """Shows questions in the chat document; implements ``ChatPlace``.

    Args:
        host: The server's state for this editor.
        chats: The editor's chats.
    """

    def __init__(self, host: Host, chats: Chats) -> None:
        self._host, self._chats = host, chats

    def is_open(self, session: str) -> bool:
        """Return whether the running turn is written into an open chat.

        The server does not know whether a window shows the chat.
        """
        running = self._host.turns.running_in(session)
        return running is not None and running.in_chat and self._chats.is_streaming(session)

    async def lead_to(self, question: UserQuestion) -> None:
        """Open the chat with the question above the draft for the answer.

        Raises:
            UserError: The chat cannot be created.
        """
        is_written = self._chats.is_streaming(question.session)
        asked = "" if is_written else question_words(question.text, question.options)
        chat = ChatArguments(session=question.session or None)
        try:
            await opened(self._host, self._chats, chat, note=asked)
        finally:  # clear the draft even if the answer arrives before the editor shows the chat
            if not is_written:
                self._host.chores.begin(self._caught_up(question.session))

    async def _caught_up(self, session: str) -> None:
        """Wait for the end of a turn that began before the chat was open, and write the turn."""
        running = self._host.turns.running_in(session)
        if running is not None:
            await running.ended.wait()
        document = self._chats.of_session(session)
        if document is None:
            return
        if running is not None:
            await self._clear(document, running)
        await self._chats.catch_up(document)

    async def _clear(self, document: Document, ended: Ticket) -> None:
        """Delete text in the draft that the turn received, unless the turn gave the text back."""
        steered = self._chats.steered.get(document.uri)
        back = ended.finished.draft if ended.finished is not None else ""
        if steered is None or steered.ticket is not ended:
            return
        for raw in steered.raws:
            if raw.replace("\r\n", "\n") not in back:
                # If the editor refuses the edit, the text stays in the draft.
                with contextlib.suppress(EditRefused):
                    await self._chats.paper.change(document, partial(_without, words=raw))


def _without(text: str, words: str) -> str:
    return edited(text, moving.cleared(text, words))
