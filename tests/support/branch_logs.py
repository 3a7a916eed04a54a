"""Creates the records of turns for the tests of branches and forks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indwell.messages import Message, Meta, Text, Usage
from indwell.sessions.branches import lived
from indwell.sessions.conversation_restore import fold
from indwell.sessions.records import (
    MessageRecord,
    Prefixed,
    Record,
    SessionStarted,
    Spent,
    TurnEndRecord,
    TurnStartRecord,
)
from indwell.sessions.storage.store import SessionStore

AT = "2026-11-21T09:00:00.000+00:00"
STARTED = SessionStarted("s1", "/work", "small", AT)
PREFIX = Prefixed(("You are.",), "d", AT)


def said(role: str, words: str, turn: int) -> MessageRecord:
    source = "user" if role == "user" else "assistant"
    return MessageRecord(Message(role, (Text(words, Meta(1, source, 1, turn=turn)),), turn), AT)  # type: ignore[arg-type]


def a_turn(turn: int, *, model: str = "small", ends: bool = True) -> tuple[Record, ...]:
    begun = (
        TurnStartRecord(turn, f"words {turn}", AT),
        said("user", f"words {turn}", turn),
        said("assistant", f"reply {turn}", turn),
        Spent(turn, model, Usage(input=5, output=1), 0.5, AT),
    )
    return (*begun, TurnEndRecord(turn, "done", AT)) if ends else begun


def words_of(records: Sequence[Record]) -> list[str]:
    return [block.text for message in fold(lived(records)) for block in message.blocks]


def log_of(store: SessionStore, session: str) -> Path:
    return store.spill(session).parent / "log.jsonl"
