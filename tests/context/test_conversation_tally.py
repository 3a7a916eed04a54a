from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.context.conversation import (
    Config,
    Conversation,
    Tally,
    counted,
    estimated_tokens,
    extended,
)
from indwell.context.injections import inject
from indwell.context.pairing import problems
from indwell.context.request.assemble import place_anchors
from indwell.context.tokens import message_tokens
from indwell.messages import Message
from support.requests import assistant, result, use, user

BIG = "row of a large file\n" * 1_000
EXCHANGE = (assistant(use()), user(result("text")))
MILESTONE = (assistant(use()), user(result(BIG)))

exchanges = st.lists(st.sampled_from([EXCHANGE, MILESTONE, (assistant("ok"), user("on"))]))


def conversation(*messages: Message) -> Conversation:
    return Conversation(Config("small", 1_000_000, 500), (), messages=messages)


@settings(deadline=None)
@given(exchanges, st.data())
def test_a_tally_extended_in_steps_equals_a_tally_of_the_whole_conversation(
    script: list[tuple[Message, Message]], data: st.DataObject
) -> None:
    messages = (user("go"), *(message for pair in script for message in pair))
    tally = Tally()
    for stop in sorted(data.draw(st.lists(st.integers(0, len(messages)), max_size=5))):
        tally = extended(tally, messages[:stop])
    tally = extended(tally, messages)
    assert tally == extended(Tally(), messages)
    assert (tally.n, tally.tokens) == (
        len(messages) - 1,
        sum(map(message_tokens, messages[:-1])),
    )


@given(exchanges)
def test_a_tally_does_not_change_what_is_computed_from_a_conversation(
    script: list[tuple[Message, Message]],
) -> None:
    plain = conversation(user("go"), *(message for pair in script for message in pair))
    known = counted(plain)
    assert estimated_tokens(known) == estimated_tokens(plain)
    assert place_anchors(known) == place_anchors(plain)
    assert problems(known.messages, start=known.tally.n) == problems(plain.messages)


def test_the_tally_stops_before_invalid_messages() -> None:
    orphan = (user("go"), assistant(use()), user("no result"), assistant("ok"), user("on"))
    tally = extended(Tally(), orphan)
    assert tally == Tally()
    assert problems(orphan, start=tally.n) == problems(orphan) != ()


def test_an_orphaned_result_after_a_valid_beginning_is_found() -> None:
    sound = (user("go"), *EXCHANGE, assistant("ok"), user("on"))
    tally = extended(Tally(), sound)
    broken = (*sound, assistant(use(id_="c9")), user("no result"))
    assert tally.n == 4
    assert problems(broken, start=tally.n) == ("asked for ('c9',) but answered () in turn 1",)


def test_replaced_messages_invalidate_the_tally() -> None:
    first = (user("go"), *EXCHANGE, assistant("ok"), user("on"))
    other = (user("went"), assistant("fine"), user("a"), assistant("b"), user("c"), *MILESTONE)
    assert extended(extended(Tally(), first), other) == extended(Tally(), other)
    assert extended(extended(Tally(), first), first[:2]) == extended(Tally(), first[:2])


def test_the_tally_counts_a_message_only_once_it_is_final() -> None:
    before = counted(conversation(user("go"), *EXCHANGE))
    grown = msgspec.structs.replace(
        before, messages=(*before.messages[:-1], user(result("text"), "and more"))
    )
    assert before.tally.n == 2
    assert estimated_tokens(grown) == estimated_tokens(conversation(*grown.messages))


def test_the_newest_text_of_a_source_and_every_selection_are_known() -> None:
    marks = [inject("ide_selection", text, turn=1) for text in ("one", "two")]
    states = [inject("environment", text, turn=1) for text in ("main", "topic")]
    messages = (
        user(marks[0], states[0]), assistant("ok"), user(marks[1], states[1]), assistant("ok"),
        user("on"),
    )  # fmt: skip
    tally = extended(Tally(), messages)
    assert tally.once == {block.text for block in marks}
    assert tally.newest["environment"] == states[1].text
