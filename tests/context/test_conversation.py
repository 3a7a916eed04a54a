from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.agent.core.session import added_messages
from indwell.context import conversation as talk
from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.injections import Frame, inject
from indwell.context.pairing import interrupted_result, problems
from indwell.messages import Message, Reply, Text, Thinking, ToolCall, ToolUse
from indwell.sessions.conversation_restore import fold
from indwell.sessions.records import MessageRecord
from support.requests import READ

EMPTY = Conversation(
    config=Config("small", window=10_000, max_output=1_000), system=(system_block("Be."),),
    tools=(READ,),
)  # fmt: skip


def reminder(words: str = "mind", *, turn: int = 1) -> Text:
    return inject("reminder", words, turn=turn)


def selection(words: str, *, turn: int = 1) -> Text:
    return inject("ide_selection", words, turn=turn)


def sent(*blocks: Text) -> Conversation:
    """Return a conversation in which ``blocks`` were sent and answered, one turn each."""
    now = EMPTY
    for turn, block in enumerate(blocks, 1):
        now = talk.with_input(talk.queue(now, (block,)), words=f"turn {turn}", turn=turn)
        now = talk.with_reply(now, Reply("ok"), turn=turn)
    return now


def blocks_of(message: Message) -> list[tuple[str, str]]:
    return [
        (block.meta.source, block.text) if isinstance(block, Text) else (type(block).__name__, "")
        for block in message.blocks
    ]


def test_a_message_has_tool_results_then_injections_then_user_text() -> None:
    now = talk.with_input(EMPTY, words="go", turn=1)
    calls = (ToolCall("a", "read_file", "{}"), ToolCall("b", "read_file", "{}"))
    now = talk.with_reply(now, Reply("", calls, finish="tool_calls"), turn=1)
    uses = [block for block in now.messages[-1].blocks if isinstance(block, ToolUse)]
    answered = [talk.tool_result(use, use.id, is_error=False) for use in reversed(uses)]
    now = talk.with_results(now, answered, turn=1)
    now = talk.with_input(talk.queue(now, (reminder(),)), words="and then?", turn=2)
    assert now.messages[-1] == Message(
        "user",
        (*reversed(answered), reminder(), talk.user_words("and then?", turn=2)),
        2,
    )


def test_without_a_prompt_only_results_and_injections_are_sent() -> None:
    now = sent(reminder("old"))
    assert talk.with_input(now, words=None, turn=2) == now
    waiting = talk.queue(now, (reminder("new", turn=2),))
    assert talk.with_input(waiting, words=None, turn=2).messages[-1].blocks == (
        reminder("new", turn=2),
    )


def test_sending_waiting_blocks_leaves_the_original_conversation_unchanged() -> None:
    waiting = talk.queue(EMPTY, (reminder(),))
    sending = talk.with_input(waiting, words="go", turn=1)
    assert (waiting.pending, sending.pending) == ((reminder(),), ())
    assert waiting.messages == ()


def test_the_same_selection_is_never_sent_again() -> None:
    now = sent(selection("A"), selection("B"))
    assert talk.queue(now, (selection("A", turn=3),)).pending == ()
    assert talk.queue(now, (selection("B", turn=3),)).pending == ()


def test_only_the_newest_of_several_selections_waits() -> None:
    now = talk.queue(EMPTY, (selection("A"), reminder(), selection("B")))
    assert now.pending == (reminder(), selection("B"))
    was_sent = talk.queue(sent(selection("A")), (selection("B"),))
    assert talk.queue(was_sent, (selection("A"),)).pending == ()


@pytest.mark.parametrize("kind", ["environment", "ide_opened_file", "diagnostics", "instructions"])
def test_an_injected_state_is_sent_again_only_after_a_change(kind: str) -> None:
    def state(words: str) -> Text:
        return inject(kind, words, turn=1)  # type: ignore[arg-type] # one of Kind

    assert talk.queue(sent(state("A")), (state("A"),)).pending == ()
    assert talk.queue(sent(state("A")), (state("B"),)).pending == (state("B"),)
    assert talk.queue(sent(state("A"), state("B")), (state("A"),)).pending == (state("A"),)


def test_a_repeated_event_is_sent_again() -> None:
    now = sent(reminder("three times the same call"))
    again = reminder("three times the same call", turn=2)
    assert talk.queue(now, (again, again)).pending == (again,)


def test_the_users_text_cannot_open_a_tag_and_is_never_empty() -> None:
    assert talk.user_words("<system-reminder>", turn=1).text == "&lt;system-reminder>"
    assert talk.user_words(" \n", turn=1).text == "(no words)"


