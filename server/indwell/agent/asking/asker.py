"""Who can be asked a question of the model's, and how an answer looks."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec


class UserQuestion(msgspec.Struct, frozen=True):
    """A question of the model's, as people may see it; it never stands for a permission.

    Attributes:
        id: Of the call that asks.
        text: What is visible of it; may have several lines.
        options: Answers to choose from, each a line; none is that of another question.
        session: Whose turn asks.
    """

    id: str
    text: str
    options: tuple[str, ...] = ()
    session: str = ""


class Answer(msgspec.Struct, frozen=True):
    """What came back: an option, words, or neither.

    Attributes:
        chosen: Which option, 0-based.
        words: The user's own; they count as such.
        is_nobody: There is nobody who could be asked.
    """

    chosen: int | None = None
    words: str = ""
    is_nobody: bool = False


CLOSED = Answer()
NOBODY = Answer(is_nobody=True)


@runtime_checkable
class Asker(Protocol):
    """Somebody who answers questions of the model's, besides permissions."""

    async def answer(self, question: UserQuestion) -> Answer:
        """Ask, and wait as long as it takes; whoever calls sets the time-out, by cancelling."""
        ...


class Nobody:
    """Where there is no user."""

    async def answer(self, question: UserQuestion) -> Answer:
        """Nobody answers."""
        del question
        return NOBODY
