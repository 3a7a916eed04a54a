"""Imports conversations that other tools recorded, repairs them, and builds log records. Pure.

Reads OpenAI-style JSON: one object per line with ``messages``, or one message per line. Also reads
the session logs of Indwell. The input is untrusted: unreadable parts are skipped with a note.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, groupby, pairwise
from typing import Any

import msgspec

from indwell.context.conversation import tool_result, user_words
from indwell.context.injections import inject
from indwell.context.pairing import repair, tool_results
from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import scalar_text
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block, Message, Role, Text, ToolUse
from indwell.sessions.branches import lived
from indwell.sessions.conversation_restore import join
from indwell.sessions.log_lines import read
from indwell.sessions.records import (
    IMPORTED,
    MessageRecord,
    Record,
    Repaired,
    SessionStarted,
    TurnEndRecord,
    TurnStartRecord,
)

_OTHERS_WORDS = frozenset({"injected", "compact_summary"})
"""The kinds of events whose text has the role ``user``, but comes from the recording tool."""

_UNNAMEABLE = lazy_pattern(r"[^A-Za-z0-9_-]")  # Providers reject these characters in names and ids.
_MOST_OF_NAME = 64  # The limit of providers for a name, in characters.


class Recorded(msgspec.Struct, frozen=True):
    """A conversation recorded by another tool.

    Attributes:
        id: The recorded id, or the number of the line in the file.
        messages: The messages; roles alternate, and every call has its result (H24).
        system: The recorded system prompt, or empty if missing. Sessions never use this text as
            their system prompt.
        notes: A sentence about each repair or omission.
        times_s: Unix time of each of ``messages``, in seconds, or empty if unknown.
    """

    id: str
    messages: tuple[Message, ...]
    system: str = ""
    notes: tuple[str, ...] = ()
    times_s: tuple[float, ...] = ()


def recorded_sessions(lines: Iterable[bytes], *, name: str = "") -> Iterable[Recorded]:
    """Yield the conversations of a file, in order.

    Args:
        lines: The file's lines; a line that is not a JSON object is left out.
        name: File name; becomes the id of a conversation with one message per line.
    """
    lines = iter(lines)
    first = next(lines, b"")
    lines = chain((first,), lines)
    if first.startswith(_LOG_START):
        yield logged(lines, name=name)
        return
    single: list[Mapping[str, Any]] = []
    bad: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            record = None
        if not isinstance(record, dict):
            bad.append(f"line {number} is not a JSON object and was left out")
        elif isinstance(record.get("messages"), list):
            yield recorded(record, name=name or str(number))
        elif "role" in record:
            single.append(record)
        else:
            bad.append(f"line {number} contains no message and was left out")
    if single or bad:
        whole = recorded({"messages": single}, name=name)
        yield msgspec.structs.replace(whole, notes=(*bad, *whole.notes))


def recorded(record: Mapping[str, Any], *, name: str = "") -> Recorded:
    """Convert one record to a conversation."""
    reading = _ForeignReader(_injected(record.get("events")))
    for index, entry in enumerate(record["messages"]):
        reading.take(index, entry)
    if record["messages"] and not reading.has_words:
        reading.notes.append("it contains no user message")
    messages, repairs = repair(reading.messages)
    return Recorded(
        id=str(record.get("id") or name),
        messages=messages,
        system="\n\n".join(reading.system),
        notes=(*reading.notes, *repairs),
        times_s=times_of(record["messages"], messages),
    )


# Each session log of Indwell begins with a record of this type.
_LOG_START = b'{"type":"sessionStarted",'


def logged(lines: Iterable[bytes], *, name: str = "") -> Recorded:
    """Return the conversation of an Indwell log, as it was before any compaction.

    Args:
        lines: The lines of the log.
        name: The id of the conversation if the first line is damaged.
    """
    reading = read(line + b"\n" for line in lines)
    started = (one.session for one in reading.records if isinstance(one, SessionStarted))
    messages: list[Message] = []
    times: list[str] = []
    for record in lived(reading.records):
        if isinstance(record, MessageRecord):
            join(messages, record.message)
            times[len(messages) - 1 :] = [record.at]
    repaired, repairs = repair(messages)
    told = [{"role": one.role, "ts": at} for one, at in zip(messages, times, strict=True)]
    return Recorded(
        id=next(started, name),
        messages=repaired,
        notes=(*reading.notices, *repairs),
        times_s=times_of(told, repaired),
    )


class _ForeignReader:
    """Reads the messages of one record, one by one."""

    def __init__(self, injected: frozenset[int]) -> None:
        self.messages: list[Message] = []
        self.system: list[str] = []
        self.notes: list[str] = []
        self._injected = injected
        self._names: dict[str, ToolUse] = {}
        self._turn = 0

    @property
    def has_words(self) -> bool:
        """Return whether there is any text by a user."""
        return any(
            isinstance(block, Text) and block.meta.source == "user" and block.text.strip()
            for message in self.messages
            for block in message.blocks
        )

    def take(self, index: int, entry: object) -> None:
        """Read one entry of the record's messages."""
        if not isinstance(entry, dict):
            self.notes.append(f"message {index} is not an object and was left out")
            return
        text = _text(entry.get("content"))
        match entry.get("role"):
            case "system" | "developer":
                self.system.append(text)
            case "user":
                self._user(text, is_injected=index in self._injected)
            case "assistant":
                self._assistant(text, entry.get("tool_calls"))
            case "tool":
                self._result(index, text, entry)
            case role:
                self.notes.append(f"message {index} has the unknown role {str(role)[:40]!r}")

    def _user(self, text: str, *, is_injected: bool) -> None:
        block: Text
        if is_injected:
            block = inject("skill", text, turn=max(self._turn, 1), attributes={"name": "recorded"})
        else:
            self._turn += 1
            block = user_words(text, turn=self._turn)
        self._append("user", (block,))

    def _assistant(self, text: str, calls: object) -> None:
        blocks: list[Block] = []
        if text.strip():
            blocks.append(_said(text, self._turn))
        if calls and not isinstance(calls, list):
            self.notes.append("calls that are not a list were left out")
        for call in calls if isinstance(calls, list) else ():
            use = _use(call, self._turn)
            if use is None:
                self.notes.append("a call without a function was left out")
                continue
            self._names[str(call.get("id") or "call")] = use
            blocks.append(use)
        if not blocks:
            blocks.append(_said("[no answer]", self._turn))
        self._append("assistant", tuple(blocks))

    def _result(self, index: int, text: str, entry: Mapping[str, Any]) -> None:
        use = self._names.get(str(entry.get("tool_call_id")))
        if use is None:
            self.notes.append(f"message {index} answers a call that does not exist; left out")
            return
        result = tool_result(use, text, is_error=entry.get("is_error") is True)
        self._append("user", (result,))

    def _append(self, role: Role, blocks: tuple[Block, ...]) -> None:
        """Append blocks; merge consecutive results and user messages into one message."""
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == role == "user":
            self.messages[-1] = Message(role, last.blocks + blocks, self._turn)
        else:
            self.messages.append(Message(role, blocks, self._turn))


