"""Tool calls of sub-agents, read from a log, each inside the call of the sub-agent."""

from __future__ import annotations

from typing import Any

from indwell.agent.core.events import Event, ToolFinished, ToolStarted
from indwell.messages import Message, Meta, ToolUse
from indwell.service.sessions.recorded_turns import events_of
from indwell.sessions import log_lines
from indwell.sessions.audit_trail import acts
from indwell.sessions.records import (
    FAILURE_CHARACTERS,
    CallEnded,
    Decided,
    MessageRecord,
    Record,
    SessionStarted,
    TurnStartRecord,
    kept_failure,
)
from indwell.sessions.storage.writer import encode

AT = "2026-11-21T09:00:00.000+00:00"
META = Meta(tier=3, source="assistant", tokens=1)
CALL = MessageRecord(Message("assistant", (ToolUse("c1", "agent", "{}", META),), 1), AT)
BEGUN = (SessionStarted("s", "/w", "m", AT), TurnStartRecord(1, "go", AT), CALL)
CARD = ToolStarted(1, "c1", "agent", "", "{}")
OPEN = (ToolStarted(1, "a1-1", "bash", "make", agent="c1"),)


def ended(id_: str = "a1-1", within: str = "c1", **more: Any) -> CallEnded:
    return CallEnded(1, id_, "make", "2 lines", 0.5, AT, tool="bash", within=within, **more)


def wanted(id_: str = "a1-1", **more: Any) -> Decided:
    return Decided(1, id_, "bash", "make", "allow", AT, agent="explore", within="c1", **more)


def done(id_: str = "a1-1", failed: str = "") -> tuple[Event, ...]:
    begin = ToolStarted(1, id_, "bash", "make", agent="c1")
    end = ("bash", "make", bool(failed), "2 lines", 0.5, failed)
    return begin, ToolFinished(1, id_, *end, agent="c1")


def main(failed: str = "") -> tuple[Event, ...]:
    """Return the events of the sub-agent's own call, which has ended without a result yet."""
    begin = ToolStarted(1, "c1", "agent", "make", "{}")
    return begin, ToolFinished(1, "c1", "agent", "make", bool(failed), "2 lines", 0.5, failed)


def check(*records: Record, told: tuple[Event, ...]) -> None:
    """Check the events that are read from a log with these records."""
    text = b"".join(map(encode, (*BEGUN, *records)))
    (turn,) = events_of(log_lines.decode(text).records)
    assert turn.events[1:] == told


def test_an_inner_call_with_only_an_end_record_is_shown() -> None:
    check(ended(), told=(CARD, *done()))


def test_an_approved_call_counts_as_running_until_it_ends() -> None:
    asked = wanted()
    check(asked, told=(CARD, *OPEN))
    check(asked, wanted(answer="once"), told=(CARD, *OPEN))
    check(asked, wanted(ending="done"), ended(), told=(CARD, *done()))


def test_a_repeated_id_belongs_to_a_different_call() -> None:
    check(wanted(), ended(), wanted(), told=(CARD, *done(), *OPEN))
    check(ended(), ended(failed="no"), told=(CARD, *done(), *done(failed="no")))


def test_a_failed_call_is_reported_as_failed_before_its_result_is_recorded() -> None:
    check(ended("c1", within="", failed="no"), told=main("no"))


def test_a_running_call_is_reported_with_its_target() -> None:
    begun = ToolStarted(1, "c1", "agent", "make", "{}")
    check(Decided(1, "c1", "bash", "make", "allow", AT), told=(begun,))


def test_an_inner_call_of_an_unknown_call_is_ignored() -> None:
    check(ended(within="c2"), told=(CARD,))


def test_calls_of_a_sub_agent_and_of_the_main_agent_stay_separate() -> None:
    check(ended("c1", within=""), told=main())
    check(ended("c1"), told=(CARD, *done("c1")))


def test_an_old_log_with_inner_calls_is_still_read() -> None:
    old = (
        b'{"type":"decided","turn":1,"tool_use_id":"a1-1","tool":"bash","what":"make",'
        b'"decision":"allow","at":"x","agent":"explore"}\n'
        b'{"type":"callEnded","turn":1,"tool_use_id":"c1","target":"make","figure":"2 lines",'
        b'"seconds":0.5,"at":"x"}\n'
    )
    head = b"".join(map(encode, BEGUN))
    (turn,) = events_of(log_lines.decode(head + old).records)
    assert turn.events[1:] == main()


def test_the_audit_trail_counts_each_call_once() -> None:
    with_ends = (*BEGUN, wanted(), wanted(ending="done"), ended(), ended("a1-2"))
    assert acts(with_ends) == acts([one for one in with_ends if not isinstance(one, CallEnded)])


def test_a_long_error_message_is_cut_in_the_log_and_an_empty_one_becomes_failed() -> None:
    assert kept_failure(" \n") == "failed"
    assert kept_failure("x" * 9_999) == "x" * FAILURE_CHARACTERS
