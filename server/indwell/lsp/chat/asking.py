"""The question about words in a chat that the user is not known to have typed."""

from __future__ import annotations

import asyncio

from indwell.errors import UserError
from indwell.lsp.chat.drafts import Drafts
from indwell.lsp.documents import Document
from indwell.lsp.host import Host
from indwell.policy.approvals import folded, visible
from indwell.workspace.base import digest

SEND = "Send them"
MOST_ASKED = 4_000  # characters that a person looks through in a question
QUESTION_S = 60.0  # that a question waits; some editors never answer one


class BeingSent(UserError):
    """Nothing is wrong with the words: they are on their way, or a question about them is open."""


class Asking:
    """Asks, one question a document.

    Args:
        host: Of the editor.
        drafts: Know whose words are whose.
    """

    def __init__(self, host: Host, drafts: Drafts) -> None:
        self._host, self._drafts = host, drafts
        self._open: set[str] = set()
        self._unanswered: set[tuple[str, str]] = set()

    def check_free(self, document: Document) -> None:
        """Return if no question about this chat is open.

        Raises:
            BeingSent: One is.
        """
        if document.uri in self._open:
            raise BeingSent("a question about this chat waits for your answer; nothing was sent")

    async def check(self, document: Document, words: str) -> None:
        """Return if the words are the user's, or the user says that they are to be sent.

        Raises:
            UserError: They are not.
        """
        if not await self._drafts.is_foreign(document):
            return
        key = document.uri, digest(words)
        if len(words) <= MOST_ASKED and key not in self._unanswered:
            question = (
                "Indwell: some of these words were not typed by you since you opened the file. "
                f"Send them as yours?\n\n{folded(visible(words))}"
            )
            answer, in_time = await self.choose(document, question, SEND)
            if answer:
                self._drafts.vouch(document, words)
                return
            if not in_time:
                self._unanswered.add(key)
        raise UserError(
            "some of these words were not typed by you since you opened the file; remove them, "
            "or write in a chat of your own (`indwell.chat`)"
        )

    async def choose(self, document: Document, question: str, title: str) -> tuple[bool, bool]:
        """Was the one answer chosen, and was anything said in time?"""
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
