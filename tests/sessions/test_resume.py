"""Data of a resumed session from its log: totals, unsent text, calls with an unknown outcome."""

from __future__ import annotations

import pytest

from indwell.agent.restore import NOT_BEGUN, UNKNOWN, OpenCall, outcomes, past_of, unknown_words
from indwell.context.pairing import problems
from indwell.messages import Message, Meta, Text, ToolResult, ToolSpec, ToolUse, Usage
from indwell.sessions.records import (
    Intent,
    MessageRecord,
    Prefixed,
    Record,
    Repaired,
    SessionStarted,
    Spent,
    SteeringRecord,
    TurnEndRecord,
    TurnStartRecord,
    tools_digest,
)
from indwell.tools.editing.edit import EditFile
from indwell.tools.editing.lost_edits import looked_up, state_of
from indwell.tools.editing.replace import Replacement
from indwell.tools.editing.write import WriteFile
from support.memory_workspace import MemoryWorkspace

AT = "2026-11-21T09:00:00.000+00:00"
STARTED = SessionStarted("s1", "/work", "small", AT)
MINE = Meta(tier=1, source="user", tokens=1, turn=1)
ITS = Meta(tier=3, source="assistant", tokens=1, turn=1)
TOOL = Meta(tier=3, source="tool", tokens=1, turn=1)


def asked(words: str, turn: int = 1) -> MessageRecord:
    return MessageRecord(Message("user", (Text(words, MINE),), turn), AT)


def calls(*names: str, turn: int = 1) -> MessageRecord:
    uses = tuple(ToolUse(f"c{at}", name, "{}", ITS) for at, name in enumerate(names, start=1))
    return MessageRecord(Message("assistant", uses, turn), AT)


def result(identifier: str) -> MessageRecord:
    return MessageRecord(Message("user", (ToolResult(identifier, "done", TOOL),), 1), AT)


def intent(identifier: str) -> Intent:
    return Intent(1, identifier, "bash", "{}", AT)


KILLED_IN_A_CALL: tuple[Record, ...] = (
    STARTED,
    TurnStartRecord(1, "mend it", AT),
    asked("mend it"),
    calls("bash", "read_file", "edit_file"),
    Spent(1, "large", Usage(input=10, output=2), 0.5, AT),
    intent("c1"),
)


def test_per_09_after_a_kill_only_the_started_call_has_an_unknown_outcome() -> None:
    past = past_of(KILLED_IN_A_CALL)
    assert [(one.use.id, one.begun) for one in past.open_calls] == [
        ("c1", True),
        ("c2", False),
        ("c3", False),
    ]
    answers = outcomes(past.open_calls, {"c1": "Now look."})
    assert [(one.tool_use_id, one.text, one.is_error) for one in answers] == [
        ("c1", f"[{UNKNOWN}]\nNow look.", True),
        ("c2", f"[{NOT_BEGUN}]", True),
        ("c3", f"[{NOT_BEGUN}]", True),
    ]
    assert unknown_words(past.open_calls) == (
        "Indwell ended during 1 call (bash), so the result is unknown"
    )
    assert unknown_words(past.open_calls[1:]) == ""


def test_per_11_an_interrupted_conversation_with_added_answers_can_be_sent() -> None:
    past = past_of(KILLED_IN_A_CALL)
    answered = (*past.messages, Message("user", outcomes(past.open_calls, {}), 1))
    assert problems(past.messages) != ()
    assert problems(answered) == ()
    again = past_of((*KILLED_IN_A_CALL, MessageRecord(answered[-1], AT)))
    assert (again.messages, again.open_calls, again.notes) == (answered, (), ())


def test_after_damage_every_open_call_counts_as_begun() -> None:
    past = past_of(KILLED_IN_A_CALL[:-1], is_damaged=True)
    assert all(one.begun for one in past.open_calls)


def test_an_intent_of_an_earlier_round_does_not_count_for_a_call_with_the_same_id() -> None:
    records = (*KILLED_IN_A_CALL[:3], calls("bash"), intent("c1"), result("c1"), calls("bash"))
    assert past_of(records).open_calls == (OpenCall(ToolUse("c1", "bash", "{}", ITS), begun=False),)


def test_a_resumed_session_continues_its_usage_totals() -> None:
    past = past_of(
        (
            *KILLED_IN_A_CALL,
            Spent(1, "other", Usage(input=20, output=3), 0.25, AT),
            TurnStartRecord(7, "x", AT),
        )
    )
    assert (past.turns, past.usage, past.cost, past.last_usage, past.model) == (
        7,
        Usage(input=30, output=5),
        0.75,
        Usage(input=20, output=3),
        "other",
    )
    unpriced = past_of((*KILLED_IN_A_CALL, Spent(1, "m", Usage(), None, AT)))
    assert unpriced.cost is None
    assert (unpriced.spent, past.spent) == (0.5, 0.75), "what is known counts all the same"
    assert past_of(()).model == ""


