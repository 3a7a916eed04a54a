"""Turns session logs and review verdicts into tables, and writes them as Parquet or JSON lines.

``TABLES`` has the columns of each table. Columns of contents (prompts, answers, arguments, results)
are left out unless a caller asks for contents. pyarrow is optional, so only a function imports it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from indwell.errors import UserError
from indwell.messages import Text, ToolResult, ToolUse
from indwell.review.hunk import Verdict
from indwell.sessions.branches import lived
from indwell.sessions.log_lines import LogReading, read
from indwell.sessions.records import (
    CallEnded,
    CompactionRecord,
    Decided,
    Forked,
    MessageRecord,
    Record,
    Rewound,
    SessionStarted,
    Spent,
    TurnEndRecord,
    TurnStartRecord,
)
from indwell.workspace.paths import display

TableName: TypeAlias = Literal["turns", "model_calls", "tool_calls", "verdicts"]
TableFormat: TypeAlias = Literal["parquet", "jsonl"]
Row: TypeAlias = dict[str, Any]


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: The name of the column.
        kind: The type of the values; each value may also be null.
        unit: The unit, or empty for a column without a unit.
        about: A description for the documentation and for the Parquet file.
        is_content: Whether the column has contents of the conversation.
    """

    name: str
    kind: Literal["text", "whole number", "number", "true or false", "time"]
    unit: str
    about: str
    is_content: bool = False


_SESSION = Column("session", "text", "", "Id of the session")
_TURN = Column("turn", "whole number", "", "Number of the turn in the session, from 1")
_USAGE = (
    Column("input_tokens", "whole number", "tokens", "All prompt tokens, including cached ones"),
    Column("cached_tokens", "whole number", "tokens", "Prompt tokens that came from a cache"),
    Column("cache_write_tokens", "whole number", "tokens", "Prompt tokens written to a cache"),
    Column("output_tokens", "whole number", "tokens", "Tokens of the reply, including reasoning"),
    Column("reasoning_tokens", "whole number", "tokens", "Output tokens that were reasoning"),
    Column("is_estimated", "true or false", "", "Whether the endpoint reported no usage"),
)

