"""The user's text, the current task and finished work that a request does not keep."""

from __future__ import annotations

import pytest

from indwell.context.compaction.step import SpilledText
from indwell.context.conversation import Config, Conversation, user_words
from indwell.context.injections import inject
from indwell.messages import Block, Message, Meta, Request, Text
from indwell.replay.measure import Broken, Promises
from indwell.replay.replayed_conversation import DoneBefore, Point

TALK = Conversation(Config("m", 10_000, 0), ())
FIRST = user_words("Write the parser.", turn=1)
SECOND = user_words("Now the printer, please.", turn=2)


def said(text: str, turn: int = 1) -> Text:
    return Text(text, Meta(3, "assistant", 9, turn))


CLOSING = said("The parser stands, and its tests pass.\nand its tests pass, all of them.")


def point(
    shown: tuple[Block, ...], reply: Text, *arrived: Text, spills: tuple[SpilledText, ...] = ()
) -> Point:
    return Point(
        conversation=TALK,
        request=Request("m", (), (), tuple(Message("user", (one,), 1) for one in shown), 1),
        reply=Message("assistant", (reply,), 1),
        tokens=1,
        arrived=arrived,
        done=DoneBefore(spills=spills),
    )


def second(*shown: Block, closing: Text = CLOSING, spills: tuple[SpilledText, ...] = ()) -> Broken:
    """Return the losses of the second turn's request if it shows ``shown``."""
    promises = Promises()
    assert promises.at(point((FIRST,), closing, FIRST)) == Broken()
    return promises.at(point(shown, said("yes", 2), closing, SECOND, spills=spills))


def test_a_request_without_compaction_breaks_no_promise() -> None:
    assert second(FIRST, CLOSING, SECOND) == Broken()


def test_user_text_that_a_request_lacks_counts_as_missing() -> None:
    assert second(CLOSING, SECOND) == Broken(words=True)
    assert second(FIRST, CLOSING) == Broken(words=True, task=True)


def test_older_prompts_except_the_task_may_be_in_a_file_named_by_the_request() -> None:
    spill = (SpilledText("words-1a.txt", f"[turn 1]\n{FIRST.text}\n\n[turn 2]\n{SECOND.text}"),)
    pointer = inject("reminder", "Earlier words are in s/words-1a.txt", turn=2)
    assert second(pointer, CLOSING, SECOND, spills=spill) == Broken()
    assert second(pointer, CLOSING, SECOND) == Broken(words=True)
    assert second(CLOSING, SECOND, spills=spill) == Broken(words=True), "nothing names the file"
    assert second(pointer, CLOSING, spills=spill) == Broken(task=True)


@pytest.mark.parametrize(
    "note",
    [
        inject("summary", "The parser stands, and its tests pass. Then more.", turn=1),
        said("…\nand its tests pass, all of them.\n…"),
        inject("task_card", "Earlier requests:\n- turn 1, finished: Write the parser.", turn=2),
        inject(
            "task_card", "Earlier requests:\n- turns 1 to 9: finished, but 3 to 4: open", turn=9
        ),
    ],
)
def test_a_finished_request_is_marked_by_a_closing_text_or_by_a_note(note: Text) -> None:
    assert second(FIRST, SECOND) == Broken(finished=True)
    assert second(FIRST, note, SECOND) == Broken()
    for words in (
        "- turns 1 to 9: finished, but 4: open; 1 to 2: asked back",
        "- turns 2 to 9: finished",
        "- turns 1 to 9: over, 3 of them not finished",
    ):
        card = inject("task_card", words, turn=9)
        assert second(FIRST, card, SECOND) == Broken(finished=True), words
    other = inject("summary", "Something was done.", turn=1)
    assert second(FIRST, other, SECOND) == Broken(finished=True)


def test_a_request_that_ended_with_a_question_or_was_cut_off_is_not_finished() -> None:
    for closing in ("Which grammar do you mean?", "[no answer]"):
        assert second(FIRST, SECOND, closing=said(closing)) == Broken()