def _injected(events: object) -> frozenset[int]:
    if not isinstance(events, list):
        return frozenset()
    return frozenset(
        at
        for event in events
        if isinstance(event, dict)
        and event.get("kind") in _OTHERS_WORDS
        and isinstance(at := event.get("at"), int)
    )


def _text(content: object) -> str:
    """Return the text of a message's content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        parts = [one.get("text") for one in content if isinstance(one, dict)]
        return "\n".join(one for one in parts if isinstance(one, str))
    return ""


def _said(text: str, turn: int) -> Text:
    clean = scalar_text(text)
    meta = user_words("", turn=turn).meta
    return Text(
        clean,
        msgspec.structs.replace(
            meta, tier=3, source="assistant", tokens=estimate_tokens(clean), compactable=True
        ),
    )


def _use(call: object, turn: int) -> ToolUse | None:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        return None
    given = function.get("arguments")
    arguments = given if isinstance(given, str) else msgspec.json.encode(given or {}).decode()
    arguments = scalar_text(arguments)
    name = _UNNAMEABLE.sub("_", str(function.get("name") or "no_name"))[:_MOST_OF_NAME]
    meta = _said(name + arguments, turn).meta
    return ToolUse(_id(call.get("id")), name, arguments, meta)


def _id(given: object) -> str:
    """Return the recorded id if providers accept it, or a short digest of the id."""
    text = str(given or "call")
    if len(text) <= _MOST_OF_NAME and not _UNNAMEABLE.search(text):
        return text
    data = text.encode("utf-8", "surrogatepass")
    return f"call_{hashlib.blake2b(data, digest_size=10).hexdigest()}"


_NAMES = ("timestamp", "created_at", "time", "ts")
_MILLISECONDS = 1e11  # A larger number is in milliseconds; as seconds it would be the year 5138.
_SIDES = {"user": "user", "tool": "user", "assistant": "assistant"}


def times_of(entries: Sequence[object], messages: Sequence[Message]) -> tuple[float, ...]:
    """Return each message's Unix time, in seconds; empty unless all are known and ascend.

    Args:
        entries: The recorded entries.
        messages: The converted messages. Consecutive entries of one role form one message, which
            has the time of the last entry.
    """
    told = [
        (side, _seconds(entry))
        for entry in entries
        if isinstance(entry, Mapping) and (side := _SIDES.get(str(entry.get("role"))))
    ]
    runs = [(side, [at for _, at in run]) for side, run in groupby(told, key=lambda one: one[0])]
    if [side for side, _ in runs] != [message.role for message in messages]:
        return ()
    times = [at[-1] for _, at in runs]
    known = [at for at in times if at is not None]
    is_ascending = all(one <= other for one, other in pairwise(known))
    return tuple(known) if len(known) == len(times) and is_ascending else ()


def _seconds(entry: Mapping[object, object]) -> float | None:
    """Return the Unix time of an entry, given in seconds, milliseconds or ISO 8601."""
    given = next((entry[name] for name in _NAMES if entry.get(name) is not None), None)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given / 1_000 if given > _MILLISECONDS else float(given)
    if not isinstance(given, str):
        return None
    try:
        return datetime.fromisoformat(given).timestamp()
    except (ValueError, OverflowError):
        return None


def imported_records(recorded: Recorded, *, source: str, at: str) -> Iterator[Record]:
    """Yield the log records of an imported conversation, after the first line.

    Each message with text by the user begins a turn. The recorded system prompt is not imported
    (H13):
    text of other programs never becomes Indwell's system prompt.

    Args:
        recorded: The conversation.
        source: The origin of the conversation, such as a file.
        at: The time of the import.
    """
    yield Repaired(f"{IMPORTED}{source} ({recorded.id})", at)
    for note in recorded.notes:
        yield Repaired(note, at)
    turn = 0
    for message in recorded.messages:
        answers, rest = _split(message)
        if answers is not None:
            yield MessageRecord(answers, at)  # The results belong to the turn before.
        words = _words(rest)
        if words or not turn:
            if turn:
                yield TurnEndRecord(turn, "done", at)
            turn = max(turn + 1, message.turn)
            yield TurnStartRecord(turn, words, at)
        if rest.blocks:
            yield MessageRecord(rest, at)
    if turn:
        yield TurnEndRecord(turn, "done", at)


def _split(message: Message) -> tuple[Message | None, Message]:
    """Split a message into the tool results at its beginning, if any, and the rest."""
    n_results = len(tool_results(message))
    if not n_results:
        return None, message
    head, tail = message.blocks[:n_results], message.blocks[n_results:]
    return Message(message.role, head, message.turn), Message(message.role, tail, message.turn)


def _words(message: Message) -> str:
    """Return the user's text in a message, or an empty text if missing."""
    if message.role != "user":
        return ""
    return "\n\n".join(
        block.text
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "user"
    )
