from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.context.pairing import interrupted_result, problems, repair
from indwell.messages import Block, Message, Text, Thinking, ToolResult, ToolUse
from indwell.providers.scripted import check_legal
from support.requests import assistant, meta, request, result, use, user, words

ids = st.sampled_from(["a", "b", "c"])
said = st.sampled_from(["one", "two", "three"]).map(words)
thought = st.just(Thinking("hm", meta("hm", "assistant")))
uses = ids.map(lambda id_: use(id_=id_))
results = ids.map(lambda id_: result("r", id_=id_))


def of(role: str, blocks: list[Block]) -> Message:
    # A conversation never has a message with only reasoning.
    spoken = [block for block in blocks if not isinstance(block, Thinking)]
    return (user if role == "user" else assistant)(*(blocks if spoken else []))


messages = st.one_of(
    st.lists(said | results, max_size=4).map(lambda blocks: of("user", blocks)),
    st.lists(said | uses | thought, max_size=4).map(lambda blocks: of("assistant", blocks)),
)
conversations = st.lists(messages, max_size=8).map(tuple)


def user_texts(of_messages: tuple[Message, ...]) -> list[str]:
    return [
        block.text
        for message in of_messages
        if message.role == "user"
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "user"
    ]


@settings(deadline=None, max_examples=5 * settings().max_examples)
@given(conversations)
def test_any_messages_can_be_repaired_and_the_repair_is_reported(
    broken: tuple[Message, ...],
) -> None:
    repaired, notes = repair(broken)
    assert problems(repaired) == ()
    assert repair(repaired) == (repaired, ())
    assert bool(notes) == bool(problems(broken))
    assert (repaired == broken) or notes
    assert user_texts(repaired) == user_texts(broken)
    if repaired:
        waiting = () if repaired[-1].role == "user" else (user("go on"),)
        check_legal(request(*repaired, *waiting))


@settings(deadline=None, max_examples=3 * settings().max_examples)
@given(conversations)
def test_a_repair_adds_no_call_and_only_reports_interruptions(
    broken: tuple[Message, ...],
) -> None:
    before = [block for message in broken for block in message.blocks]
    after = [block for message in repair(broken)[0] for block in message.blocks]
    assert [one for one in after if isinstance(one, ToolUse) and one not in before] == []
    made = [one for one in after if isinstance(one, ToolResult) and one not in before]
    assert all(one.text.startswith("[interrupted") and one.is_error for one in made)


def check(before: tuple[Message, ...], after: tuple[Message, ...], *notes: str) -> None:
    assert problems(before) != ()
    assert repair(before) == (after, notes)


GO = user("go")


def test_a_call_without_a_result_was_interrupted() -> None:
    asked = use(id_="a")
    check(
        (GO, assistant(asked)),
        (GO, assistant(asked), user(interrupted_result(asked))),
        "1 call(s) without a result marked as interrupted",
    )


def test_a_result_without_its_call_is_dropped() -> None:
    check(
        (GO, assistant("hi"), user(result("r", id_="x"), "on")),
        (GO, assistant("hi"), user("on")),
        "a result without its call was dropped",
    )


def test_results_come_first_and_in_the_order_of_their_calls() -> None:
    calls = assistant(use(id_="a"), use(id_="b"))
    one, two = result("1", id_="a"), result("2", id_="b")
    check(
        (GO, calls, user("on", two, one)),
        (GO, calls, user(one, two, "on")),
        "messages or results did not stand where they belong",
    )


def test_the_first_of_two_calls_with_one_id_stays() -> None:
    first, second = use("read_file", id_="a"), use("grep", id_="a")
    check(
        (GO, assistant(first, second), user(result("1", id_="a"))),
        (GO, assistant(first), user(result("1", id_="a"))),
        "a call with the id of another one was dropped",
    )


def test_a_conversation_without_its_beginning_gets_a_note_about_the_missing_part() -> None:
    (head, reply), notes = repair((assistant("hi"),))
    assert (head.role, reply) == ("user", assistant("hi"))
    assert "could not be read" in head.blocks[0].text
    assert notes == ("the conversation began with a reply; what came before it is missing",)


def test_repair_returns_valid_messages_unchanged() -> None:
    fine = (GO, assistant("I look.", use(id_="a")), user(result("1", id_="a"), "on"))
    assert repair(fine) == (fine, ())
