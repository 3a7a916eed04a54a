"""The pending question of a session; steering words answer it, too."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, TypeAlias

from indwell.agent.core.feature import Feature
from indwell.agent.core.session import Session
from indwell.agent.features.questions.asker import Answer, Asker, UserQuestion, answer_of
from indwell.errors import ToolError
from indwell.tools.base import Tool

MOST_ASKED = 8  # questions of one turn; a model that asks more has not thought

Silence: TypeAlias = Literal["late", "said"]
"""No answer in time; or the user sent words to the turn, which are the answer."""


class QuestionBoard:
    """Holds the session's pending question, of which there is at most one."""

    def __init__(self) -> None:
        self._heard: asyncio.Future[tuple[str, bool]] | None = None
        self._options: tuple[str, ...] = ()
        self._turn = 0
        self._n_asked = 0
        self._is_silent = False

    @property
    def is_waiting(self) -> bool:
        """Is a question pending, so that what the user says now is its answer?"""
        return self._heard is not None and not self._heard.done()

    def hear(self, words: str, *, numbered: bool = False) -> bool:
        """Take words to the running turn; ``numbered``: options had numbers where they were typed.

        Return whether they chose an option; then they are that answer and nothing else.
        """
        if self._heard is None or self._heard.done():
            return False
        self._heard.set_result((words, numbered))
        return numbered and answer_of(self._options, words).chosen is not None

    def check(self, turn: int) -> None:
        """Return if one more question may be asked in this turn, and count it.

        Raises:
            ToolError: Nobody answered before, or there were too many.
        """
        if turn != self._turn:
            self._turn, self._n_asked, self._is_silent = turn, 0, False
        if self._is_silent:
            raise ToolError(f"nobody answered before in this turn, so {DECIDE}")
        if self._n_asked >= MOST_ASKED:
            raise ToolError(f"{MOST_ASKED} questions were asked in this turn already, so {DECIDE}")
        self._n_asked += 1

    async def wait(
        self, asker: Asker, question: UserQuestion, timeout_s: float
    ) -> Answer | Silence:
        """Return the first of: an answer, words to the turn, the end of the time.

        The time begins when the question may be shown.
        """
        self._heard = heard = asyncio.get_running_loop().create_future()
        self._options = question.options
        asking = asyncio.ensure_future(_answer_in_time(asker, question, timeout_s))
        try:
            await asyncio.wait({asking, heard}, return_when=asyncio.FIRST_COMPLETED)
            if heard.done():
                words, numbered = heard.result()
                said = answer_of(question.options, words, numbered=numbered)
                return said if said.chosen is not None else "said"
            answer = asking.result()
            self._is_silent = answer is None
            return "late" if answer is None else answer
        finally:
            self._heard = None
            if not asking.done():  # whoever shows the question removes it
                asking.cancel()
                await asyncio.wait({asking})


async def _answer_in_time(asker: Asker, question: UserQuestion, timeout_s: float) -> Answer | None:
    """Return the answer; None if there is none in time."""
    await asker.ready(question)
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await asker.answer(question)
    except TimeoutError:
        if limit.expired():
            return None
        raise


DECIDE = "decide yourself, and say what you decided"


def questions_feature(board: QuestionBoard, tool: Tool[Any]) -> Feature[Session]:
    """Return the feature for the pending question, which words to the running turn may answer."""
    return Feature(
        name="questions", tools=(tool,), door=board, steered=board.hear, for_child=lambda: None
    )


def question_of(session: Session) -> QuestionBoard:
    """Return the pending question of a session, for front doors.

    Raises:
        LookupError: The session asks none, like a sub-agent's.
    """
    return session.parts.features.door(QuestionBoard)
