"""Records, and strategies for them, that the session tests share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import strategies as st

from indwell.files.append_log import AppendLog
from indwell.messages import (
    Image,
    Message,
    Meta,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)
from indwell.sessions.records import (
    Forked,
    Intent,
    MessageRecord,
    Record,
    Repaired,
    Rewound,
    SessionStarted,
    Spent,
    TurnEndRecord,
    TurnStartRecord,
)
from indwell.sessions.storage.store import SessionStore, timestamp
from indwell.sessions.storage.writer import LogWriter

NOW = datetime(2026, 11, 21, 3, 40, 12, 123_456, tzinfo=UTC)
AT = timestamp(NOW)
META = Meta(tier=1, source="user", tokens=3)

STARTED = SessionStarted(session="s-1", workspace="/w", model="m", at=AT)
ASKED = TurnStartRecord(turn=1, words="warum läuft das 🐢?\nzweite Zeile", at=AT)
HEARD = MessageRecord(
    message=Message(role="user", blocks=(Text(text="warum 🐢 \u2028?", meta=META),), turn=1), at=AT
)
INTENT = Intent(turn=1, tool_use_id="call_1", tool="edit", arguments='{"path":"ä.py"}', at=AT)
SPENT = Spent(turn=1, model="m", usage=Usage(input=10, output=2), cost=0.25, at=AT)
FINISHED = TurnEndRecord(turn=1, ending="done", at=AT)
WHOLE_TURN: tuple[Record, ...] = (STARTED, ASKED, HEARD, INTENT, SPENT, FINISHED)


def store_in(folder: Path) -> SessionStore:
    return SessionStore(folder / "state", folder)


def log_of(store: SessionStore, session: str) -> Path:
    return store.spill(session).parent / "log.jsonl"


async def write(path: Path, records: tuple[Record, ...]) -> None:
    """Write records as the server does, and close the log."""
    writer = LogWriter(AppendLog(path))
    for record in records:
        writer.append(record)
    await writer.close()


_texts = st.text(max_size=40)
_turns = st.integers(0, 10_000)
_metas = st.builds(
    Meta,
    tier=st.sampled_from([0, 1, 2, 3]),
    source=st.sampled_from(["user", "tool", "summary", "ide_selection", "assistant"]),
    tokens=st.integers(0, 10**9),
    turn=_turns,
    tool_use_id=st.none() | _texts,
    pinned=st.booleans(),
    compactable=st.booleans(),
)
_blocks = st.one_of(
    st.builds(Text, text=_texts, meta=_metas),
    st.builds(Image, media_type=_texts, data=_texts, meta=_metas),
    st.builds(ToolUse, id=_texts, name=_texts, arguments=_texts, meta=_metas),
    st.builds(ToolResult, tool_use_id=_texts, text=_texts, meta=_metas, is_error=st.booleans()),
    st.builds(Thinking, text=_texts, meta=_metas),
)
_messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    blocks=st.lists(_blocks, max_size=4).map(tuple),
    turn=_turns,
)
_usages = st.builds(Usage, input=_turns, cached=_turns, output=_turns, reported=st.booleans())

records = st.one_of(
    st.builds(SessionStarted, session=_texts, workspace=_texts, model=_texts, at=st.just(AT)),
    st.builds(TurnStartRecord, turn=_turns, words=_texts, at=st.just(AT)),
    st.builds(MessageRecord, message=_messages, at=st.just(AT)),
    st.builds(MessageRecord, message=_messages, at=st.just(AT)),
    st.builds(
        Intent, turn=_turns, tool_use_id=_texts, tool=_texts, arguments=_texts, at=st.just(AT)
    ),
    st.builds(
        Spent,
        turn=_turns,
        model=_texts,
        usage=_usages,
        cost=st.none() | st.floats(0, 1e6),
        at=st.just(AT),
    ),
    st.builds(Repaired, what=_texts, at=st.just(AT)),
    st.builds(Rewound, turn=_turns, model=_texts, at=st.just(AT)),
    st.builds(
        Forked,
        session=_texts,
        turn=_turns,
        model=_texts,
        at=st.just(AT),
        spills=st.lists(_texts, max_size=2).map(tuple),
        whole=st.booleans(),
    ),
    st.builds(
        TurnEndRecord,
        turn=_turns,
        ending=st.sampled_from(["done", "cancelled", "failed", "limit", "repeated"]),
        at=st.just(AT),
        message=_texts,
        words=_texts,
    ),
)
"""Any record without lone surrogates, which have a separate test."""
