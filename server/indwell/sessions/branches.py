"""Finds the current branch of a session's log, and its last state. Pure.

A log is append-only, so it keeps the turns that a rewind abandons. A ``Rewound`` record names the
turn after which the conversation continued. The records form a tree. The conversation is the path
from the root to the last record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from indwell.context.task_state import Plan, TodoItem
from indwell.errors import SessionError
from indwell.lazy_pattern import lazy_pattern
from indwell.sessions.records import (
    CommandSet,
    Forked,
    PlanSet,
    Record,
    Rewound,
    SessionStarted,
    Spent,
    TodoSet,
    TurnEndRecord,
    TurnStartRecord,
)

_COMMAND = lazy_pattern(r"b([0-9]{1,9})")  # The pattern matches ids of background commands.
# The pattern matches the separators of …/<session>/spill/0001-plan.md on any system.
_FOLDERS = lazy_pattern(r"[/\\]")


class Fork(NamedTuple):
    """A new session that starts with the conversation of another session.

    Attributes:
        session: Id of the new session.
        origin: Id of the other session.
        turn: The last turn copied.
        notices: Notices to the user, one sentence each.
    """

    session: str
    origin: str
    turn: int
    notices: tuple[str, ...]


class Rewind(NamedTuple):
    """The result of a rewind.

    Attributes:
        turn: The last turn kept.
        draft: The user's message of the first abandoned turn, for the user to edit.
        notices: Notices to the user, one sentence each.
        changed: Files that the abandoned turns changed, by their names in the log.
    """

    turn: int
    draft: str
    notices: tuple[str, ...]
    changed: tuple[str, ...] = ()


def changed_after(records: Sequence[Record], turn: int) -> tuple[str, ...]:
    """Return the files that turns after ``turn`` changed, each once, by their names in the log."""
    ends = (one for one in lived(records) if isinstance(one, TurnEndRecord) and one.turn > turn)
    return tuple(dict.fromkeys(file.path for end in ends for file in end.changes))


def lived(records: Sequence[Record]) -> Sequence[Record]:
    """Return the records of the current branch, in order; all records if nothing was rewound."""
    if not any(isinstance(record, Rewound) for record in records):
        return records
    # The list has the index of each record's predecessor in the conversation.
    before: list[int] = []
    ends = {0: -1}
    at, turn = -1, 0
    for index, record in enumerate(records):
        if isinstance(record, Rewound):
            at = ends.get(record.turn, at)  # The rewind is ignored if damage has removed the turn.
        before.append(at)
        at = index
        turn = _noted(ends, turn, index, record)
    way: list[int] = []
    while at >= 0:
        way.append(at)
        at = before[at]
    return tuple(records[index] for index in reversed(way))


def turn_ends(records: Sequence[Record]) -> Mapping[int, int]:
    """Return the index of each turn's last record; turn 0 ends before the first turn."""
    ends = {0: -1}
    turn = 0
    for index, record in enumerate(records):
        turn = _noted(ends, turn, index, record)
    return ends


def up_to(records: Sequence[Record], turn: int) -> Sequence[Record]:
    """Return the records up to the end of ``turn``, even if a rewind has removed this turn.

    Raises:
        SessionError: The log has no such turn; the message names the turns of the log.
    """
    ends = turn_ends(records)
    if turn not in ends:
        last = max(ends, default=0)
        has = f"its turns are 1 to {last}" if last else "it has none yet"
        raise SessionError(f"the session has no turn {turn}; {has}")
    return lived(records[: ends[turn] + 1])


def last_ended(records: Sequence[Record]) -> int:
    """Return the number of the conversation's newest finished turn, or 0 if missing."""
    ended = (one.turn for one in reversed(lived(records)) if isinstance(one, TurnEndRecord))
    return next(ended, 0)


def last_begun(records: Sequence[Record]) -> int:
    """Return the number of the conversation's newest turn, or 0 if missing."""
    begun = (one.turn for one in reversed(lived(records)) if isinstance(one, TurnStartRecord))
    return next(begun, 0)


def todo_of(records: Sequence[Record]) -> tuple[TodoItem, ...]:
    """Return the model's newest to-do list, or an empty tuple if missing."""
    for record in reversed(lived(records)):
        if isinstance(record, TodoSet):
            return record.items
    return ()


def commands_of(records: Sequence[Record]) -> tuple[int, tuple[str, ...]]:
    """Return the number of background commands, and the ids that the model knows as running."""
    said = [record for record in records if isinstance(record, CommandSet)]
    numbers = (_COMMAND.fullmatch(one.id) for one in said)
    n_begun = max((int(one[1]) for one in numbers if one is not None), default=0)
    runs: dict[str, bool] = {}
    for record in lived(records):
        if isinstance(record, CommandSet):
            runs[record.id] = record.runs
    return n_begun, tuple(name for name, does in runs.items() if does)


def plan_of(records: Sequence[Record]) -> Plan:
    """Return the current plan, or an empty plan if the model never proposed one.

    Old forks name the plan document of the original session. The document's path is dropped,
    because a fork must not write to that document.
    """
    for record in reversed(lived(records)):
        if isinstance(record, PlanSet):
            owner = _FOLDERS.split(record.path)[-3:-2]
            others = {one for fork in records if isinstance(fork, Forked) for one in fork.spills}
            return Plan(record.state, record.text, "" if others & set(owner) else record.path)
    return Plan()


def model_of(branch: Sequence[Record]) -> str:
    """Return the newest model of the main agent, or an empty text if the log names no model."""
    for record in reversed(branch):
        if isinstance(record, Spent) and not record.is_own:
            continue
        if isinstance(record, Spent | SessionStarted | Rewound | Forked) and record.model:
            return record.model
    return ""


def _noted(ends: dict[int, int], turn: int, index: int, record: Record) -> int:
    """Record in ``ends`` where turns end; return the open turn, or -1 between two turns."""
    match record:
        case TurnStartRecord():
            turn = record.turn
        case TurnEndRecord():
            ends[record.turn] = index
            return -1
        case Rewound():
            return -1
        case _:
            pass
    if turn >= 0:
        ends[turn] = index
    return turn
