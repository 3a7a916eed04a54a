"""Asks the user questions of the model: the tool ``ask_user``, and the pending question.

Only the user can answer. If the user chooses an option, the tool's result names the option. Other
typed text is sent to the model as a message to the running turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from indwell.agent.core.events import QuestionAnswered, QuestionAsked
from indwell.agent.core.feature import Feature
from indwell.agent.core.prompt import is_blank
from indwell.agent.core.session import Session
from indwell.context.untrusted_text import short_line, visible
from indwell.errors import ToolError
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts


class UserQuestion(msgspec.Struct, frozen=True):
    """A question of the model to the user; the answer never counts as a permission.

    Attributes:
        id: The id of the tool call that asks.
        text: The text of the question, with all characters visible; may have several lines.
        options: Different answers to choose from, one line each.
        session: The session of the turn that asks.
        is_line: Whether typed text only answers the question, and is not sent to the model as the
            user's message.
    """

    id: str
    text: str
    options: tuple[str, ...] = ()
    session: str = ""
    is_line: bool = False


class Answer(msgspec.Struct, frozen=True):
    """The user's answer to a question: an option, typed text, or nothing.

    Attributes:
        chosen: The 0-based index of the chosen option.
        words: The text that the user typed.
        is_nobody: Whether nobody can answer, because no user is connected.
    """

    chosen: int | None = None
    words: str = ""
    is_nobody: bool = False


CLOSED = Answer()
NOBODY = Answer(is_nobody=True)


def answer_of(options: Sequence[str], typed: str, *, numbered: bool = True) -> Answer:
    """Interpret typed text as an option's text, as an option's number, or as free text.

    With the options 2, 4 and 8, the typed ``2`` therefore means the first option. If the user saw
    no numbers (``numbered`` is false), a number counts as free text.
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
    """Answers questions of the model that do not ask for a permission."""

    async def ready(self, question: UserQuestion) -> None:
        """Wait until the question may be shown; the user's time to answer begins then."""
        ...

    async def answer(self, question: UserQuestion) -> Answer:
        """Ask the question, and wait without a limit until the caller cancels."""
        ...


class Nobody:
    """Implements ``Asker`` where there is no user."""

    async def ready(self, question: UserQuestion) -> None:
        """Return at once, because there is no user to wait for."""
        del question

    async def answer(self, question: UserQuestion) -> Answer:
        """Return an empty answer, because there is no user."""
        del question
        return NOBODY


MOST_ASKED = 8  # the limit of questions in one turn

Silence: TypeAlias = Literal["late", "said"]
"""Why there is no answer: ``late`` after a time-out, ``said`` after a message to the turn."""


class QuestionBoard:
    """Holds the session's pending question; at most one question is pending."""

    def __init__(self) -> None:
        self._heard: asyncio.Future[tuple[str, bool]] | None = None
        self._options: tuple[str, ...] = ()
        self._is_line = False
        self._turn = 0
        self._n_asked = 0
        self._is_silent = False

    @property
    def is_waiting(self) -> bool:
        """Return whether a question is pending, which the user's next message answers."""
        return self._heard is not None and not self._heard.done()

    def hear(self, words: str, *, numbered: bool = False) -> bool:
        """Handle a message to the running turn; ``numbered`` says whether options had numbers.

        Return True if the message chooses an option, or is the line that the question asks for. The
        model then does not get the message.
        """
        if self._heard is None or self._heard.done():
            return False
        self._heard.set_result((words, numbered))
        return self._is_line or (numbered and answer_of(self._options, words).chosen is not None)

    def check(self, turn: int) -> None:
        """Count a question, if another question may be asked in this turn.

        Raises:
            ToolError: The user did not answer the last question, or there were too many questions.
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
        """Return whichever comes first: an answer, a message to the turn, or a time-out.

        The time to answer begins when the question may be shown.
        """
        self._heard = heard = asyncio.get_running_loop().create_future()
        self._options, self._is_line = question.options, question.is_line
        asking = asyncio.ensure_future(_answer_in_time(asker, question, timeout_s))
        try:
            await asyncio.wait({asking, heard}, return_when=asyncio.FIRST_COMPLETED)
            if heard.done():
                words, numbered = heard.result()
                if question.is_line:
                    return Answer(words=words)
                said = answer_of(question.options, words, numbered=numbered)
                return said if said.chosen is not None else "said"
            answer = asking.result()
            self._is_silent = answer is None
            return "late" if answer is None else answer
        finally:
            self._heard = None
            # The user interface that shows the question also removes the question.
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking})


async def _answer_in_time(asker: Asker, question: UserQuestion, timeout_s: float) -> Answer | None:
    """Return the answer, or None if the user does not answer in time."""
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
    """Return the feature for the pending question, which messages to the turn may answer."""
    return Feature(
        name="questions", tools=(tool,), door=board, steered=board.hear, for_child=lambda: None
    )


def question_of(session: Session) -> QuestionBoard:
    """Return the pending question of a session, for user interfaces.

    Raises:
        LookupError: A sub-agent's session, for example, cannot ask questions.
    """
    return session.parts.features.door(QuestionBoard)


NAME = "ask_user"
QUESTION_CHARACTERS = 1_000  # the limit of visible characters for a question
# the limit of characters for an option, because editors show options on buttons
OPTION_CHARACTERS = 100
MOST_OPTIONS = 6  # the limit of options for a question, because editors show options as buttons
_FIGURE = 60  # the limit of characters for an answer in a list of calls
_OWN_WORDS = "The user answers in words of their own, which follow."


class QuestionArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool ``ask_user``."""

    question: str
    options: tuple[str, ...] = ()


