from __future__ import annotations

from indwell.context.history import (
    boundaries,
    is_boundary,
    snapped,
    tail_start,
    tokens_of,
)
from support.long_talks import code, empty, turned


def test_a_call_is_never_cut_from_its_result() -> None:
    now = turned(turned(empty(), 1, ["a", "b"], reply="Done."), 2, ["c"])
    roles = [message.role[0] for message in now.messages]
    assert "".join(roles) == "uauauauau"
    assert boundaries(now.messages, 0, 9) == (0, 1, 3, 5, 6, 7, 9)
    assert [snapped(now.messages, at) for at in (2, 4, 6, 99)] == [1, 3, 6, 9]


def test_the_conversation_is_not_cut_after_an_unanswered_call() -> None:
    messages = turned(empty(), 1, ["a"]).messages[:2]
    assert not is_boundary(messages, 2)
    assert snapped(messages, 2) == 1


def test_the_tail_has_the_newest_turns_up_to_a_number_of_tokens() -> None:
    now = empty()
    for turn in range(1, 9):
        now = turned(now, turn, ["short"], reply="Done.")
    starts = [at for at, message in enumerate(now.messages) if at % 4 == 0]
    assert len(starts) == 8
    assert tail_start(now.messages, turns=4, tokens=0, window=30_000) == starts[4]
    assert tail_start(now.messages, turns=4, tokens=20_000, window=900_000) == 0


def test_the_kept_tail_of_a_long_turn_takes_at_most_a_quarter_of_the_window() -> None:
    now = turned(empty(), 1, [code(60)] * 20)
    start = tail_start(now.messages, turns=4, tokens=0, window=30_000)
    assert start == len(now.messages) - 8
    small = tail_start(now.messages, turns=4, tokens=20_000, window=8_000)
    assert tokens_of(now.messages[small:]) <= 2_000 < tokens_of(now.messages[small - 2 :])


def test_the_newest_exchange_is_kept_at_any_size() -> None:
    now = turned(empty(), 1, ["a", code(900)])
    assert tail_start(now.messages, turns=4, tokens=20_000, window=4_000) == 3
