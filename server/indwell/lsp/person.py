"""The user at the editor: gives permissions, and answers questions of the model's.

A question of the model's looks like no question of ours: it says whose it is, each of its lines is
marked, its options are numbered, and nothing that is answered permits anything. Where it is asked:

1. In a card of the client's, if it shows options (it takes ``ask`` and ``permission``).
2. In the chat document of the session, if the turn was begun or steered there: the user's next
   send is the answer.
3. In a message with the options as buttons, else in a box for a line (``ask``), else in a message
   that leads to the chat. An open chat shows the question too; the first answer counts.
"""

from __future__ import annotations

import asyncio

from lsprotocol import types

from indwell.agent.features.questions.asker import CLOSED, Answer, UserQuestion
from indwell.errors import UserError
from indwell.lsp.client import Client
from indwell.lsp.permission import EditorApprover, marked
from indwell.lsp.protocol_asking import AskParams
from indwell.settings.model import DAY_S

IN_CHAT = "Answer in the chat"
IN_WORDS = "Answer in other words"
NO_ANSWER = "No answer"
HEAD = "Indwell: the model asks (an answer permits nothing)"


class EditorPerson(EditorApprover):
    """Implements ``Approver`` and ``Asker`` over the wire.

    Args:
        client: The editor.
        timeout_s: Seconds that the user has for a permission.
    """

    def __init__(self, client: Client, *, timeout_s: float) -> None:
        super().__init__(client, timeout_s=timeout_s)
        self._editor = client

    async def ready(self, question: UserQuestion) -> None:
        """Return when the question may be shown; in a chat, which takes no keys, at once."""
        chat = self._editor.chat
        if chat is None or not chat.is_open(question.session):
            await self._editor.ready()

    async def answer(self, question: UserQuestion) -> Answer:
        """Ask where the user is; whoever waits for it ends it when the time is over."""
        features, chat = self._editor.features, self._editor.chat
        if features.has("ask") and features.has("permission"):
            return await self._in_box(question)
        if chat is not None and chat.is_open(question.session):
            await asyncio.Event().wait()  # what the user sends there is said to the turn
        if question.options or not features.has("ask"):
            return await self._in_message(question)
        return await self._in_box(question)

    async def _in_box(self, question: UserQuestion) -> Answer:
        """In a box or card of the client's, which may show the options."""
        params = AskParams(
            prompt=question.text,
            by="model",
            options=question.options,
            session=question.session,
            id=question.id,
        )
        given = await self._editor.answer(params, DAY_S)
        if given is None:
            return CLOSED
        if given.chosen is not None and 0 <= given.chosen < len(question.options):
            return Answer(chosen=given.chosen)
        return Answer(words=given.text or "")

    async def _in_message(self, question: UserQuestion) -> Answer:
        options = tuple(f"{number}. {one}" for number, one in enumerate(question.options, 1))
        has_box = self._editor.features.has("ask")
        elsewhere = IN_WORDS if has_box else IN_CHAT
        titles = (*options, elsewhere, NO_ANSWER)
        message = f"{HEAD}:\n{marked(question.text)}"
        chosen = await self._editor.choose(message, titles, DAY_S)
        if chosen in options:
            return Answer(chosen=options.index(chosen))
        if chosen != elsewhere:
            return CLOSED
        if has_box:
            return await self._in_box(question)
        chat = self._editor.chat
        if chat is None:
            return CLOSED
        try:
            await chat.lead_to(question)
        except UserError as error:
            self._editor.show(types.MessageType.Error, f"Indwell: {error}")
            return CLOSED
        await asyncio.Event().wait()  # as above
        return CLOSED
