"""The user's text is always encodable, and never longer than the limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.agent.core.prompt import MOST_CHARACTERS, is_blank, taken_words
from indwell.errors import UserError
from indwell.sessions.records import TurnEndRecord
from support.session import a_world, says


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_cleaned_text_can_be_encoded_and_valid_text_stays_unchanged(words) -> None:
    taken = taken_words(words)
    assert taken_words(taken) == taken
    assert len(taken.encode()) > 0 or not words
    if not any("\ud800" <= one <= "\udfff" for one in words):
        assert taken == words


@given(st.text(" \t\n\u2003\u200bx", max_size=6))
def test_is_blank_agrees_with_str_strip(words) -> None:
    assert is_blank(words) == (not words.strip())


def test_a_lone_surrogate_is_replaced_and_a_surrogate_pair_is_joined() -> None:
    assert taken_words("\ud800 hi \ud83d\ude00 \udc00") == "\ufffd hi 😀 \ufffd"


def test_a_too_long_text_is_refused_with_advice() -> None:
    assert taken_words("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
    with pytest.raises(UserError) as caught:
        taken_words("x" * (MOST_CHARACTERS + 1))
    assert str(caught.value) == (
        "1,000,001 characters are more than the 1,000,000 that a message may have; put the text "
        "into a file of the workspace, and name the file"
    )


async def test_an_event_listener_that_raises_does_not_damage_the_log(tmp_path: Path) -> None:
    """The listener acts like a closed terminal: it raises at every event."""

    def emit(_event: object) -> None:
        raise BrokenPipeError

    async with a_world(tmp_path, [says("well")]) as world:
        world.emit = emit  # type: ignore[method-assign] # who listens, for this turn
        with pytest.raises(BrokenPipeError):
            await world.turn("precious")
        last = (await world.records())[-1]
    assert isinstance(last, TurnEndRecord)
    assert (last.ending, last.words) == ("failed", "precious")
