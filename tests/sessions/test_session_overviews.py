"""A log as shown to people: the line in the list, the turns, unsent text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from indwell.agent.core.events import (
    Attached,
    EditApplied,
    Notice,
    Steered,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from indwell.agent.core.events import TextAdded as Said
from indwell.agent.core.events import ThinkingAdded as Thought
from indwell.context.conversation import tool_result, user_words
from indwell.context.injections import inject
from indwell.messages import Message, Meta, Text, Thinking, ToolUse, Usage
from indwell.service.sessions.recorded_turns import RecordedTurn, events_of
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview, overview
from indwell.sessions.records import (
    CallEnded,
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
from support.platforms import posix_only

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


def test_a_session_is_one_line_of_the_session_list() -> None:
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


def test_a_mostly_damaged_log_is_still_listed() -> None:
    assert overview("s1", LogReading((), ("all of it is damaged",))) == Overview(
        "s1", notices=("all of it is damaged",)
    )


def test_a_turn_is_shown_as_its_events_with_the_results_of_calls() -> None:
    first, second = events_of(LOG)
    whole = Usage(input=30, cached=5, output=3)
    assert first == RecordedTurn(
        1,
        NOW,
        False,  # noqa: FBT003
        (
            TurnStarted(1, "list it", "list it\n  please", "large", mode=None),
            Attached(1, "environment", "<system-reminder>\nnow\n</system-reminder>"),
            Thought(1, "hm"),
            Said(1, "I look."),
            ToolStarted(1, "c1", "bash", "", USE.arguments),
            ToolFinished(1, "c1", "bash", "", False, "", None, "", "a.py"),  # noqa: FBT003
            UsageReported(1, 1, Usage(input=10, output=2), 0.5, Usage(input=10, output=2), 0.5),
            UsageReported(1, 1, Usage(input=20, cached=5, output=1), 0.25, whole, 0.75),
            Steered(1, "and b", delivered=False),
            TurnFinished(1, "done", "", "I look.", "", 1, whole, 0.75, None),
        ),
    )
    # The process was killed in the second turn. There the same id is a different call without a
    # result.
    assert second == RecordedTurn(
        2,
        NOW,
        False,  # noqa: FBT003
        (
            TurnStarted(2, "again", "again", "large", mode=None),
            ToolStarted(2, "c1", "bash", "", USE.arguments),
            Notice(2, "info", "a torn line"),
        ),
    )


ONE = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n same\n-old\n+new"
TRICK = "--- a/b.md\n+++ b/b.md\n@@ -1,2 +1,2 @@\n--- a/fake\n-x\n+++ b/fake\n+y"
MADE = "--- /dev/null\n+++ b/c.py\n@@ -0,0 +1,2 @@\n+one\n+two"


@pytest.mark.parametrize(
    ("diff", "target", "edits"),
    [
        (
            f"{ONE}\n{TRICK}\n{MADE}",
            "",
            [("src/a.py", 1, 1, False), ("b.md", 2, 2, False), ("c.py", 2, 0, True)],
        ),
        (ONE, "src/a.py", [("src/a.py", 1, 1, False)]),
        ("@@ -1 +1 @@\n-a\n+b", "x.py", [("x.py", 1, 1, False)]),
        ("", "x.py", []),
    ],
)
def test_the_diff_of_a_call_has_one_edit_for_each_file(diff, target, edits) -> None:
    end = CallEnded(1, "c1", target, "", 1.0, NOW, diff)
    (turn,) = events_of((LOG[1], LOG[3], end))
    told = [one for one in turn.events if isinstance(one, EditApplied)]
    assert [(one.path, one.added, one.removed, one.created) for one in told] == edits
    assert "\n".join(one.diff for one in told) == diff


def test_only_the_model_sees_the_note_of_an_interrupted_reply() -> None:
    def said(text: str) -> MessageRecord:
        return MessageRecord(Message("assistant", (Text(text, META),), 1), NOW)

    log = (
        *LOG[:2],
        said("Half a\n[the reply broke off here]"),
        said("\n[the reply broke off here]"),
    )
    (turn,) = events_of(log)
    assert turn.events[1:] == (Said(1, "Half a"),)


@posix_only("modes")
def test_drafts_are_stored_privately_and_reported_once(tmp_path) -> None:
    store = DraftStore(tmp_path / "state", tmp_path)
    path = store.keep(["one\n", "two\nlines"], now=datetime(2026, 11, 21, 9, tzinfo=UTC))
    assert path.read_text(encoding="utf-8") == "one\n\n---\n\ntwo\nlines\n"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    (told,) = store.untold()
    assert told.read_text(encoding="utf-8") == "one\n\n---\n\ntwo\nlines\n"
    assert store.untold() == ()
    assert DraftStore(tmp_path / "other", tmp_path).untold() == ()


def test_a_session_that_a_code_action_began_is_named_by_the_title_of_the_action() -> None:
    began = TurnStartRecord(
        1, "Fix this: a.py, line 2. Find out what is wrong", NOW, "Fix this · a.py"
    )
    assert overview("s1", LogReading((LOG[0], began), ())).title == "Fix this · a.py"
    own = TurnStartRecord(1, "list it\n  please", NOW, "list it please")
    assert overview("s1", LogReading((LOG[0], own, began), ())).title == "list it please"
