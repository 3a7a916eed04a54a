"""Compactions and repairs in a log are applied on restoring, or skipped if they do not fit."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.agent.core.events import Compacted
from indwell.agent.core.session import Session
from indwell.agent.core.session_features import Features
from indwell.agent.restore import past_of
from indwell.context import conversation as talk
from indwell.context.compaction.step import CompactionStep
from indwell.context.history import History, MessageSplice, spliced, transcript
from indwell.context.pairing import problems, repair
from indwell.context.request.assemble import without_pictures
from indwell.messages import Image, Message, Meta, Reply, Text, ToolCall
from indwell.service.sessions.recorded_turns import events_of, named_text
from indwell.sessions import log_lines
from indwell.sessions.conversation_restore import folded, rewritten
from indwell.sessions.records import (
    CompactionRecord,
    MessageRecord,
    Record,
    Repaired,
    TurnStartRecord,
)
from indwell.sessions.storage.writer import encode
from support.session import START, MemoryLog

AT = "2026-11-21T09:00:00.000+00:00"
MINE = Meta(tier=1, source="user", tokens=1, turn=1)
ITS = Meta(tier=3, source="assistant", tokens=1, turn=1)
EMPTY = talk.Conversation(talk.Config("m", 64_000, 4_000), ())


def user(words: str) -> Message:
    return Message("user", (Text(words, MINE),), 1)


def model(words: str) -> Message:
    return Message("assistant", (Text(words, ITS),), 1)


def compacted(*splices: MessageSplice, live: int = 0) -> CompactionRecord:
    return CompactionRecord(3, "snip", splices, 900, 300, ("s1.txt",), AT, live=live)


TALK = (user("a"), model("b"), user("c"), model("d"), user("e"))
SAID = tuple(MessageRecord(message, AT) for message in TALK)


def test_a_compaction_is_folded_with_the_messages_before_it() -> None:
    record = compacted(
        MessageSplice(0, 2, (user("sum"),)), MessageSplice(3, 4, (model("D"),)), live=5
    )
    more = MessageRecord(user("f"), AT)
    told = folded((*SAID, record, more))
    assert told.messages == (
        user("sum"),
        user("c"),
        model("D"),
        Message("user", (*user("e").blocks, *user("f").blocks), 1),
    )
    assert told.history.places == (0, 2, 3)
    assert transcript(told.messages, told.history) == folded((*SAID, more)).messages
    assert told.notices == ()


@pytest.mark.parametrize(
    ("splices", "live", "why"),
    [
        ((MessageSplice(0, 9, ()),), 0, "messages 0 to 9 of 5"),
        ((MessageSplice(-1, 2, ()),), 0, "messages -1 to 2 of 5"),
        ((MessageSplice(3, 2, ()),), 0, "messages 3 to 2 of 5"),
        ((MessageSplice(2, 3, ()), MessageSplice(1, 2, ())), 0, "messages 1 to 2 of 5"),
        ((MessageSplice(0, 1, (user("s"),)),), 7, "it was made for 7 messages, and there are 5"),
    ],
)
def test_an_impossible_compaction_is_skipped_and_reported_once(splices, live, why) -> None:
    broken = (*SAID, compacted(*splices, live=live))
    told = folded(broken)
    notice = f"a compaction of {AT} does not fit the log ({why})"
    assert (told.messages, told.history, told.notices) == (TALK, History(), (notice,))
    assert past_of(broken).notes == (notice,)
    assert past_of((*broken, Repaired(notice, AT))).notes == ()


def test_a_log_with_a_lost_line_skips_compactions_that_included_the_line() -> None:
    record = compacted(MessageSplice(0, 2, (user("sum"),)), live=5)
    whole = b"".join(map(encode, (*SAID, record)))
    cut = whole.replace(encode(SAID[1]), encode(SAID[1])[:20] + b"\n")
    reading = log_lines.decode(cut)
    told = folded(reading.records)
    assert len(reading.damage) == len(told.notices) == 1
    assert "sum" not in str(told.messages)
    past = past_of(reading.records, is_damaged=True)
    assert problems(past.messages) == ()


def test_an_old_repair_record_without_splices_is_still_read() -> None:
    old = f'{{"type":"repaired","what":"x","at":"{AT}"}}\n'.encode()
    assert log_lines.decode(old).records == (Repaired("x", AT),)
    assert encode(Repaired("x", AT)) == old


def test_a_repair_on_loading_is_recorded_and_applied_at_the_next_loading() -> None:
    past = past_of((MessageRecord(model("no beginning"), AT), *SAID))
    assert past.messages[0].role == "user"
    assert past.splices
    noted = Repaired(past.notes[0], AT, past.splices, past.n_live)
    again = past_of((MessageRecord(model("no beginning"), AT), *SAID, noted))
    assert (again.messages, again.splices, again.notes) == (past.messages, (), ())
    assert again.history == past.history


def test_a_compaction_is_shown_as_a_notice() -> None:
    record = msgspec.structs.replace(
        compacted(MessageSplice(0, 1, ())), note="old results are shorter"
    )
    (turn,) = events_of((TurnStartRecord(1, "go", AT), *SAID, record))
    assert turn.events[-1] == Compacted(1, "snip", 900, 300, "old results are shorter")
    assert named_text(turn.events[-1]) == (
        "notice",
        "the conversation was compacted (snip): from 900 to 300 tokens; old results are shorter",
    )


def live_session() -> tuple[Session, MemoryLog]:
    log = MemoryLog()
    parts = SimpleNamespace(features=Features(), log=log, clock=SimpleNamespace(now=lambda: START))
    return Session("s", parts, EMPTY), log


ops = st.lists(
    st.sampled_from(["words", "reply", "calls", "picture", "shorten", "fold", "mend", "blind"]),
    max_size=25,
)


@given(ops, st.data())
def test_any_appends_compactions_and_repairs_fold_to_the_live_conversation(names, data) -> None:
    session, log = live_session()
    for number, name in enumerate(names):
        _act(session, name, number, data)
        written = b"".join(map(encode, log.records))
        records: tuple[Record, ...] = log_lines.decode(written).records
        told = folded(records)
        now = session.conversation
        assert told.notices == ()
        assert (told.messages, told.history) == (now.messages, now.history)


def _act(session: Session, name: str, number: int, data: st.DataObject) -> None:
    now = session.conversation
    match name:
        case "words":
            session.advance(talk.with_input(now, words=f"words {number}", turn=number))
        case "reply" | "calls" if now.messages:
            n_calls = data.draw(st.integers(1, 3)) if name == "calls" else 0
            calls = tuple(ToolCall(f"c{at}", "bash", "{}") for at in range(n_calls))
            session.advance(talk.with_reply(now, Reply(f"reply {number}", calls), turn=number))
            if calls and data.draw(st.booleans()):
                session.advance(talk.with_results(session.conversation, (), turn=number))
        case "picture" if now.messages:
            shot = Image("image/png", "AA==", MINE)
            message = Message("user", (shot,), number)
            session.advance(
                msgspec.structs.replace(now, messages=talk._appended(now.messages, message))
            )
        case "shorten" | "fold" if now.messages:
            _compact(session, name, number, data)
        case "mend":
            messages, notes = repair(now.messages)
            if notes:
                session.repair(messages, notes)
        case "blind":
            after = without_pictures(now)
            if after is not now:
                session.repair(after.messages, ("pictures were left out",))
        case _:
            pass


def _compact(session: Session, name: str, number: int, data: st.DataObject) -> None:
    now = session.conversation
    n_live = len(now.messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, n_live), min_size=2, max_size=6)))
    splices = []
    for start, stop in zip(cuts[::2], cuts[1::2], strict=False):
        n_new = stop - start if name == "shorten" else data.draw(st.integers(0, 2))
        replacement = tuple(user(f"short {number} {at}") for at in range(n_new))
        splices.append(MessageSplice(start, stop, replacement))
    step = CompactionStep("test", tuple(splices))
    messages, history = spliced(now.messages, now.history, splices)
    session.compact(step, msgspec.structs.replace(now, messages=messages, history=history))


_texts = st.lists(st.sampled_from("abc"), max_size=6).map(lambda few: tuple(map(user, few)))


@given(_texts, _texts)
def test_splices_between_any_two_message_lists_are_found_and_applied(before, after) -> None:
    splices = rewritten(before, after)
    messages, history = spliced(before, History(), splices)
    assert messages == after
    assert transcript(messages, history) == before
    assert bool(splices) == (before != after)
