"""The interface to whoever can answer a question of the model, and the form of an answer."""

from __future__ import annotations

from collections.abc import Sequence
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


def answer_of(options: Sequence[str], typed: str, *, numbered: bool = True) -> Answer:
    """What was typed: an option by its text, else by its number, else words.

    So ``2`` below the options 2, 4 and 8 is the first of them. Where they are not ``numbered``, as
    on buttons, a number that is no option's text is words.
    """
    said = typed.strip()
    if not said:
        return CLOSED
    numbers = [str(number) for number, _ in enumerate(options, 1)] if numbered else []
    texts = [one.strip() for one in options]
    folded = [one.casefold() for one in texts]
    for names, name in ((texts, said), (folded, said.casefold()), (numbers, said)):
        if name in names:
            return Answer(chosen=names.index(name))
    return Answer(words=typed)


@runtime_checkable
class Asker(Protocol):
    """Somebody who answers questions of the model's, besides permissions."""

    async def ready(self, question: UserQuestion) -> None:
        """Return when the question may be shown; only then the time to answer begins."""
        ...

    async def answer(self, question: UserQuestion) -> Answer:
        """Ask, and wait as long as it takes; whoever calls sets the time-out, by cancelling."""
        ...


class Nobody:
    """Where there is no user."""

    async def ready(self, question: UserQuestion) -> None:
        """Nothing has to be waited for."""
        del question

    async def answer(self, question: UserQuestion) -> Answer:
        """Nobody answers."""
        del question
        return NOBODY
