"""Text that answers a question means the same in every user interface."""

from __future__ import annotations

import asyncio

import pytest

from indwell.agent.core.events import QuestionAnswered, QuestionAsked
from indwell.agent.features.questions import (
    CLOSED,
    NAME,
    Answer,
    QuestionBoard,
    UserQuestion,
    answer_of,
    make_ask_user,
    questions_feature,
)
from support.session import a_world, asks, call, says

NUMBERS = ("2", "4", "8")
WORDS = ("SQLite", "Postgres")


@pytest.mark.parametrize(
    ("options", "typed", "answer"),
    [
        (NUMBERS, "2", Answer(chosen=0)),
        (NUMBERS, "3", Answer(chosen=2)),
        (NUMBERS, "5", Answer(words="5")),
        (WORDS, " postgres \n", Answer(chosen=1)),
        (WORDS, "1", Answer(chosen=0)),
        (WORDS, "01", Answer(words="01")),
        (WORDS, "Postgres, please", Answer(words="Postgres, please")),
        (("a", "A"), "A", Answer(chosen=1)),
        ((), "1", Answer(words="1")),
        (WORDS, " ", CLOSED),
    ],
)
def test_typed_text_selects_an_option_by_text_then_by_number_or_counts_as_a_message(
    options, typed, answer
) -> None:
    assert answer_of(options, typed) == answer


class Silent:
    """An asker without answers."""

    async def ready(self, question: UserQuestion) -> None:
        """Return at once, because nobody is typing."""

    async def answer(self, question: UserQuestion) -> Answer:
        del question
        await asyncio.Event().wait()
        return CLOSED


def test_if_options_have_no_numbers_a_number_counts_as_a_message() -> None:
    assert answer_of(WORDS, "2", numbered=False) == Answer(words="2")
    assert answer_of(NUMBERS, "2", numbered=False) == Answer(chosen=0)


async def test_a_steering_message_can_choose_an_option(tmp_path) -> None:
    board = QuestionBoard()
    tool = make_ask_user(board, Silent(), "s1", lambda: 60.0)
    asking = asks(call(NAME, "q1", question="How many?", options=list(NUMBERS)))
    features = [questions_feature(board, tool)]
    async with a_world(tmp_path, [asking, says()], features=features) as made:
        turn = made.begin("begin")
        await made.until(lambda event: isinstance(event, QuestionAsked))
        made.session.steer("2")
        assert (await turn).ending == "done"
        assert made.results[0].text == "The user chose option 1: 2"
        assert made.told(QuestionAnswered) == [QuestionAnswered(1, "q1", "2")]
