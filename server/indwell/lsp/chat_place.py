"""The chat document of a session as a place for a question of the model's."""

from __future__ import annotations

from typing import Protocol

from indwell.agent.features.questions.asker import UserQuestion


class ChatPlace(Protocol):
    """What is sent there while a turn runs is said to the turn, which is an answer."""

    def is_open(self, session: str) -> bool:
        """Was the running turn of a session begun in its chat, and is it written there?"""
        ...

    async def lead_to(self, question: UserQuestion) -> None:
        """Open the chat of the session that asks, with the question in it.

        Raises:
            UserError: It cannot be made.
        """
        ...