TABLES: Mapping[TableName, tuple[Column, ...]] = {
    "turns": (
        _SESSION,
        Column("workspace", "text", "", "Folder of the session"),
        _TURN,
        Column("began_at", "time", "UTC", "Start of the turn"),
        Column("seconds", "number", "s", "Duration, including the time of open questions"),
        Column("model", "text", "", "The session's model at the end of the turn"),
        Column("mode", "text", "", "`plan`, `ask`, `review` or `auto`"),
        Column("ending", "text", "", "How the turn ended, such as `done`; null if it did not end"),
        Column("is_rewound", "true or false", "", "Whether a rewind removed the turn"),
        Column("model_calls", "whole number", "calls", "Model calls, including sub-agents'"),
        *_USAGE,
        Column("cost_usd", "number", "US dollars", "Cost of all calls; null if one is unknown"),
        Column("tool_calls", "whole number", "calls", "Tool calls, including sub-agents'"),
        Column("tool_failures", "whole number", "calls", "Tool calls that failed or were refused"),
        Column("files_changed", "whole number", "files", "Files that the turn changed"),
        Column("lines_added", "whole number", "lines", "Lines that the turn added"),
        Column("lines_removed", "whole number", "lines", "Lines that the turn removed"),
        Column("compactions", "whole number", "steps", "Steps that shortened the conversation"),
        Column("tokens_saved", "whole number", "tokens", "Tokens that these steps removed"),
        Column("prompt", "text", "", "The user's prompt", is_content=True),
        Column("answer", "text", "", "The model's last text", is_content=True),
        Column("message", "text", "", "The message for the user at the end", is_content=True),
    ),
    "model_calls": (
        _SESSION,
        _TURN,
        Column("ended_at", "time", "UTC", "End of the call"),
        Column("model", "text", "", "The endpoint's name of the model"),
        Column("is_subagent", "true or false", "", "Whether a sub-agent made the call"),
        Column("is_fallback", "true or false", "", "Whether a fallback replaced the model"),
        *_USAGE,
        Column(
            "expected_cached_tokens",
            "whole number",
            "tokens",
            "Prompt tokens that a cache should have served",
        ),
        Column("cost_usd", "number", "US dollars", "Cost; null if the price is unknown"),
    ),
    "tool_calls": (
        _SESSION,
        _TURN,
        Column("call", "text", "", "Id of the call, unique in the session"),
        Column("within", "text", "", "Id of the call that started the calling sub-agent, or empty"),
        Column("ended_at", "time", "UTC", "End of the call"),
        Column("seconds", "number", "s", "Duration, including the time of a question"),
        Column("tool", "text", "", "Name of the tool; empty in older logs"),
        Column("is_failed", "true or false", "", "Whether the call failed or was refused"),
        Column(
            "decision",
            "text",
            "",
            "`allow`, `ask` or `deny`; null for an allowed read, and in older logs",
        ),
        Column("user_answer", "text", "", "The user's answer to a permission question, or empty"),
        Column("target", "text", "", "File, command or other target", is_content=True),
        Column(
            "arguments",
            "text",
            "JSON",
            "The model's arguments; null for a sub-agent's call",
            is_content=True,
        ),
        Column(
            "result",
            "text",
            "",
            "The result for the model; null for a sub-agent's call",
            is_content=True,
        ),
        Column("diff", "text", "", "Unified diff of the call's edits", is_content=True),
    ),
    "verdicts": (
        _SESSION,
        _TURN,
        Column("verdict", "text", "", "Id of the verdict, which may cover several turns"),
        Column("judged_at", "time", "UTC", "Time of the verdict"),
        Column("is_accepted", "true or false", "", "Accepted or rejected"),
        Column("path", "text", "", "The file, relative to its workspace"),
        Column("hunks", "whole number", "hunks", "Judged hunks with changes of the turn"),
        Column("lines_added", "whole number", "lines", "New lines of these hunks"),
        Column("lines_removed", "whole number", "lines", "Old lines of these hunks"),
    ),
}
"""The columns of each table, in order."""

NO_PYARROW = (
    "--parquet: pyarrow writes the files and is not installed; run `pip install 'indwell[parquet]'`"
    ", or use --jsonl"
)
_NEEDED = (
    *(CallEnded, CompactionRecord, Decided, Forked, Rewound),
    *(SessionStarted, Spent, TurnEndRecord, TurnStartRecord),
)
_LEFT_OUT = tuple(
    f'{{"type":"{kind.__struct_config__.tag}",'.encode()
    for kind in get_args(Record)
    if kind not in _NEEDED
)
_CONTENTS_LEFT_OUT = tuple(one for one in _LEFT_OUT if one != b'{"type":"said",')


def read_log(pieces: Iterable[bytes], *, with_contents: bool) -> LogReading:
    """Read the records that the tables need from pieces of a log."""
    return read(pieces, passing=_CONTENTS_LEFT_OUT if with_contents else _LEFT_OUT)


def session_rows(session: str, records: Sequence[Record]) -> Mapping[TableName, Sequence[Row]]:
    """Return the rows of one session, with contents as far as ``records`` has messages.

    The turns that a fork copied belong to the original session, so they are left out.
    """
    start = max((n for n, one in enumerate(records, 1) if isinstance(one, Forked)), default=0)
    alive = {id(record) for record in lived(records)}
    tables = _Tables(session)
    for number, record in enumerate(records):
        if isinstance(record, SessionStarted):
            tables.workspace, tables.model = record.workspace, record.model
        elif number >= start:
            tables.take(record, is_alive=id(record) in alive)
    return {"turns": tables.turns, "model_calls": tables.calls, "tool_calls": tables.tools}


