"""A log with any rewinds restores the same conversation as a tree of turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.agent.restore import past_of
from indwell.context.history import MessageSplice, transcript
from indwell.errors import SessionError
from indwell.messages import Usage
from indwell.sessions.branches import (
    last_begun,
    last_ended,
    lived,
    model_of,
    turn_ends,
    up_to,
)
from indwell.sessions.conversation_restore import folded
from indwell.sessions.records import CompactionRecord, Record, Rewound, TurnEndRecord
from support.branch_logs import AT, PREFIX, STARTED, a_turn, said, words_of

THREE = (STARTED, PREFIX, *a_turn(1), *a_turn(2, model="large"), *a_turn(3))


def test_without_a_rewind_all_records_are_the_conversation() -> None:
    assert lived(THREE) is THREE


def test_a_later_rewind_can_return_to_earlier_rewound_turns() -> None:
    once = (*THREE, Rewound(1, "small", AT), *a_turn(4))
    assert words_of(once) == ["words 1", "reply 1", "words 4", "reply 4"]
    twice = (*once, Rewound(3, "small", AT), *a_turn(5))
    assert words_of(twice) == [f"{what} {n}" for n in (1, 2, 3, 5) for what in ("words", "reply")]
    empty = (*twice, Rewound(0, "", AT))
    assert words_of(empty) == []
    assert past_of(empty).prefix == PREFIX


def test_only_existing_turns_can_be_the_target_of_a_rewind() -> None:
    records = (*THREE, Rewound(1, "small", AT), *a_turn(4))
    assert words_of(up_to(records, 2)) == ["words 1", "reply 1", "words 2", "reply 2"]
    assert words_of(up_to(records, 4)) == ["words 1", "reply 1", "words 4", "reply 4"]
    assert words_of(up_to(records, 0)) == []
    with pytest.raises(SessionError, match="the session has no turn 7; its turns are 1 to 4"):
        up_to(records, 7)
    with pytest.raises(SessionError, match="no turn 1; it has none yet"):
        up_to((STARTED,), 1)


def test_a_turn_ends_before_records_made_between_two_turns() -> None:
    splice = MessageSplice(0, 2, (said("user", "sum", 0).message,))
    between = CompactionRecord(0, "collapse", (splice,), 90, 30, (), AT, live=4)
    records = (*THREE[:12], between, *a_turn(3))
    assert words_of(up_to(records, 2)) == ["words 1", "reply 1", "words 2", "reply 2"]
    assert words_of(up_to(records, 3))[0] == "sum"


def test_a_branch_of_a_killed_turn_includes_the_recorded_part() -> None:
    records = (STARTED, *a_turn(1), *a_turn(2, ends=False))
    assert (last_ended(records), last_begun(records)) == (1, 2)
    assert words_of(up_to(records, 2))[-1] == "reply 2"
    assert past_of((*records, Rewound(1, "small", AT))).is_broken_off is False


def test_a_rewind_keeps_the_cost_the_usage_and_the_turn_numbers() -> None:
    records = (*THREE, Rewound(2, "large", AT))
    past = past_of(records)
    assert (past.turns, past.cost, past.usage) == (3, 1.5, Usage(input=15, output=3))
    assert past.is_taken_back
    assert not past_of((*records, *a_turn(4))).is_taken_back
    assert model_of(lived(records)) == "large"


def test_a_rewind_record_to_a_missing_turn_is_ignored() -> None:
    assert words_of((*THREE, Rewound(99, "", AT))) == words_of(THREE)


def test_a_rewind_of_a_compaction_restores_the_original_messages() -> None:
    splice = MessageSplice(0, 3, (said("user", "sum", 2).message,))
    inside = CompactionRecord(2, "collapse", (splice,), 90, 30, ("s.txt",), AT, live=4)
    head = (STARTED, *a_turn(1), *a_turn(2)[:-1], inside, TurnEndRecord(2, "done", AT))
    records = (*head, *a_turn(3), Rewound(2, "small", AT))
    then, now = folded(head), folded(lived(records))
    assert (now.messages, now.history) == (then.messages, then.history)
    assert [one.turn for one in transcript(now.messages, now.history)] == [1, 1, 2, 2]
    assert words_of((*records, Rewound(1, "small", AT))) == ["words 1", "reply 1"]


@given(st.lists(st.none() | st.integers(0, 12), max_size=12))
def test_a_log_with_any_rewinds_equals_a_model_built_as_a_tree(steps) -> None:
    """In ``steps``, None adds a turn; a number rewinds to the end of that turn, if it exists."""
    records: list[Record] = [STARTED, PREFIX]
    tree: dict[int, list[str]] = {0: []}
    now: list[str] = []
    turns = 0
    for step in steps:
        before = {turn: words_of(up_to(records, turn)) for turn in turn_ends(records)}
        if step is None:
            turns += 1
            records += a_turn(turns)
            now = [*now, f"words {turns}", f"reply {turns}"]
            tree[turns] = now
        elif step in tree:
            records.append(Rewound(step, "small", AT))
            now = tree[step]
        assert words_of(records) == now
        assert {turn: words_of(up_to(records, turn)) for turn in before} == before
        assert past_of(records).turns == turns
    assert {turn: words_of(up_to(records, turn)) for turn in tree} == tree