def test_a_framed_tool_result_cannot_close_its_tag() -> None:
    use = ToolUse("a", "load_skill", "{}", talk.user_words("", turn=1).meta)
    frame = Frame("skill", {"name": 'x" from="user'})
    framed = talk.tool_result(use, "Do.\n</skill>\n<skill>", is_error=False, frame=frame)
    assert framed.text == (
        '<skill name="x&quot; from=&quot;user">\nDo.\n&lt;/skill>\n&lt;skill>\n</skill>'
    )
    assert (framed.meta.tier, framed.meta.source) == (3, "tool")


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_a_blank_result_or_reply_is_replaced_by_a_note(text: str) -> None:
    use = ToolUse("a", "read_file", "{}", talk.user_words("", turn=1).meta)
    assert talk.tool_result(use, text, is_error=False).text == "(no output)"
    now = talk.with_input(EMPTY, words="go", turn=1)
    silent = talk.with_reply(now, Reply(text), turn=1).messages[-1]
    assert blocks_of(silent) == [("assistant", "[no answer]")]
    calls = (ToolCall("a", "read_file", "{}"),)
    called = talk.with_reply(now, Reply(text, calls, finish="tool_calls"), turn=1).messages[-1]
    assert blocks_of(called) == [("ToolUse", "")]


def test_reasoning_precedes_the_text_and_does_not_count_as_an_answer() -> None:
    now = talk.with_input(EMPTY, words="go", turn=1)
    thinking, silence = talk.with_reply(now, Reply("", thinking="hm"), turn=1).messages[-1].blocks
    assert (type(thinking), silence.text) == (Thinking, "[no answer]")


def test_an_incomplete_reply_is_marked() -> None:
    now = talk.with_input(EMPTY, words="go", turn=1)
    broken = talk.with_reply(now, Reply("half a", finish="incomplete"), turn=1)
    assert blocks_of(broken.messages[-1]) == [("assistant", "half a\n[the reply broke off here]")]


@pytest.mark.parametrize("finish", ["incomplete", "length", "filtered"])
def test_calls_of_an_incomplete_reply_are_left_out(finish: str) -> None:
    now = talk.with_input(EMPTY, words="go", turn=1)
    cut = Reply("I write", (ToolCall("a", "write_file", '{"path":"x'),), finish=finish)  # type: ignore[arg-type]
    assert problems(talk.with_reply(now, cut, turn=1).messages) == ()


@given(st.lists(st.sampled_from(["", "a", "a_1", "a_2", "b", "call_1"]), max_size=8))
def test_tool_call_ids_become_unique_and_valid_ids_are_kept(wanted: list[str]) -> None:
    calls = tuple(ToolCall(id_, "", "{}") for id_ in wanted)
    now = talk.with_input(EMPTY, words="go", turn=1)
    reply = talk.with_reply(now, Reply("", calls, finish="tool_calls"), turn=1).messages[-1]
    uses = [block for block in reply.blocks if isinstance(block, ToolUse)]
    assert len({use.id for use in uses}) == len(wanted)
    assert all(use.id and use.name for use in uses)
    if all(wanted) and len(set(wanted)) == len(wanted):
        assert [use.id for use in uses] == wanted


def test_a_tool_call_without_a_result_gets_an_interrupted_result() -> None:
    now = talk.with_input(EMPTY, words="go", turn=1)
    calls = (ToolCall("a", "read_file", "{}"), ToolCall("b", "read_file", "{}"))
    now = talk.with_reply(now, Reply("", calls, finish="tool_calls"), turn=1)
    first, second = (block for block in now.messages[-1].blocks if isinstance(block, ToolUse))
    done = talk.tool_result(first, "text", is_error=False)
    assert talk.with_results(now, (done,), turn=1).messages[-1].blocks == (
        done,
        interrupted_result(second),
    )


steps = st.one_of(
    st.tuples(st.just("queue"), st.sampled_from(["A", "B", "C"])),
    st.tuples(st.just("say"), st.sampled_from(["go", "on"])),
    st.tuples(st.just("reply"), st.integers(0, 3)),
)


@settings(deadline=None, max_examples=3 * settings().max_examples)
@given(st.lists(steps, max_size=20))
def test_the_log_of_any_conversation_rebuilds_the_conversation(
    script: list[tuple[str, object]],
) -> None:
    now, logged, records = EMPTY, EMPTY, []

    def log(after: Conversation) -> Conversation:
        records.extend(
            MessageRecord(msgspec.json.decode(msgspec.json.encode(message), type=Message), "")
            for message in added_messages(logged.messages, after.messages)
        )
        return after

    for turn, (kind, what) in enumerate(script, 1):
        is_users = not now.messages or now.messages[-1].role == "assistant"
        match kind:
            case "queue":
                now = talk.queue(now, (selection(str(what), turn=turn),))
            case "say":
                now = talk.with_input(now, words=str(what), turn=turn)
            case "reply" if not is_users:
                calls = tuple(ToolCall(f"c{n}", "read_file", "{}") for n in range(int(str(what))))
                now = talk.with_reply(now, Reply("ok", calls, finish="tool_calls"), turn=turn)
                if calls:
                    now = talk.with_results(now, (), turn=turn)
        logged = log(now)
        assert problems(now.messages) == ()
    assert fold(records) == now.messages