class _Tables:
    """The rows of a session while its log is read."""

    def __init__(self, session: str) -> None:
        self.workspace = self.model = ""
        self.turns: list[Row] = []
        self.calls: list[Row] = []
        self.tools: list[Row] = []
        self._session = session
        self._by_number: dict[int, Row] = {}
        self._decided: dict[str, Decided] = {}
        self._arguments: dict[str, str] = {}
        self._without_result: dict[str, Row] = {}

    def take(self, record: Record, *, is_alive: bool) -> None:
        match record:
            case TurnStartRecord():
                self._begin(record, is_alive=is_alive)
            case Spent():
                self._spend(record)
            case CompactionRecord():
                if (turn := self._by_number.get(record.turn)) is not None:
                    turn["compactions"] += 1
                    turn["tokens_saved"] += record.before - record.after
            case Decided():
                self._decided[record.tool_use_id] = record
            case CallEnded():
                self._end_call(record)
            case MessageRecord():
                self._say(record)
            case TurnEndRecord():
                self._end(record)
            case _:
                pass

    def _begin(self, record: TurnStartRecord, *, is_alive: bool) -> None:
        turn: Row = dict.fromkeys(column.name for column in TABLES["turns"])
        turn |= dict.fromkeys(_COUNTED, 0)
        turn |= {
            "session": self._session,
            "workspace": self.workspace,
            "turn": record.turn,
            "began_at": record.at,
            "model": self.model,
            "mode": record.mode,
            "is_rewound": not is_alive,
            "is_estimated": False,
            "cost_usd": 0.0,
            "prompt": record.words,
        }
        self._by_number[record.turn] = turn
        self.turns.append(turn)

    def _spend(self, record: Spent) -> None:
        usage = record.usage
        tokens = {
            "input_tokens": usage.input,
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.cache_write,
            "output_tokens": usage.output,
            "reasoning_tokens": usage.thinking,
        }
        self.calls.append(
            {
                "session": self._session,
                "turn": record.turn,
                "ended_at": record.at,
                "model": record.model,
                "is_subagent": bool(record.agent),
                "is_fallback": record.stands_in,
                **tokens,
                "is_estimated": not usage.reported,
                "expected_cached_tokens": record.expected,
                "cost_usd": record.cost,
            }
        )
        self.model = record.model if record.is_own else self.model
        if (turn := self._by_number.get(record.turn)) is None:
            return
        for name, number in (("model_calls", 1), *tokens.items()):
            turn[name] += number
        turn["model"] = self.model
        turn["is_estimated"] |= not usage.reported
        known, cost = turn["cost_usd"], record.cost
        turn["cost_usd"] = None if known is None or cost is None else known + cost

    def _end_call(self, record: CallEnded) -> None:
        decided = self._decided.get(record.tool_use_id)
        row = {
            "session": self._session,
            "turn": record.turn,
            "call": record.tool_use_id,
            "within": record.within,
            "ended_at": record.at,
            "seconds": record.seconds,
            "tool": record.tool,
            "is_failed": bool(record.failed),
            "decision": None if decided is None else decided.decision,
            "user_answer": "" if decided is None else decided.answer,
            "target": record.target,
            "arguments": self._arguments.get(record.tool_use_id),
            "result": None,
            "diff": record.diff,
        }
        self.tools.append(row)
        self._without_result[record.tool_use_id] = row
        if (turn := self._by_number.get(record.turn)) is not None:
            turn["tool_calls"] += 1
            turn["tool_failures"] += bool(record.failed)

    def _say(self, record: MessageRecord) -> None:
        message = record.message
        texts: list[str] = []
        for block in message.blocks:
            match block:
                case Text(text=text):
                    texts.append(text)
                case ToolUse():
                    self._arguments[block.id] = block.arguments
                case ToolResult():
                    row = self._without_result.pop(block.tool_use_id, None)
                    if row is not None:
                        row["result"] = block.text
                case _:
                    pass
        turn = self._by_number.get(message.turn)
        if message.role == "assistant" and texts and turn is not None:
            turn["answer"] = "\n".join(texts)

    def _end(self, record: TurnEndRecord) -> None:
        if (turn := self._by_number.get(record.turn)) is None:
            return
        turn |= {
            "seconds": record.seconds,
            "ending": record.ending,
            "message": record.message,
            "files_changed": len(record.changes),
            "lines_added": sum(one.added for one in record.changes),
            "lines_removed": sum(one.removed for one in record.changes),
        }


