"""Cache marks of a request (H34): at most four, at the most valuable positions."""

from __future__ import annotations

from indwell.context.compaction.ladder import take
from indwell.context.compaction.step import CompactionStep, TokenRates
from indwell.context.conversation import Config, Conversation, counted, system_block
from indwell.context.history import MessageSplice
from indwell.context.request.assemble import marks_pay, place_anchors
from indwell.messages import Anchors, Message
from support.requests import READ, assistant, result, use, user

BIG = "row of a large file\n" * 1_000
EXCHANGE = (assistant(use()), user(result("text")))
LARGE = (assistant(use()), user(result(BIG)))


def conversation(*messages: Message) -> Conversation:
    config = Config("small", 1_000_000, 500)
    return Conversation(config, (system_block("Be exact."),), (READ,), messages)


def test_tools_system_a_large_result_and_the_newest_message_are_marked() -> None:
    whole = conversation(user("go"), *LARGE, *EXCHANGE, *EXCHANGE)
    assert place_anchors(whole) == Anchors(tools=True, system=True, messages=(2, 6))


def test_after_compaction_a_cache_anchor_moves_from_the_tools_to_the_rewritten_part() -> None:
    whole = conversation(user("go"), *EXCHANGE, *EXCHANGE, *LARGE, *EXCHANGE, *EXCHANGE)
    shorter = take(
        whole, CompactionStep("regions", (MessageSplice(0, 3, (user("a summary " * 2_000),)),))
    )
    assert place_anchors(shorter) == Anchors(tools=False, system=True, messages=(0, 4, 8))


def test_a_small_rewritten_beginning_gets_no_cache_mark() -> None:
    whole = conversation(user("go"), *EXCHANGE, *EXCHANGE, *EXCHANGE)
    shorter = take(whole, CompactionStep("regions", (MessageSplice(0, 3, (user("a summary"),)),)))
    assert place_anchors(shorter) == Anchors(tools=True, system=True, messages=(4,))


def test_a_round_larger_than_the_endpoints_lookback_keeps_the_earlier_cache_anchor() -> None:
    wide = (
        assistant(*(use(id_=f"c{n}") for n in range(25))),
        user(*(result("ok", id_=f"c{n}") for n in range(25))),
    )
    assert place_anchors(conversation(user("go"), *EXCHANGE, *wide)).messages == (2, 4)
    assert place_anchors(conversation(user("go"), *EXCHANGE, *EXCHANGE)).messages == (4,)


def test_with_an_expired_cache_and_no_call_to_come_messages_get_no_mark() -> None:
    whole = conversation(user("go"), *LARGE, *EXCHANGE)
    last = place_anchors(whole, idle_s=301, calls_to_come=0)
    assert last == Anchors(tools=True, system=True)
    assert place_anchors(whole, idle_s=301) == place_anchors(whole)


def test_the_last_request_reads_the_cache_and_writes_no_new_cache_entry() -> None:
    whole = conversation(user("go"), *EXCHANGE, *EXCHANGE)
    assert place_anchors(whole).messages == (4,)
    assert place_anchors(whole, idle_s=10, calls_to_come=0).messages == (2,)
    assert place_anchors(conversation(user("go")), calls_to_come=0).messages == ()


def test_the_place_of_the_last_mark_gets_no_mark_when_the_cache_has_expired() -> None:
    wide = (
        assistant(*(use(id_=f"c{n}") for n in range(25))),
        user(*(result("ok", id_=f"c{n}") for n in range(25))),
    )
    whole = conversation(user("go"), *EXCHANGE, *wide)
    assert place_anchors(whole, idle_s=299.0).messages == (2, 4)
    assert place_anchors(whole, idle_s=300.0).messages == (4,)


def test_a_request_never_has_more_than_four_cache_marks() -> None:
    exchanges = (*LARGE, *EXCHANGE, *LARGE, *EXCHANGE) * 3
    whole = conversation(user("go"), *exchanges)
    for stop in range(1, len(whole.messages), 2):
        part = conversation(*whole.messages[: stop + 2])
        shorter = take(
            part, CompactionStep("snip", (MessageSplice(0, stop, part.messages[:stop]),))
        )
        marks = place_anchors(counted(shorter))
        assert marks.tools + marks.system + len(marks.messages) <= 4
        assert marks == place_anchors(shorter)


def test_marks_pay_only_if_the_price_of_a_read_is_clearly_below_the_input() -> None:
    whole = conversation(user("go"), *EXCHANGE)
    marked = place_anchors(whole)
    dear_reads = TokenRates(input=1.0, cached=1.0, cache_write=1.25)
    assert marked.messages
    assert place_anchors(whole, rates=dear_reads) == Anchors()
    assert place_anchors(whole, rates=TokenRates(input=0.0, cached=0.0, cache_write=0.0)) == marked
    assert marks_pay(TokenRates(cache_write=1.0, cached=0.5), for_an_hour=False)
    only_input_is_known = TokenRates(input=3.0, cached=3.0, cache_write=3.0)
    assert place_anchors(whole, rates=only_input_is_known) == marked


def test_the_chance_of_a_later_call_decides_and_an_hour_needs_a_higher_chance() -> None:
    rates = TokenRates()
    for for_an_hour, least in ((False, 0.25 / 1.15), (True, 1.0 / 1.9)):
        assert marks_pay(rates, for_an_hour=for_an_hour, chance=least + 0.01)
        assert not marks_pay(rates, for_an_hour=for_an_hour, chance=least - 0.01)