@pytest.mark.parametrize(
    ("records", "draft", "broken_off"),
    [
        ((TurnStartRecord(1, "a", AT),), "a", True),
        ((TurnStartRecord(1, "a", AT), asked("a")), "", True),
        ((TurnStartRecord(1, "a", AT), SteeringRecord(1, "b", AT)), "a\n\nb", True),
        ((TurnStartRecord(1, "a", AT), asked("a"), SteeringRecord(1, "b", AT)), "b", True),
        (
            (TurnStartRecord(1, "a", AT), asked("a"), SteeringRecord(1, "b", AT), asked("b")),
            "",
            True,
        ),
        ((TurnStartRecord(1, "a", AT), TurnEndRecord(1, "failed", AT, "m", "a")), "a", False),
        ((TurnStartRecord(1, "a", AT), asked("a"), TurnEndRecord(1, "done", AT)), "", False),
        ((), "", False),
    ],
)
def test_prompts_that_never_reached_the_model_are_returned(records, draft, broken_off) -> None:
    past = past_of((STARTED, *records))
    assert (past.draft, past.is_broken_off) == (draft, broken_off)


def test_a_gap_in_the_log_is_repaired_equally_each_time_and_reported_once() -> None:
    records = (*KILLED_IN_A_CALL[:3], calls("bash"), asked("go on", 2))
    past = past_of(records)
    assert problems(past.messages) == ()
    assert past.open_calls == ()
    assert past.notes == ("1 call(s) without a result marked as interrupted",)
    again = past_of((*records, *(Repaired(note, AT) for note in past.notes)))
    assert (again.messages, again.notes) == (past.messages, ())


def test_the_newest_prefix_applies_and_the_digest_of_the_tools_covers_everything_sent() -> None:
    old, new = Prefixed(("a",), "1", AT), Prefixed(("b",), "2", AT)
    assert past_of((STARTED, old, new)).prefix == new
    assert past_of((STARTED,)).prefix is None
    spec = ToolSpec("a", "b", "{}")
    digests = {
        tools_digest(tools)
        for tools in ((), (spec,), (ToolSpec("a", "c", "{}"),), (ToolSpec("a", "b", "{ }"),))
    }
    assert len(digests) == 4


EDITS = {
    "replaced": (Replacement("one", "two"), "one\n", "two\n"),
    "deleted": (Replacement("one\n", ""), "one\nrest", "rest"),
    "a line added": (Replacement("one\n", "one\ntwo\n"), "one\n", "one\ntwo\n"),
    "a part taken out": (Replacement("x = 1 + 1", "x = 1"), "x = 1 + 1\n", "x = 1\n"),
    "other line ends": (Replacement("a\nb", "a\nc"), "a\r\nb\r\n", "a\r\nc\r\n"),
}


@pytest.mark.parametrize("name", EDITS)
def test_per_10_the_text_of_a_file_shows_whether_a_lost_edit_was_made(name) -> None:
    edit, before, after = EDITS[name]
    arguments = EditFile("a.py", (edit,))
    assert (state_of(arguments, before), state_of(arguments, after)) == ("not done", "done")
    assert state_of(arguments, None) == "neither"


def test_per_10_a_text_that_matches_neither_side_of_an_edit_is_reported_as_neither() -> None:
    both = EditFile("a.py", (Replacement("one", "two"), Replacement("three", "four")))
    assert state_of(both, "one three") == "not done"
    assert state_of(both, "two four") == "done"
    assert state_of(both, "two three") == "neither"
    assert state_of(both, "something else") == "neither"
    whole = WriteFile("a.py", "text\n")
    assert [state_of(whole, text) for text in ("text\r\n", "other", None)] == [
        "done",
        "neither",
        "not done",
    ]


async def test_only_edits_are_looked_up_after_a_kill_even_with_invalid_arguments() -> None:
    workspace = MemoryWorkspace({"a.py": "two\n"})

    async def look(tool: str, arguments: str) -> str:
        return await looked_up(ToolUse("c1", tool, arguments, ITS), workspace)

    edited = '{"path": "a.py", "edits": [{"old": "one", "new": "two"}]}'
    assert await look("edit_file", edited) == (
        "Now the file reads as it would after this call, so it was done; read it before you go on."
    )
    assert (await look("write_file", '{"path": "b.py", "content": "x"}')).startswith(
        "Now the file reads as it did before this call, so it was not done"
    )
    for tool, arguments in (
        ("bash", '{"command": "x"}'),
        ("edit_file", "{"),
        ("edit_file", '{"path": "../../x", "edits": []}'),
        ("write_file", '{"path": "\\u0000", "content": ""}'),
        ("edit_file", "[" * 100_000),
    ):
        assert await look(tool, arguments) == ""
