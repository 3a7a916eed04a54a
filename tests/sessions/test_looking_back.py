"""What a log shows to people: a line of the list, the turns, words that were never sent."""

from __future__ import annotations

from datetime import UTC, datetime

from indwell.context.conversation import tool_result, user_words
from indwell.context.injections import inject
from indwell.messages import Message, Meta, Text, Thinking, ToolUse, Usage
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview, overview
from indwell.sessions.records import (
    Intent,
    MessageRecord,
    Repaired,
    SessionStarted,
    Spent,
    SteeringRecord,
    TurnEndRecord,
    TurnStartRecord,
)
from indwell.sessions.storage.drafts import DraftStore
from indwell.sessions.transcript import TranscriptPiece, TurnView, transcript

NOW = "2026-11-21T09:00:00.000+00:00"
META = Meta(tier=3, source="assistant", tokens=1)
USE = ToolUse("c1", "bash", '{"command": "ls"}', META)
ASKED = Message("user", (inject("environment", "now", turn=1), user_words("list it", turn=1)), 1)
CALLED = Message("assistant", (Thinking("hm", META), Text("I look.", META), USE), 1)
ANSWERED = Message("user", (tool_result(USE, "a.py", is_error=False),), 1)
LOG = (
    SessionStarted("s1", "/work", "small", NOW),
    TurnStartRecord(1, "list it\n  please", NOW),
    MessageRecord(ASKED, NOW),
    MessageRecord(CALLED, NOW),
    Spent(1, "small", Usage(input=10, output=2), 0.5, NOW),
    Intent(1, "c1", "bash", USE.arguments, NOW),
    MessageRecord(ANSWERED, NOW),
    SteeringRecord(1, "and b", NOW),
    Spent(1, "large", Usage(input=20, cached=5, output=1), 0.25, NOW),
    TurnEndRecord(1, "done", NOW),
    TurnStartRecord(2, "again", NOW),
    MessageRecord(Message("assistant", (USE,), 2), NOW),
    Repaired("a torn line", NOW),
)


def test_a_session_as_a_line_of_the_list() -> None:
    assert overview("s1", LogReading(LOG, ("a notice",))) == Overview(
        id="s1",
        workspace="/work",
        at=NOW,
        model="large",
        preview="list it please",
        title="list it please",
        turns=2,
        usage=Usage(input=30, cached=5, output=3),
        cost=0.75,
        notices=("a notice",),
    )


def test_one_unknown_price_makes_the_cost_unknown() -> None:
    log = (*LOG, Spent(2, "free", Usage(), None, NOW), Spent(2, "small", Usage(), 1.0, NOW))
    assert overview("s1", LogReading(log, ())).cost is None


def test_a_log_of_which_little_is_left_still_has_a_line() -> None:
    assert overview("s1", LogReading((), ("all of it is damaged",))) == Overview(
        "s1", notices=("all of it is damaged",)
    )


def test_turns_with_tool_cards_that_hold_their_results() -> None:
    first, second = transcript(LOG)
    assert first == TurnView(
        turn=1,
        at=NOW,
        words="list it\n  please",
        ending="done",
        usage=Usage(input=30, cached=5, output=3),
        cost=0.75,
        pieces=(
            TranscriptPiece("user", "list it\n  please", "user"),
            TranscriptPiece(
                "attached", "<system-reminder>\nnow\n</system-reminder>", "environment"
            ),
            TranscriptPiece("thinking", "hm", "assistant"),
            TranscriptPiece("assistant", "I look.", "assistant"),
            TranscriptPiece("tool", "a.py", "bash", "c1", USE.arguments),
            TranscriptPiece("user", "and b", "user"),
        ),
    )
    # Killed in its second turn: the same id there is another call, and nobody answered it.
    assert second == TurnView(
        turn=2,
        at=NOW,
        words="again",
        pieces=(
            TranscriptPiece("user", "again", "user"),
            TranscriptPiece("tool", "", "bash", "c1", USE.arguments, is_answered=False),
            TranscriptPiece("notice", "a torn line"),
        ),
    )


def test_the_mark_where_a_reply_broke_off_is_for_the_model_alone() -> None:
    def said(text: str) -> MessageRecord:
        return MessageRecord(Message("assistant", (Text(text, META),), 1), NOW)

    log = (
        *LOG[:2],
        said("Half a\n[the reply broke off here]"),
        said("\n[the reply broke off here]"),
    )
    (turn,) = transcript(log)
    assert [(one.kind, one.text) for one in turn.pieces[1:]] == [("assistant", "Half a")]


def test_drafts_are_kept_in_private_and_told_once(tmp_path) -> None:
    store = DraftStore(tmp_path / "state", tmp_path)
    path = store.keep(["one\n", "two\nlines"], now=datetime(2026, 11, 21, 9, tzinfo=UTC))
    assert path.read_text() == "one\n\n---\n\ntwo\nlines\n"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    (told,) = store.untold()
    assert told.read_text() == "one\n\n---\n\ntwo\nlines\n"
    assert store.untold() == ()
    assert DraftStore(tmp_path / "other", tmp_path).untold() == ()
