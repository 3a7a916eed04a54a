"""The work of a new turn, in function calls and bytes, does not grow with the conversation."""

from __future__ import annotations

import asyncio
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

from indwell.context.compaction.presets import DEFAULT
from indwell.context.compaction.step import CompactionFacts, nothing_pays
from indwell.context.conversation import Config, Conversation, counted, with_input
from indwell.context.request.assemble import assemble
from indwell.messages import Message
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import SENT_B, RequestBody, RequestEncoder
from support.requests import assistant, result, use, user

MARKS = Dialect(cache_marks=True, cache_key=True)
FEW, MANY = 100, 2_000  # these are numbers of exchanges


def exchange(number: int) -> tuple[Message, Message]:
    text = "\n".join(f"{line} value_{number}_{line} = compute()" for line in range(20))
    return assistant(use(id_=f"c{number}")), user(result(text, id_=f"c{number}"))


def long_conversation(n_exchanges: int, share: float) -> Conversation:
    """Return a conversation that fills a share of its budget, counted up to the newest exchange."""
    said = [user("begin"), *(one for number in range(n_exchanges) for one in exchange(number))]
    draft = counted(Conversation(Config("small", 1 << 60, 0), (), messages=tuple(said)))
    window = int(draft.tally.tokens / share)
    more = (*said, assistant("ok"), user("and"), assistant("yes"))
    return Conversation(Config("small", window, 0), (), messages=more, tally=draft.tally)


def n_calls(work: Callable[[], Any]) -> int:
    """Return the number of functions that run, including C functions."""
    count = 0

    def hear(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def of_a_turn(n_exchanges: int, share: float) -> int:
    """Return the number of function calls for compacting, assembling and encoding a request."""
    conversation = long_conversation(n_exchanges, share)
    encoder = RequestEncoder()
    encoder.body(assemble(conversation_of_before(conversation)), MARKS)

    def turn() -> None:
        nothing_pays(conversation, DEFAULT, CompactionFacts(incoming=10))
        encoder.body(assemble(with_input(conversation, words="go on", turn=9)), MARKS)

    return n_calls(turn)


def conversation_of_before(conversation: Conversation) -> Conversation:
    """Return the conversation of the last request."""
    return Conversation(
        conversation.config, (), messages=conversation.messages[:-1], tally=conversation.tally
    )


# Visiting each message would take 4,000 steps. Sums and digests are stored at intervals.
def test_the_work_of_a_turn_does_not_grow_with_the_conversation() -> None:
    for share in (0.3, 0.6):
        assert of_a_turn(MANY, share) < of_a_turn(FEW, share) + MANY / 2


def test_in_a_long_turn_the_tally_is_extended_each_round() -> None:
    conversation = Conversation(Config("small", 1 << 60, 0), (), messages=(user("begin"),))
    for number in range(5):
        asked, answered = exchange(number)
        messages = (*conversation.messages, asked)
        conversation = counted(Conversation(conversation.config, (), messages=messages))
        assert conversation.tally.n == len(messages) - 1
        messages = (*conversation.messages, answered)
        conversation = counted(Conversation(conversation.config, (), messages=messages))


async def sent(body: RequestBody) -> int:
    return sum([len(piece) async for piece in body])


def test_a_request_body_is_sent_without_a_second_copy() -> None:
    encoder, request = RequestEncoder(), assemble(long_conversation(FEW * 8, 0.3))
    encoder.body(request, MARKS)
    tracemalloc.start()
    n_sent = asyncio.run(sent(encoder.body(request, MARKS)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_sent > 8 * SENT_B
    assert peak < 5 * SENT_B
