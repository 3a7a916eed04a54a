"""The decisions in a log, and their outcomes."""

from __future__ import annotations

from indwell.messages import Message, Meta, ToolResult
from indwell.sessions.audit_trail import Act, acts
from indwell.sessions.records import (
    Decided,
    Intent,
    MessageRecord,
    Record,
    Rewound,
    TurnStartRecord,
)
from sessions.session_logs import AT


def decided(turn: int, id_: str, decision: str = "allow", **more: str) -> Decided:
    return Decided(turn, id_, "bash", f"run {id_}", decision, AT, **more)


def intent(turn: int, id_: str) -> Intent:
    return Intent(turn, id_, "bash", '{"command": "x"}', AT)


def result(turn: int, id_: str, text: str, *, is_error: bool = False) -> MessageRecord:
    meta = Meta(tier=2, source="tool", tokens=1, turn=turn, tool_use_id=id_)
    return MessageRecord(Message("user", (ToolResult(id_, text, meta, is_error),), turn), AT)


def check(*records: Record) -> list[tuple[str, str, str]]:
    """Return id, end and ending of each action."""
    return [(act.id, act.end, act.ending) for act in acts((TurnStartRecord(1, "go", AT), *records))]


def test_the_audit_trail_lists_each_call_with_its_decision_and_outcome() -> None:
    found = check(
        decided(1, "ran"),
        intent(1, "ran"),
        result(1, "ran", "exit code 9\nout\nexit code 1\n[the working directory is now 'a']"),
        decided(1, "failed"),
        intent(1, "failed"),
        result(1, "failed", "no such folder\nlook again", is_error=True),
        decided(1, "denied", "deny", reason="dangerous"),
        result(1, "denied", "not allowed: dangerous", is_error=True),
        decided(1, "refused", "ask", answer="no"),
        result(1, "refused", "the user did not allow this", is_error=True),
        decided(1, "nobody", "ask", answer="unanswered"),
        result(1, "nobody", "nobody answered whether this may run", is_error=True),
        decided(1, "killed", "ask", answer="once"),
        intent(1, "killed"),
    )
    assert found == [
        ("ran", "done", "exit code 1"),
        ("failed", "failed", "no such folder"),
        ("denied", "denied", ""),
        ("refused", "refused", ""),
        ("nobody", "refused", ""),
        ("killed", "unknown", ""),
    ]


def test_text_printed_by_a_command_does_not_count_as_its_exit_code() -> None:
    assert check(decided(1, "a"), result(1, "a", "exit code 0 is what I say")) == [
        ("a", "done", "")
    ]


def test_an_intent_without_a_decision_counts_as_from_an_older_log() -> None:
    assert acts(
        (TurnStartRecord(1, "go", AT), intent(1, "old"), result(1, "old", "exit code 0"))
    ) == (
        Act(
            1,
            "old",
            AT,
            "bash",
            '{"command": "x"}',
            began=True,
            end="done",
            ending="exit code 0",
        ),
    )


def test_the_audit_includes_rewound_turns_with_their_results() -> None:
    records = (
        TurnStartRecord(1, "go", AT),
        decided(1, "c1"),
        result(1, "c1", "exit code 0"),
        TurnStartRecord(2, "more", AT),
        decided(2, "c2", answer=""),
        result(2, "c2", "exit code 3"),
        Rewound(1, "m", AT),
        TurnStartRecord(3, "again", AT),
        decided(3, "c2"),
        result(3, "c2", "exit code 4"),
    )
    assert [(act.turn, act.left, act.ending) for act in acts(records)] == [
        (1, False, "exit code 0"),
        (2, True, "exit code 3"),
        (3, False, "exit code 4"),
    ]


def test_a_repeated_id_in_a_turn_counts_as_two_calls() -> None:
    found = check(
        decided(1, "c"),
        result(1, "c", "exit code 0"),
        decided(1, "c", "deny"),
        result(1, "c", "not allowed", is_error=True),
    )
    assert found == [("c", "done", "exit code 0"), ("c", "denied", "")]


def test_the_audit_trail_marks_a_call_without_an_answer_as_not_run() -> None:
    """After Ctrl-C the model is told that the effect is unknown, though the call had none (U13)."""
    found = check(
        decided(1, "stopped", "ask"),
        result(1, "stopped", "[interrupted before it finished; …]", is_error=True),
        decided(1, "killed", "ask"),
    )
    assert found == [("stopped", "refused", ""), ("killed", "refused", "")]


def test_a_question_and_its_answer_are_one_act() -> None:
    records = (decided(1, "c", "ask"), decided(1, "c", "ask", answer="once"), intent(1, "c"))
    assert check(*records, result(1, "c", "exit code 0")) == [("c", "done", "exit code 0")]
    assert check(decided(1, "c", "ask"), decided(1, "c", "ask", answer="uncovered")) == [
        ("c", "refused", "")
    ]
