"""The chat document as the place where the model's question is answered."""

from __future__ import annotations

import contextlib
from functools import partial

from indwell.agent.features.questions.asker import UserQuestion
from indwell.errors import EditRefused
from indwell.lsp.chat import moving
from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.layout import edited
from indwell.lsp.chat.opening import opened
from indwell.lsp.chat.question_words import question_words
from indwell.lsp.documents import Document
from indwell.lsp.host import Host
from indwell.lsp.protocol_chat import ChatArguments
from indwell.service.turns.tickets import Ticket


class QuestionPlace:
    """Implements ``ChatPlace``; what is sent in the chat is said to the running turn.

    Args:
        host: Of the editor.
        chats: Its chats.
    """

    def __init__(self, host: Host, chats: Chats) -> None:
        self._host, self._chats = host, chats

    def is_open(self, session: str) -> bool:
        """Is the running turn written into an open chat, by a user who is there?

        Whether any window shows it no server knows.
        """
        running = self._host.turns.running
        return running is not None and running.in_chat and self._chats.is_streaming(session)

    async def lead_to(self, question: UserQuestion) -> None:
        """Open the chat with the question above the place for the answer.

        Raises:
            UserError: It cannot be made.
        """
        is_written = self._chats.is_streaming(question.session)
        asked = "" if is_written else question_words(question.text, question.options)
        chat = ChatArguments(session=question.session or None)
        await opened(self._host, self._chats, chat, note=asked)
        if not is_written:
            self._host.chores.begin(self._caught_up(question.session))

    async def _caught_up(self, session: str) -> None:
        """Write the turn into the chat when it has ended: it began before the chat was open."""
        running = self._host.turns.running
        if running is not None:
            await running.ended.wait()
        document = self._chats.of_session(session)
        if document is None:
            return
        if running is not None:
            await self._clear(document, running)
        await self._chats.catch_up(document)

    async def _clear(self, document: Document, ended: Ticket) -> None:
        """Take out of the draft what the turn was given, unless it was given back."""
        steered = self._chats.steered.get(document.uri)
        back = ended.finished.draft if ended.finished is not None else ""
        if steered is None or steered.ticket is not ended:
            return
        for raw in steered.raws:
            if raw.replace("\r\n", "\n") not in back:
                with contextlib.suppress(EditRefused):  # it stays, and can be seen
                    await self._chats.paper.change(document, partial(_without, words=raw))


def _without(text: str, words: str) -> str:
    return edited(text, moving.cleared(text, words))
