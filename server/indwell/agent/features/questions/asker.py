"""The interface to whoever can answer a question of the model, and the form of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec


class UserQuestion(msgspec.Struct, frozen=True):
    """A question of the model as people may see it; it never stands for a permission.

    Attributes:
        id: The id of the call that asks.
        text: Its visible text; may have several lines.
        options: Different answers to choose from, a line each.
        session: The session whose turn asks.
    """

    id: str
    text: str
    options: tuple[str, ...] = ()
    session: str = ""


class Answer(msgspec.Struct, frozen=True):
    """The answer: an option, words, or neither.

    Attributes:
        chosen: The 0-based index of the option.
        words: The user's own words, which count as such.
        is_nobody: Whether there is nobody to ask.
    """

    chosen: int | None = None
    words: str = ""
    is_nobody: bool = False


CLOSED = Answer()
NOBODY = Answer(is_nobody=True)


def answer_of(options: Sequence[str], typed: str, *, numbered: bool = True) -> Answer:
    """Interpret typed text: an option by its text, else by its number, else words.

    So ``2`` below the options 2, 4 and 8 means the first of them. If the options are not
    ``numbered``, as on buttons, a number that is no option's text is words.
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
    """Answers questions of the model that are no permissions."""

    async def ready(self, question: UserQuestion) -> None:
        """Return when the question may be shown; the time to answer begins only then."""
        ...

    async def answer(self, question: UserQuestion) -> Answer:
        """Ask, and wait without limit; the caller ends the wait by cancelling."""
        ...


class Nobody:
    """Answers where there is no user."""

    async def ready(self, question: UserQuestion) -> None:
        """Return at once."""
        del question

    async def answer(self, question: UserQuestion) -> Answer:
        """Return that nobody answers."""
        del question
        return NOBODY
