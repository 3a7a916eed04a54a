"""The tool ``ask_user``: the model asks the user; only the user can answer.

A chosen option is a text of the model, so the result says which one it was. Typed words are the
user's own: they go to the model like words to the running turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from indwell.agent.core.events import QuestionAnswered, QuestionAsked
from indwell.agent.core.prompt import is_blank
from indwell.agent.features.questions.asker import Answer, Asker, UserQuestion
from indwell.agent.features.questions.board import DECIDE, QuestionBoard, Silence
from indwell.errors import ToolError
from indwell.policy.approvals import short_line, visible
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

NAME = "ask_user"
QUESTION_CHARACTERS = 1_000  # characters that people see; a longer question is an essay
OPTION_CHARACTERS = 100  # characters of a button that editors still show whole
MOST_OPTIONS = 6  # buttons that a message has room for
_FIGURE = 60  # characters of an answer in a list of calls
_OWN_WORDS = "The user answers in words of their own, which follow."


class QuestionArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of the tool."""

    question: str
    options: Annotated[tuple[str, ...], Meta(description="answers to choose from")] = ()


def make_ask_user(
    board: QuestionBoard, asker: Asker, session: str, timeout_s: Callable[[], float]
) -> Tool[QuestionArguments]:
    """Make the tool of one session.

    Args:
        board: Holds the session's pending question.
        asker: Reaches the user.
        session: The session's id.
        timeout_s: Returns the seconds that the user has, by the current settings.
    """

    async def run(arguments: QuestionArguments, context: ToolContext) -> Outcome:
        question = question_of(arguments, context.call_id, session)
        board.check(context.turn)
        asked = QuestionAsked(context.turn, context.call_id, question.text, question.options)
        context.tell(asked)
        chosen, within_s = "", timeout_s()
        try:
            answer = await board.wait(asker, question, within_s)
            chosen = _chosen(question, answer)
        finally:  # if the turn is stopped, the question disappears, too
            context.tell(QuestionAnswered(context.turn, context.call_id, chosen))
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


def question_of(arguments: QuestionArguments, call_id: str, session: str) -> UserQuestion:
    """Return the question as people may see it.

    Raises:
        ToolError: It is empty or too long, or its options are invalid.
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
        raise ToolError("an option is empty or stands twice; give each other words")
    return UserQuestion(call_id, text, options, session)


def _chosen(question: UserQuestion, answer: Answer | Silence) -> str:
    """Return the chosen option; words go out like all words to the turn."""
    if not isinstance(answer, Answer) or answer.chosen is None:
        return ""
    return question.options[answer.chosen]


def _outcome(question: UserQuestion, answer: Answer | Silence, within_s: float) -> Outcome:
    """Return what the model reads.

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
