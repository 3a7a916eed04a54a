"""Converts a session's log to the events of its turns, equal to the live events. Pure.

Events without a record are missing: text deltas, output, questions and most notices. Data that only
the log has, such as the result of a call, is in fields that are empty in live events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from indwell.agent.core import events
from indwell.agent.core.events import (
    EditApplied,
    Event,
    FileChanged,
    OfAgent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from indwell.agent.features.subagents.definition import NAME, subject_of
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import BROKE_OFF, Block, Image, Text, Thinking, ToolResult, ToolUse, Usage
from indwell.sessions.branches import lived
from indwell.sessions.records import (
    ENDED,
    FAILURE_CHARACTERS,
    CallEnded,
    CompactionRecord,
    Decided,
    Forked,
    MessageRecord,
    PlanSet,
    Record,
    Repaired,
    Rewound,
    SessionStarted,
    Spent,
    SteeringRecord,
    TodoSet,
    TurnEndRecord,
    TurnStartRecord,
    was_interrupted,
)

TITLE_CHARACTERS = 80  # A missing title is replaced by the first 80 characters of the prompt.


class RecordedTurn(msgspec.Struct, frozen=True):
    """One turn, read from the log.

    Attributes:
        turn: The number of the turn.
        at: The time when the turn began.
        left: Whether a rewind removed the turn from the conversation.
        events: ``TurnStarted`` is the first. ``TurnFinished`` is last, but is missing while the
            turn runs, or if the process was killed. The events of one call are together.
    """

    turn: int
    at: str
    left: bool
    events: tuple[Event, ...]

    @property
    def finished(self) -> TurnFinished | None:
        """The last event, if the turn has ended."""
        last = self.events[-1]
        return last if isinstance(last, TurnFinished) else None


class RecordedCall(msgspec.Struct):
    """The events of one call; ``inner`` are the calls of a sub-agent that this call started."""

    started: ToolStarted
    inner: list[RecordedCall] = msgspec.field(default_factory=list)
    edits: list[EditApplied] = msgspec.field(default_factory=list)
    finished: ToolFinished | None = None

    @property
    def result(self) -> str | None:
        """Return the result that the model received, or None if the log has none."""
        return self.finished.result if self.finished else None

    @property
    def is_error(self) -> bool:
        """Return whether the call failed or was refused."""
        return self.finished is not None and self.finished.is_error

    def events(self) -> Iterator[Event]:
        """Return all events, in order."""
        yield self.started
        for call in self.inner:
            yield from call.events()
        yield from self.edits
        if self.finished is not None:
            yield self.finished


def events_of(records: Sequence[Record]) -> tuple[RecordedTurn, ...]:
    """Return the turns of a log, oldest first, including those that a rewind abandoned."""
    alive = {id(record) for record in lived(records)}
    turns: list[_Turn] = []
    model = ""
    for record in records:
        match record:
            case SessionStarted():
                model = record.model
            case TurnStartRecord():
                turns.append(_Turn(record, model, left=id(record) not in alive))
            case Spent(agent="") if turns:
                model = record.model
                turns[-1].take(record)
            case _:
                if turns:
                    turns[-1].take(record)
    return tuple(turn.told() for turn in turns)


def by_call(told: Iterable[Event]) -> Iterator[Event | RecordedCall]:
    """Yield the events of a recorded turn, with the events of each call in one ``RecordedCall``."""
    call: RecordedCall | None = None
    for event in told:
        of_call = call.inner[-1] if call is not None and call.inner and event.agent else call
        match event:
            case ToolStarted(agent=""):
                if call is not None:
                    yield call
                call = RecordedCall(event)
            case ToolStarted() if call is not None:
                call.inner.append(RecordedCall(event))
            case EditApplied() if of_call is not None:
                of_call.edits.append(event)
            case ToolFinished() if of_call is not None:
                of_call.finished = event
            case _:
                if call is not None:
                    yield call
                    call = None
                yield event
    if call is not None:
        yield call


def ending_words(turn: RecordedTurn) -> str:
    """Return a phrase about the end of the turn, for a heading."""
    ending = turn.finished.ending if turn.finished else "not ended"
    return f"{ending}, left behind" if turn.left else ending


def spent(turn: RecordedTurn) -> tuple[Usage, float | None]:
    """Return the tokens and cost of the turn so far; sub-agents are added when they end."""
    for event in reversed(turn.events):
        match event:
            case TurnFinished(usage=usage, cost=cost):
                return usage, cost
            case events.UsageReported(total=usage, total_cost=cost):
                return usage, cost
            case _:
                pass
    return Usage(), 0.0


def named_text(event: Event) -> tuple[str, str]:
    """Return the kind and the text of an event that is neither text nor a call.

    Other events give empty texts.
    """
    match event:
        case events.ThinkingAdded(text=text):
            return "thinking", text
        case events.Attached(label="", text=text):
            return "attached", text
        case events.Attached(text=text):
            return "image", text
        case events.Notice(message=message):
            return "notice", message
        case events.Compacted(layer=layer, before=before, after=after, note=note):
            words = f"the conversation was compacted ({layer}): from {before:,} to {after:,} tokens"
            return "notice", f"{words}; {note}" if note else words
        case _:
            return "", ""


_E = TypeVar("_E", bound=OfAgent)
_Item: TypeAlias = Event | RecordedCall


class _Turn:
    """A turn under construction, while its records are read."""

    def __init__(self, record: TurnStartRecord, model: str, *, left: bool) -> None:
        self._record, self._model, self._left = record, model, left
        self._n = record.turn
        self._items: list[_Item] = []
        self._calls: dict[
            str, RecordedCall
        ] = {}  # The newest call is stored by id, because some endpoints repeat ids.
        self._steering: list[str] = []  # No request contains these messages yet.
        self._is_prompt_sent = False
        self._answer = ""
        self._rounds = 0
        self._usage = Usage()
        self._cost: float | None = 0.0
        self._ended: TurnEndRecord | None = None

    def take(self, record: Record) -> None:  # noqa: C901, PLR0912 - one flat table of records
        """Add the events of a record; requests, intents and feature states have no events."""
        match record:
            case MessageRecord(message=message):
                self._rounds += message.role == "assistant"
                for block in message.blocks:
                    self._block(block)
            case Spent():
                self._spent(record)
            case SteeringRecord(words=words):
                self._steering.append(words)
            case CompactionRecord():
                self._items.append(self._as(events.Compacted, record))
            case Repaired(what=what):
                self._notice(what)
            case Rewound(turn=turn):
                self._notice(
                    f"the conversation was rewound, and continues from the end of turn {turn}"
                )
            case Forked(session=session, turn=turn):
                self._notice(f"forked from session {session}, at the end of its turn {turn}")
            case TodoSet():
                self._items.append(self._as(events.TodoChanged, record))
            case PlanSet():
                self._items.append(self._as(events.PlanChanged, record))
            case Decided() | CallEnded():
                self._called(record)
            case TurnEndRecord():
                self._ended = record
            case _:
                pass

    def told(self) -> RecordedTurn:
        """Return the turn, with all of its events."""
        record = self._record
        title = record.title or record.words.lstrip().partition("\n")[0][:TITLE_CHARACTERS]
        began = self._as(events.TurnStarted, record, title=title, model=self._model)
        middle = (
            event
            for item in self._items
            for event in (item.events() if isinstance(item, RecordedCall) else (item,))
        )
        unsent = (events.Steered(self._n, words, delivered=False) for words in self._steering)
        return RecordedTurn(
            self._n, record.at, self._left, (began, *middle, *unsent, *self._finished())
        )

    def _finished(self) -> Iterator[TurnFinished]:
        record = self._ended
        if record is None:
            return
        is_cut = was_interrupted(record)
        yield self._as(
            TurnFinished,
            record,
            ending="interrupted" if is_cut else record.ending,
            message=ENDED if is_cut else record.message,
            answer=self._answer,
            draft=record.words,
            rounds=self._rounds,
            usage=self._usage,
            cost=self._cost,
            changes=tuple(FileChanged(one.path, one.added, one.removed) for one in record.changes),
        )

    def _block(self, block: Block) -> None:
        n = self._n
        match block:
            case Text(text=text, meta=meta) if meta.source == "user":
                if self._is_prompt_sent and self._steering:
                    words = self._steering.pop(0)
                    self._items.append(events.Steered(n, words, delivered=True))
                self._is_prompt_sent = True
            case Text(text=text, meta=meta) if meta.source == "assistant":
                if (reply := _without_mark(text)).strip():
                    self._answer = reply
                    self._items.append(events.TextAdded(n, reply))
            case Text(text=text, meta=meta):
                self._items.append(events.Attached(n, meta.source, text))
            case Thinking(text=text):
                self._items.append(events.ThinkingAdded(n, text))
            case ToolUse(id=id_, name=name, arguments=arguments):
                # A running sub-agent shows its task; after the sub-agent's end, the log has the
                # target.
                target = subject_of(arguments) if name == NAME else ""
                call = RecordedCall(ToolStarted(n, id_, name, target, arguments))
                self._calls[id_] = call
                self._items.append(call)
            case ToolResult():
                self._result(block)
            case Image(media_type=media_type, label=label):
                source = block.meta.source
                self._items.append(events.Attached(n, source, media_type, label or "picture"))

    def _result(self, block: ToolResult) -> None:
        call = self._calls.get(block.tool_use_id)
        if call is None:
            return
        begin, known = call.started, call.finished
        if known is None:  # The log is old, or Indwell ended while the call ran.
            unknown: tuple[bool, str, None] = (False, "", None)
            known = ToolFinished(self._n, begin.id, begin.name, begin.target, *unknown)
        call.finished = msgspec.structs.replace(
            known,
            is_error=block.is_error,
            message=(known.message or block.text[:FAILURE_CHARACTERS]) if block.is_error else "",
            result=block.text,
        )

    def _spent(self, record: Spent) -> None:
        self._usage += record.usage
        is_known = self._cost is not None and record.cost is not None
        self._cost = (self._cost or 0.0) + (record.cost or 0.0) if is_known else None
        if record.agent:
            return  # The sums include the call, and the sub-agent's card shows it.
        self._model = record.model
        self._items.append(
            events.UsageReported(
                self._n, self._rounds, record.usage, record.cost, self._usage, self._cost
            )
        )

    def _called(self, record: Decided | CallEnded) -> None:
        call = self._calls.get(record.within or record.tool_use_id)
        if call is None:
            return
        if record.within:
            known = reversed(call.inner)
            inner = next((one for one in known if one.started.id == record.tool_use_id), None)
            if inner is None or inner.finished is not None:
                # ``CallEnded`` follows a decision that has an ending.
                if isinstance(record, Decided) and record.ending:
                    return
                inner = RecordedCall(
                    ToolStarted(self._n, record.tool_use_id, record.tool, "", agent=record.within)
                )
                call.inner.append(inner)
            call = inner
        if isinstance(record, Decided):
            target = call.started.target or record.what
            call.started = msgspec.structs.replace(call.started, target=target)
            return
        target = record.target or call.started.target
        call.started = msgspec.structs.replace(call.started, target=target)
        call.edits = list(_edits(record, call.started))
        call.finished = self._as(
            ToolFinished,
            record,
            id=record.tool_use_id,
            name=call.started.name,
            target=target,
            is_error=bool(record.failed),
            message=record.failed,
            agent=record.within,
        )

    def _as(self, kind: type[_E], record: Record, **more: object) -> _E:
        """Create the event for a record; ``more`` has the event's fields that the record lacks.

        Fields of the same name are copied.
        """
        names = set(kind.__struct_fields__) & set(record.__struct_fields__)
        known = {name: getattr(record, name) for name in names}
        return kind(**{**known, "turn": self._n, **more})

    def _notice(self, message: str) -> None:
        self._items.append(events.Notice(self._n, "info", message))


def _without_mark(text: str) -> str:
    """Remove the marker of a reply that was cut off, because the marker is for the model."""
    return text.removesuffix(BROKE_OFF).removesuffix("\n") if text.endswith(BROKE_OFF) else text


_HEAD = lazy_pattern(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def _edits(record: CallEnded, call: ToolStarted) -> Iterator[EditApplied]:
    """Return the edits of a call: its diff, split by file."""
    if not record.diff:
        return
    files: list[list[str]] = [[]]
    counts: list[list[int]] = [[0, 0]]  # Each pair counts the lines added and removed in a file.
    old = new = 0  # The numbers of lines that remain in the hunk.
    lines = record.diff.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if (old > 0 or new > 0) and line[:1] in {
            "-",
            "+",
            " ",
            "\\",
        }:  # The line belongs to a hunk and is no header.
            counts[-1][0] += line[0] == "+"
            counts[-1][1] += line[0] == "-"
            old -= line[0] in "- "
            new -= line[0] in "+ "
        elif line.startswith("--- ") and following.startswith("+++ "):
            files.append([])
            counts.append([0, 0])
        elif head := _HEAD.match(line):
            old, new = (1 if count is None else int(count) for count in head.groups())
        files[-1].append(line)
    first = 1 if len(files) > 1 else 0  # Text before the first header belongs to no file.
    for own, (added, removed) in zip(files[first:], counts[first:], strict=True):
        is_only = not first or (len(files) == 2 and record.target)  # noqa: PLR2004 - one header
        yield EditApplied(
            call.turn,
            call.id,
            record.target if is_only else _name_in(own),
            added,
            removed,
            "\n".join(own),
            created=own[0] == "--- /dev/null" or any(one.startswith("@@ -0,0 ") for one in own),
            verified=True,
            agent=call.agent,
        )


def _name_in(lines: Sequence[str]) -> str:
    """Return a file's name, from the headers of the file's diff."""
    old, new = (line[4:].partition("\t")[0] for line in lines[:2])
    return (old if new == "/dev/null" else new).removeprefix("a/").removeprefix("b/")