_COUNTED = (
    *("model_calls", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"),
    *("reasoning_tokens", "tool_calls", "tool_failures", "compactions", "tokens_saved"),
)


def verdict_rows(
    verdicts: Iterable[Verdict], workspace: Path, sessions: frozenset[str]
) -> Sequence[Row]:
    """Return a row for each verdict and each turn whose changes the verdict covers.

    Args:
        verdicts: The verdicts of one workspace.
        workspace: The workspace's folder.
        sessions: The sessions to return.
    """
    rows: list[Row] = []
    for one in verdicts:
        hunks, added, removed = Counter[Any](), Counter[Any](), Counter[Any]()
        for hunk in (*one.accepted, *one.rejected):
            for actor in hunk.actors:
                hunks[actor] += 1
                added[actor] += len(hunk.new)
                removed[actor] += len(hunk.old)
        rows += (
            {
                "session": actor.session,
                "turn": actor.turn,
                "verdict": one.id,
                "judged_at": one.at,
                "is_accepted": bool(one.accepted),
                "path": display(one.path, (workspace,)),
                "hunks": n_hunks,
                "lines_added": added[actor],
                "lines_removed": removed[actor],
            }
            for actor, n_hunks in hunks.items()
            if actor.session in sessions
        )
    return rows


def columns_of(table: TableName, *, with_contents: bool) -> tuple[Column, ...]:
    """Return the columns of a table; the columns of contents only if they are wanted."""
    return tuple(one for one in TABLES[table] if with_contents or not one.is_content)


def check_format(form: TableFormat) -> None:
    """Check that the format can be written.

    Raises:
        UserError: Parquet needs pyarrow, which is not installed.
    """
    if form == "parquet" and find_spec("pyarrow") is None:
        raise UserError(NO_PYARROW)


def encoded_table(
    rows: Iterable[Row],
    columns: Sequence[Column],
    form: TableFormat,
    hide: Callable[[str], str],
) -> bytes:
    """Return the bytes of a file with ``columns`` of ``rows``.

    Args:
        rows: The rows; further values in a row are left out.
        columns: The columns of the file.
        form: The format of the file.
        hide: Returns a text without secrets.
    """
    shown = ({column.name: _cell(row[column.name], hide) for column in columns} for row in rows)
    return _parquet(list(shown), columns) if form == "parquet" else _json_lines(shown)


def _cell(value: object, hide: Callable[[str], str]) -> object:
    if not isinstance(value, str):
        return value
    return hide(value).encode("utf-8", "replace").decode()  # A file name may have odd bytes.


def _json_lines(rows: Iterable[Row]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _parquet(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {
        "text": pa.string(),
        "whole number": pa.int64(),
        "number": pa.float64(),
        "true or false": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
    }
    schema = pa.schema(
        [
            pa.field(
                one.name, kinds[one.kind], metadata={"unit": one.unit, "description": one.about}
            )
            for one in columns
        ]
    )
    times = [one.name for one in columns if one.kind == "time"]
    timed = [row | {name: _moment(row[name]) for name in times} for row in rows]
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(timed, schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue())


def _moment(at: str) -> datetime | None:
    """Return the time of a record, or None if a damaged log has no valid time."""
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return None
