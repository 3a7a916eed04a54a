"""Which records of a log the conversation goes on from: a rewind leaves turns behind. Pure.

A log only grows, so what is left behind stays in it; a record says where the conversation went on.
So the records are a tree, and the conversation is the way from its root to its last record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from indwell.context.plan import Plan
from indwell.context.todo import TodoItem
from indwell.errors import SessionError
from indwell.sessions.records import (
    Forked,
    Record,
    Rewound,
    SessionStarted,
    Spent,
    TurnEndRecord,
    TurnStartRecord,
)
from indwell.sessions.told import CommandSet, PlanSet, TodoSet

_COMMAND = re.compile(r"b([0-9]{1,9})")  # what else stands in a log, no session has written
_FOLDERS = re.compile(r"[/\\]")  # …/<session>/spill/0001-plan.md, on any system


class Fork(NamedTuple):
    """A new session that begins as another one was.

    Attributes:
        session: Its id.
        origin: The other one's.
        turn: Up to whose end it goes.
        notices: What the user should know, a sentence each.
    """

    session: str
    origin: str
    turn: int
    notices: tuple[str, ...]


class Rewind(NamedTuple):
    """A conversation that was taken back.

    Attributes:
        turn: To whose end.
        draft: The user's words of the first turn that was left behind, to say them otherwise.
        notices: What the user should know, a sentence each.
        changed: Files that the turns behind it changed, as the log names them.
    """

    turn: int
    draft: str
    notices: tuple[str, ...]
    changed: tuple[str, ...] = ()


def changed_after(records: Sequence[Record], turn: int) -> tuple[str, ...]:
    """The files that later turns of a conversation changed, as the log names them, each once."""
    ends = (one for one in lived(records) if isinstance(one, TurnEndRecord) and one.turn > turn)
    return tuple(dict.fromkeys(file.path for end in ends for file in end.changes))


def lived(records: Sequence[Record]) -> Sequence[Record]:
    """The records that the conversation consists of, in order; all of them without a rewind."""
    if not any(isinstance(record, Rewound) for record in records):
        return records
    before: list[int] = []  # for each record the one that the conversation had before it
    ends = {0: -1}
    at, turn = -1, 0
    for index, record in enumerate(records):
        if isinstance(record, Rewound):
            at = ends.get(record.turn, at)  # a turn that is damaged away: go on as before
        before.append(at)
        at = index
        turn = _noted(ends, turn, index, record)
    way: list[int] = []
    while at >= 0:
        way.append(at)
        at = before[at]
    return tuple(records[index] for index in reversed(way))


def turn_ends(records: Sequence[Record]) -> Mapping[int, int]:
    """For each turn the index of its last record; 0 is what stands before the first one."""
    ends = {0: -1}
    turn = 0
    for index, record in enumerate(records):
        turn = _noted(ends, turn, index, record)
    return ends


def up_to(records: Sequence[Record], turn: int) -> Sequence[Record]:
    """The records of the conversation as it was at the end of ``turn``, left behind or not.

    Raises:
        SessionError: The log has no such turn; names those that it has.
    """
    ends = turn_ends(records)
    if turn not in ends:
        last = max(ends, default=0)
        has = f"its turns are 1 to {last}" if last else "it has none yet"
        raise SessionError(f"the session has no turn {turn}; {has}")
    return lived(records[: ends[turn] + 1])


def last_ended(records: Sequence[Record]) -> int:
    """The newest turn of the conversation that has an end; 0 if none has."""
    ended = (one.turn for one in reversed(lived(records)) if isinstance(one, TurnEndRecord))
    return next(ended, 0)


def last_begun(records: Sequence[Record]) -> int:
    """The newest turn of the conversation; 0 if none has begun."""
    begun = (one.turn for one in reversed(lived(records)) if isinstance(one, TurnStartRecord))
    return next(begun, 0)


def todo_of(records: Sequence[Record]) -> tuple[TodoItem, ...]:
    """What is to be done, as the model has written it last; empty if it never has."""
    for record in reversed(lived(records)):
        if isinstance(record, TodoSet):
            return record.items
    return ()


def commands_of(records: Sequence[Record]) -> tuple[int, tuple[str, ...]]:
    """How many background commands were ever begun, and which still ran for all the model knows."""
    said = [record for record in records if isinstance(record, CommandSet)]
    numbers = (_COMMAND.fullmatch(one.id) for one in said)
    n_begun = max((int(one[1]) for one in numbers if one is not None), default=0)
    runs: dict[str, bool] = {}
    for record in lived(records):
        if isinstance(record, CommandSet):
            runs[record.id] = record.runs
    return n_begun, tuple(name for name, does in runs.items() if does)


def plan_of(records: Sequence[Record]) -> Plan:
    """The plan as it stands; none if the model never proposed one.

    Old forks name the document of the session they come from, which is not theirs to write in.
    """
    for record in reversed(lived(records)):
        if isinstance(record, PlanSet):
            owner = _FOLDERS.split(record.path)[-3:-2]
            others = {one for fork in records if isinstance(fork, Forked) for one in fork.spills}
            return Plan(record.state, record.text, "" if others & set(owner) else record.path)
    return Plan()


def model_of(branch: Sequence[Record]) -> str:
    """The model that was asked last; empty if nobody says."""
    for record in reversed(branch):
        if isinstance(record, Spent) and record.agent:
            continue
        if isinstance(record, Spent | SessionStarted | Rewound | Forked) and record.model:
            return record.model
    return ""


def _noted(ends: dict[int, int], turn: int, index: int, record: Record) -> int:
    """Take down where turns end; gives the one that goes on, or -1 between two of them."""
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
