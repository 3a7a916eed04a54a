"""The output of a background command: kept up to a bound, cut for the model, without secrets."""

from __future__ import annotations

import pytest

from indwell.agent.background.output import (
    KEPT_CHARACTERS,
    MOST_WAITING_B,
    SHOWN_CHARACTERS,
    Output,
)
from indwell.agent.background.words import seconds_words
from indwell.tools.truncate import OUTPUT_LIMIT, OUTPUT_TAIL


def hide_nothing(text: str) -> str:
    return text


async def test_what_is_written_is_kept_up_to_a_bound_and_its_end_stays_known() -> None:
    kept: list[str] = []

    async def keep(text: str) -> None:
        kept.append(text)

    output = Output(keep, hide_nothing)
    line = b"0123456789abcde\n" * 1_024
    for _ in range(KEPT_CHARACTERS // len(line) + 40):
        output.feed(line)
        await output.settle()
    output.feed(b"the end")
    news = await output.take_news(lambda: "; see the file")
    assert sum(map(len, kept)) == KEPT_CHARACTERS
    assert not output.is_whole
    assert len(output.tail) == SHOWN_CHARACTERS
    assert output.tail.endswith("\nthe end")
    assert len(news) < OUTPUT_LIMIT + OUTPUT_TAIL + 100
    assert "characters left out; see the file …]\n" in news
    assert news.endswith("\nthe end")
    assert await output.take_news(str) == ""


async def test_what_comes_faster_than_it_is_kept_is_counted() -> None:
    output = Output(nothing_kept, hide_nothing)
    output.feed(b"x" * (MOST_WAITING_B + 7))
    assert "[… 7 bytes came too fast to be kept …]" in await output.take_news(str)


async def test_a_full_disk_stops_no_command() -> None:
    async def full(_text: str) -> None:
        raise OSError(28, "no space left on device")

    output = Output(full, hide_nothing)
    output.feed(b"one\n")
    await output.settle()
    output.feed(b"two\n")
    assert await output.take_news(str) == "one\ntwo\n"
    assert not output.is_whole


async def test_a_line_is_looked_at_whole_for_what_is_hidden() -> None:
    seen: list[str] = []

    def hide(text: str) -> str:
        seen.append(text)
        return text.replace("hush-hush", "***")

    output = Output(nothing_kept, hide)
    for piece in (b"first\nhush", b"-", b"hush\n"):
        output.feed(piece)
        await output.settle()
    assert await output.take_news(str) == "first\n***\n"
    assert [one for one in seen if one] == ["first\n", "hush-hush\n"]


async def nothing_kept(_text: str) -> None:
    """A disk that takes all and holds nothing."""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (99, "99 s"), (150, "2 min"), (5_940, "99 min"), (7_500, "2 h 5 min")],
)
def test_a_time_is_said_as_people_do(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words