def make_ask_user(
    board: QuestionBoard, asker: Asker, session: str, timeout_s: Callable[[], float]
) -> Tool[QuestionArguments]:
    """Make the tool ``ask_user`` of one session.

    Args:
        board: Holds the session's pending question.
        asker: Reaches the user.
        session: The session's id.
        timeout_s: Returns the user's time to answer in seconds, by the current settings.
    """

    async def run(arguments: QuestionArguments, context: ToolContext) -> Outcome:
        question, within_s = checked_question(arguments, context.call_id, session), timeout_s()
        answer = await put(
            board, asker, question, turn=context.turn, tell=context.tell, timeout_s=within_s
        )
        return _outcome(question, answer, within_s)

    return Tool(
        name=NAME,
        description="Ask the user if the answer matters and you cannot find it out. Not for "
        "permission.",
        arguments=QuestionArguments,
        effect="read",
        facts=lambda given: ToolFacts(
            tool=NAME,
            effect="read",
            subject=short_line(given.question, QUESTION_CHARACTERS),
            asks=True,
        ),
        run=run,
    )


async def put(
    board: QuestionBoard,
    asker: Asker,
    question: UserQuestion,
    *,
    turn: int,
    tell: Callable[[Any], None],
    timeout_s: float,
) -> Answer | Silence:
    """Ask a question during a turn, and emit events for user interfaces.

    Raises:
        ToolError: No more questions may be asked in this turn.
    """
    board.check(turn)
    tell(QuestionAsked(turn, question.id, question.text, question.options))
    chosen = ""
    try:
        answer = await board.wait(asker, question, timeout_s)
        chosen = _chosen(question, answer)
    finally:  # The question disappears when the turn is stopped.
        tell(QuestionAnswered(turn, question.id, chosen))
    return answer


def checked_question(arguments: QuestionArguments, call_id: str, session: str) -> UserQuestion:
    """Check the model's arguments; return the question to show.

    Raises:
        ToolError: The question is empty or too long, or its options are invalid.
    """
    text = visible(arguments.question.strip())
    if not text:
        raise ToolError("the question has no words; say what you want to know")
    if len(text) > QUESTION_CHARACTERS:
        raise ToolError(
            f"a question of {len(text):,} characters is longer than the {QUESTION_CHARACTERS:,} "
            "that people read; say it shorter"
        )
    if len(arguments.options) > MOST_OPTIONS:
        raise ToolError(
            f"{len(arguments.options)} options are more than the {MOST_OPTIONS} that are shown; "
            "leave some out, the user can answer in other words"
        )
    long = next((one for one in arguments.options if len(one) > OPTION_CHARACTERS), "")
    if long:
        raise ToolError(
            f"an option of {len(long)} characters is longer than the {OPTION_CHARACTERS} of a "
            f"button ({short_line(long, 40)!r}); say it shorter"
        )
    options = tuple(short_line(one, 2 * OPTION_CHARACTERS) for one in arguments.options)
    if any(map(is_blank, options)) or len(set(options)) < len(options):
        raise ToolError("an option is empty or appears twice; give each option different words")
    return UserQuestion(call_id, text, options, session)


def _chosen(question: UserQuestion, answer: Answer | Silence) -> str:
    """Return the chosen option or the typed line, or an empty text if there is no answer."""
    if question.is_line and isinstance(answer, Answer):
        return short_line(answer.words, QUESTION_CHARACTERS)
    if not isinstance(answer, Answer) or answer.chosen is None:
        return ""
    return question.options[answer.chosen]


def _outcome(question: UserQuestion, answer: Answer | Silence, within_s: float) -> Outcome:
    """Return the result text for the model.

    Raises:
        ToolError: There is no answer.
    """
    if answer == "late":
        raise ToolError(f"nobody answered within {within_s:.0f} seconds, so {DECIDE}")
    if not isinstance(answer, Answer):
        return Outcome(_OWN_WORDS, figure="answered")
    if answer.is_nobody:
        raise ToolError(f"there is nobody here who could be asked, so {DECIDE}")
    if answer.chosen is not None:
        option = question.options[answer.chosen]
        text = f"The user chose option {answer.chosen + 1}: {option}"
        return Outcome(text, figure=short_line(option, _FIGURE))
    if is_blank(answer.words):
        raise ToolError(f"the user closed the question without an answer, so {DECIDE}")
    return Outcome(_OWN_WORDS, figure=short_line(answer.words, _FIGURE), said=answer.words)
