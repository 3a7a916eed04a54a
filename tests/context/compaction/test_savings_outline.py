from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.context.compaction.digesting.digest import digest, most_freed
from indwell.context.compaction.ladder import next_action, take
from indwell.context.compaction.presets import DEFAULT, PRESETS, Digest
from indwell.context.compaction.step import (
    LEAST_SHARE,
    CompactionFacts,
    Outline,
    View,
    nothing_can_pay,
    nothing_pays,
    refusal,
    tail_of,
)
from indwell.context.conversation import (
    Config,
    Conversation,
    Sums,
    Tally,
    added,
    counted,
    prompt_tokens,
    system_block,
)
from indwell.context.history import freed
from indwell.messages import Message
from support.requests import assistant, result, use, user

SIZES = (1, 40, 900)  # a result has this many lines


def exchange(size: int, words: str) -> tuple[Message, Message]:
    text = "\n".join(f"{number} value_{number} = compute({size})" for number in range(size))
    return assistant(*([words] if words else []), use()), user(result(text))


exchanges = st.builds(
    exchange, st.sampled_from(SIZES), st.sampled_from(["", " ", "I look.", "w " * 90])
)
talks = st.builds(
    lambda words: (assistant("Done."), user("go on " * words)), st.sampled_from([1, 80, 2_000])
)


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Draw a conversation of up to 240 messages, counted up to some message."""
    script = draw(st.lists(st.one_of(exchanges, talks), min_size=1, max_size=12))
    messages = (user("begin"), *(one for pair in script * draw(st.integers(1, 10)) for one in pair))
    window = draw(st.sampled_from([8_000, 32_000, 128_000, 400_000]))
    config = Config("small", window, window // 16)
    known = draw(st.integers(0, len(messages)))
    begun = counted(Conversation(config, (system_block("Be brief."),), messages=messages[:known]))
    return msgspec.structs.replace(begun, messages=messages)


def walked(messages: tuple[Message, ...]) -> Sums:
    sums = Sums()
    for message in messages:
        sums = added(sums, message)
    return sums


@settings(deadline=None, max_examples=60)
@given(conversations(), st.data())
def test_the_tally_bounds_agree_with_a_full_search(
    conversation: Conversation, data: st.DataObject
) -> None:
    messages, outline = conversation.messages, Outline(conversation)
    at = data.draw(st.integers(0, len(messages)))
    assert outline.before(at) == walked(messages[:at])
    assert outline.whole == walked(messages)
    tokens = data.draw(st.integers(0, outline.whole.tokens + 10))
    places = range(len(messages) + 1)
    fitting = (one for one in places if walked(messages[one:]).tokens <= tokens)
    assert outline.tail(tokens) == next(fitting)


def filling(conversation: Conversation, share: float) -> Conversation:
    """Return the conversation with a window of which it fills the given share."""
    budget = int(prompt_tokens(conversation) / share)
    config = Config("small", budget + 100, 100)
    return msgspec.structs.replace(conversation, config=config)


@settings(deadline=None, max_examples=120)
@given(
    conversation=st.builds(filling, conversations(), st.floats(0.5, 0.89)),
    share=st.floats(0.0, 1.0),
    is_cached=st.booleans(),
)
def test_the_engine_takes_no_step_if_no_step_can_pay(
    conversation: Conversation, share: float, *, is_cached: bool
) -> None:
    words = user("and then " * int(share * prompt_tokens(conversation)))
    messages = (words, assistant("Yes."), *conversation.messages)
    wordy = msgspec.structs.replace(conversation, messages=messages, tally=Tally())
    for one in (conversation, filling(wordy, 0.6)):
        if nothing_can_pay(one, DEFAULT, CompactionFacts(is_cached=is_cached)):
            assert next_action(one, DEFAULT, CompactionFacts(is_cached=is_cached)) is None


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.lists(st.one_of(exchanges, talks), max_size=8), min_size=1, max_size=3),
    st.floats(0.1, 1.0),
)
def test_no_digest_frees_more_than_its_bound(
    parts: list[list[tuple[Message, Message]]], aim: float
) -> None:
    now = Conversation(Config("small", 32_000, 100), (), messages=(user("begin"),))
    for part in parts:
        messages = (*now.messages, *(one for pair in part for one in pair))
        now = counted(msgspec.structs.replace(now, messages=messages, tally=Tally()))
        tokens = prompt_tokens(now)
        view = View(now, CompactionFacts(), tokens, goal=int(aim * tokens), must=True)
        cut = tail_of(view, Outline(now), int(view.budget * Digest().tail_share))
        step = digest(Digest(), view)
        if step is not None:
            assert freed(now.messages, step.splices) <= most_freed(now.messages[:cut])
            now = take(now, step)


def test_a_conversation_of_user_text_has_no_step_that_saves_money() -> None:
    talk = (user("go " * 6_000), assistant("Done."), user("and " * 6_000), assistant("Yes."))
    conversation = Conversation(Config("small", 20_000, 500), (), messages=(*talk, user("on")))
    budget = conversation.config.budget
    assert LEAST_SHARE * budget > Outline(conversation).whole.loose
    assert Outline(conversation).whole.tokens > budget / 2
    assert nothing_can_pay(conversation, DEFAULT, CompactionFacts())
    assert not nothing_can_pay(conversation, DEFAULT, CompactionFacts(force=True))


CHAT = (*(one for _ in range(200) for one in (user("and"), assistant("word " * 70))), user("on"))
"""By its sums, much of this conversation could be removed, but each reply has one line, which
stays.
"""


def grown(conversation: Conversation, n_words: int) -> Conversation:
    more = (assistant("Done."), user("word " * n_words))
    return msgspec.structs.replace(conversation, messages=(*conversation.messages, *more))


def chat(share: float) -> Conversation:
    return filling(Conversation(Config("small", 1, 0), (), messages=CHAT), share)


def test_a_refused_compaction_is_tried_again_only_after_the_prompt_has_grown() -> None:
    conversation = chat(0.7)
    assert not nothing_pays(conversation, DEFAULT, CompactionFacts())
    assert next_action(conversation, DEFAULT, CompactionFacts()) is None
    refused = refusal(conversation, DEFAULT, CompactionFacts())
    little, much = grown(conversation, 100), grown(conversation, 1_000)
    assert nothing_pays(little, DEFAULT, CompactionFacts(), refused)
    assert not nothing_pays(much, DEFAULT, CompactionFacts(), refused)


def test_a_refused_step_is_tried_again_after_cache_loss_or_in_another_conversation() -> None:
    conversation = chat(0.7)
    refused = refusal(conversation, DEFAULT, CompactionFacts())
    assert nothing_pays(conversation, DEFAULT, CompactionFacts(), refused)
    assert not nothing_pays(conversation, DEFAULT, CompactionFacts(is_cached=False), refused)
    shorter = msgspec.structs.replace(conversation, messages=CHAT[2:])
    assert not nothing_pays(shorter, DEFAULT, CompactionFacts(), refused)
    assert not nothing_pays(filling(conversation, 0.71), DEFAULT, CompactionFacts(), refused)


def test_steps_that_need_not_save_money_are_never_refused() -> None:
    assert refusal(chat(0.95), DEFAULT, CompactionFacts()) is None
    assert not nothing_pays(chat(0.95), DEFAULT, CompactionFacts())
    assert refusal(chat(0.7), PRESETS["auto-b"], CompactionFacts()) is None
