"""Lines that are read again become pointers before they are sent."""

from __future__ import annotations

import msgspec

from indwell.context import conversation as talk
from indwell.context.compaction.digesting.digest import digest
from indwell.context.compaction.digesting.repeats import repeats
from indwell.context.compaction.ladder import take
from indwell.context.compaction.presets import Collapse, Digest
from indwell.context.compaction.step import CompactionFacts, SummarySpan, View
from indwell.context.compaction.summarising.span import collapse
from indwell.context.compaction.summarising.summary import apply_summary
from indwell.context.conversation import Config, Conversation, prompt_tokens, system_block
from indwell.context.history import transcript
from indwell.context.pairing import tool_uses
from indwell.messages import Reply, ToolCall

BODY = [f"{at}\tvalue_{at} = compute_{at}(shop, cart, {at * 7})" for at in range(1, 61)]


def read(now: Conversation, number: int, lines: list[str], path: str = "shop/cart.py"):
    """Add one model call that reads a file; return the conversation before the next request."""
    arguments = msgspec.json.encode({"path": path}).decode()
    call = ToolCall(f"call_{number}", "read_file", arguments)
    now = talk.with_reply(now, Reply("", (call,), finish="tool_calls"), turn=1)
    text = "\n".join(lines)
    results = [talk.tool_result(use, text, is_error=False) for use in tool_uses(now.messages[-1])]
    return talk.with_results(now, results, turn=1)


def started() -> Conversation:
    empty = Conversation(Config("m", 32_000, 0), (system_block("You are an agent."),))
    return talk.with_input(empty, words="Mend the cart.", turn=1)


def pointed(now: Conversation) -> Conversation:
    step = repeats(now.messages)
    assert step is not None
    return take(now, step)


def newest(now: Conversation) -> str:
    return now.messages[-1].blocks[0].text


def test_only_lines_that_changed_are_shown_again():
    changed = [*BODY[:30], "31\tvalue_31 = 0", *BODY[31:]]
    now = pointed(read(read(started(), 1, BODY), 2, changed))
    assert newest(now).split("\n") == [
        "[lines 1 to 30: unchanged since they were read above]",
        "31\tvalue_31 = 0",
        "[lines 32 to 60: unchanged since they were read above]",
    ]


def test_the_original_stays_in_the_transcript():
    now = read(read(started(), 1, BODY), 2, BODY)
    assert transcript(pointed(now).messages, pointed(now).history) == now.messages


def test_lines_that_moved_or_belong_to_another_file_are_shown():
    moved = [f"{at + 1}\t{line.partition(chr(9))[2]}" for at, line in enumerate(BODY, 1)]
    assert repeats(read(read(started(), 1, BODY), 2, moved).messages) is None
    assert repeats(read(read(started(), 1, BODY), 2, BODY, path="b.py").messages) is None


def test_lines_whose_earlier_copy_is_gone_are_shown():
    now = read(started(), 1, BODY)
    for number in range(2, 14):
        now = read(now, number, [f"{at}\tother {number}" for at in range(200)], path=f"{number}.x")
    view = View(
        conversation=now, facts=CompactionFacts(), tokens=prompt_tokens(now), goal=2_400, must=True
    )
    step = digest(Digest(), view)
    assert step is not None
    shown = "\n".join(str(one) for one in take(now, step).messages)
    gone = [line for line in BODY if line.partition("\t")[2] not in shown]
    again = read(take(now, step), 99, BODY)
    step = repeats(again.messages)
    text = newest(take(again, step)) if step else newest(again)
    assert gone
    assert all(line in text for line in gone)


def test_a_short_repeat_is_shown_again():
    assert repeats(read(read(started(), 1, BODY[:3]), 2, BODY[:3]).messages) is None


def test_a_digest_restores_removed_lines_where_a_later_read_refers_to_them():
    now = read(started(), 1, BODY)
    for number in range(2, 14):
        now = read(now, number, [f"{at}\tother {number}" for at in range(200)], path=f"{number}.x")
    now = pointed(read(now, 20, BODY))
    view = View(
        conversation=now, facts=CompactionFacts(), tokens=prompt_tokens(now), goal=6_000, must=True
    )
    step = digest(Digest(), view)
    assert step is not None
    assert newest(take(now, step)) == "\n".join(BODY)


def changed(now: Conversation, number: int, name: str, **given: str) -> Conversation:
    """Add one model call that changes the file."""
    arguments = msgspec.json.encode({"path": "shop/cart.py", **given}).decode()
    call = ToolCall(f"call_{number}", name, arguments)
    now = talk.with_reply(now, Reply("", (call,), finish="tool_calls"), turn=1)
    results = [talk.tool_result(use, "done", is_error=False) for use in tool_uses(now.messages[-1])]
    return talk.with_results(now, results, turn=1)


def test_a_second_read_of_a_rewritten_file_shows_the_whole_file():
    now = changed(read(started(), 1, BODY), 2, "write_file", content="other")
    assert repeats(read(now, 3, BODY).messages) is None


def test_a_second_read_shows_a_line_that_an_edit_named_even_if_unchanged():
    old = BODY[9].partition("\t")[2]
    now = changed(read(started(), 1, BODY), 2, "edit_file", old_string=old, new_string="new = 1")
    lines = newest(pointed(read(now, 3, BODY))).split("\n")
    assert lines[1] == BODY[9]
    assert len(lines) == 3


def test_only_the_newest_text_of_a_line_counts_as_shown():
    other = [f"{at}\tother_{at}(something, else)" for at in range(1, 61)]
    now = read(read(started(), 1, BODY), 2, other)
    assert repeats(read(now, 3, BODY).messages) is None
    mixed = [*BODY[:30], *other[30:]]
    assert "[lines 31 to 60:" in newest(pointed(read(now, 3, mixed)))
    assert BODY[0] in newest(pointed(read(now, 3, mixed)))


def test_a_summary_of_the_original_lines_restores_them_at_their_repeats():
    now = read(started(), 1, BODY)
    for number in range(2, 8):
        now = read(now, number, [f"{at}\tother {number}" for at in range(200)], path=f"{number}.x")
    now = pointed(read(now, 20, BODY))
    view = View(
        conversation=now, facts=CompactionFacts(), tokens=prompt_tokens(now), goal=2_000, must=True
    )
    plan = collapse(Collapse(), view)
    assert isinstance(plan, SummarySpan)
    assert newest(take(now, apply_summary(now, plan, "They were read."))) == "\n".join(BODY)
