"""Damages sessions of Indwell and other tools; each must stay readable and sendable (H24).

Each variant damages a recorded session of the shared data in one to six ways: lost, swapped,
repeated or torn lines, invalid bytes, misplaced results, duplicate ids, invalid roles and types.
The run then imports a foreign record, or reads Indwell's log of the session. No error may occur,
the result must be sendable, repairs must be reported, and a second reading must give the same
result.

    PYTHONPATH=server:tests python tests/faults/damaged_sessions.py [VARIANTS [SEED]]
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from indwell.agent.restore import outcomes, past_of
from indwell.context.pairing import problems
from indwell.messages import Message
from indwell.sessions import log_lines
from indwell.sessions.imports import imported_records, recorded_sessions
from indwell.sessions.records import Repaired, SessionStarted, repairs
from indwell.sessions.storage.writer import encode

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
SESSIONS = Path(os.environ.get("INDWELL_SHARED", BESIDE)) / "sessions"
FILES = ("entire", "sweagent", "tau")
EACH = 8  # so many sessions are read from each file
MOST_MESSAGES = 60  # most messages of a session; damage does not depend on the length
AT = "2026-11-21T09:00:00.000+00:00"
RUBBISH = (b"\0" * 40, b"\xff\xfe\x80", b'{"type":"said","message":', b"[" * 3_000, b"null", b'"x"')
WRONG: tuple[Any, ...] = (None, 7, "x", [], {}, [None], {"role": 3}, ["\ud800"], True, 1e99)

Entries = list[Any]
Lines = list[bytes]


def main() -> None:
    """Damage and read sessions, and print the results."""
    n_variants = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    print(" ".join(f"{name} {n:,};" for name, n in sorted(damaged(n_variants, seed).items())))


def damaged(n_variants: int, seed: int) -> Counter[str]:
    """Try ``n_variants``, half foreign and half Indwell's; return the counts.

    Raises:
        AssertionError: A session was not readable, not sendable, or repaired without a report.
    """
    dice = random.Random(seed)
    records = whole_sessions()
    seen: Counter[str] = Counter()
    for number in range(n_variants):
        record = dice.choice(records)
        try:
            if number % 2:
                _foreign(record, dice, seen)
            else:
                _own(record, dice, seen)
        except Exception as error:
            error.add_note(f"variant {number} of seed {seed}, session {record['id']}")
            raise
    return seen


def whole_sessions() -> list[dict[str, Any]]:
    """Return some sessions of each file, cut to a sufficient length."""
    found: list[dict[str, Any]] = []
    for name in FILES:
        with gzip.open(SESSIONS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            found += [json.loads(line) for line in islice(file, EACH)]
    for record in found:
        record["messages"] = record["messages"][:MOST_MESSAGES]
    return found


def _foreign(record: dict[str, Any], dice: random.Random, seen: Counter[str]) -> None:
    entries = copy.deepcopy(record["messages"])
    for _ in range(dice.randint(1, 6)):
        change = dice.choice(FOREIGN)
        change(entries, dice)
        seen[change.__name__] += 1
    is_flat = dice.random() < 0.5
    if is_flat:
        file = [_json(entry) for entry in entries]
    else:
        file = [_json({**record, "messages": entries})]
    for _ in range(dice.randint(0, 2)):
        _rubbish(file, dice)
    for one in recorded_sessions(file, name="damaged"):
        assert problems(one.messages) == ()
        assert one.notes or calls_are_whole(entries), "repaired without a word"
        log = b"".join(map(encode, imported_records(one, source="damaged", at=AT)))
        reading = log_lines.decode(log)
        assert reading.notices == ()
        past = past_of(reading.records)
        assert past.messages == one.messages
        assert (past.notes, past.open_calls) == ((), ())
        told = {item.what for item in reading.records if isinstance(item, Repaired)}
        assert told >= {note.encode("utf-8", "replace").decode() for note in one.notes}
        seen["foreign, told of" if one.notes else "foreign, nothing to repair"] += 1


def _own(record: dict[str, Any], dice: random.Random, seen: Counter[str]) -> None:
    (one,) = recorded_sessions([_json(record)])
    started = SessionStarted("s", "/w", "m", AT)
    log = [encode(item) for item in (started, *imported_records(one, source="x", at=AT))]
    for _ in range(dice.randint(1, 6)):
        change = dice.choice(OWN)
        change(log, dice)
        seen[change.__name__] += 1
    data = b"".join(log)
    reading = log_lines.read([data[at : at + 4_096] for at in range(0, len(data), 4_096)])
    past = past_of(reading.records, is_damaged=bool(reading.damage))
    messages = sendable(past.messages, past.open_calls)
    assert problems(messages) == ()
    if past.splices:
        assert past.notes or _noted(reading.records), "repaired without a word"
    written = [*repairs(past.notes, past.splices, past.n_live, at=AT)]
    again = past_of((*reading.records, *written), is_damaged=bool(reading.damage))
    assert (again.messages, again.notes, again.open_calls) == (past.messages, (), past.open_calls)
    seen["own, repaired" if past.splices else "own, nothing to repair"] += 1


def calls_are_whole(entries: Entries) -> bool:
    """Return whether a result directly follows each call, and each result belongs to a call."""
    open_ids: list[str] = []
    for entry in entries:
        if not isinstance(entry, dict):
            return False
        role = entry.get("role")
        if role == "tool":
            if entry.get("tool_call_id") not in open_ids:
                return False
            open_ids.remove(entry["tool_call_id"])
        elif role in {"user", "assistant"}:
            calls = entry.get("tool_calls") if role == "assistant" else None
            if open_ids or (calls and not isinstance(calls, list)):
                return False
            if not all(isinstance(call, dict) and call.get("function") for call in calls or ()):
                return False
            open_ids = [call.get("id") for call in calls or ()]
        elif role not in {"system", "developer"}:
            return False
    return not open_ids


def sendable(messages: tuple[Message, ...], calls: Sequence[Any]) -> tuple[Message, ...]:
    """Return the session with the results that a resume adds to the last calls."""
    answers = outcomes(calls, {})
    return (*messages, Message("user", answers, messages[-1].turn)) if answers else messages


def _noted(records: Sequence[Any]) -> bool:
    return any(isinstance(record, Repaired) for record in records)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _at(items: Sequence[Any], dice: random.Random) -> int:
    return dice.randrange(len(items)) if items else 0


def drop(items: list[Any], dice: random.Random) -> None:
    """Delete one item, or a few consecutive items."""
    at = _at(items, dice)
    del items[at : at + dice.choice((1, 1, 1, 5))]


def swap(items: list[Any], dice: random.Random) -> None:
    """Swap two items, often neighbours: a result then precedes its call."""
    if len(items) > 1:
        at = dice.randrange(len(items) - 1)
        other = at + 1 if dice.random() < 0.7 else _at(items, dice)
        items[at], items[other] = items[other], items[at]


def repeat(items: list[Any], dice: random.Random) -> None:
    """Repeat an item, at its position or elsewhere."""
    if items:
        items.insert(_at(items, dice), items[_at(items, dice)])


def cut_head(items: list[Any], dice: random.Random) -> None:
    """Delete the beginning."""
    del items[: dice.randint(0, 9)]


def cut_tail(items: list[Any], dice: random.Random) -> None:
    """Delete the end."""
    del items[len(items) - dice.randint(0, 9) :]


def wrong_value(items: Entries, dice: random.Random) -> None:
    """Put a value of a wrong type into an entry, or replace the entry with it."""
    if not items:
        return
    at = _at(items, dice)
    entry = items[at]
    if not isinstance(entry, dict) or dice.random() < 0.2:
        items[at] = dice.choice(WRONG)
        return
    entry = items[at] = dict(entry)
    entry[dice.choice((*entry, "role", "content", "tool_calls"))] = dice.choice(WRONG)


def same_ids(items: Entries, dice: random.Random) -> None:
    """Use one call's id for another, or give a result another id."""
    calls = [
        call
        for entry in items
        if isinstance(entry, dict) and isinstance(entry.get("tool_calls"), list)
        for call in entry["tool_calls"]
        if isinstance(call, dict)
    ]
    if calls:
        dice.choice(calls)["id"] = dice.choice(calls).get("id")


def odd_call(items: Entries, dice: random.Random) -> None:
    """Break a call: remove the function or the name, or change the type of the arguments."""
    broken = ({}, None, {"function": 3}, {"function": {"name": None, "arguments": [1, {"a": 2}]}})
    added = {
        "role": "assistant",
        "tool_calls": [dice.choice(broken), 5],
        "content": [3, {"text": 1}],
    }
    items.insert(_at(items, dice), added)


def torn(items: Lines, dice: random.Random) -> None:
    """Cut a line in half, and keep or drop its line feed."""
    if items:
        at = _at(items, dice)
        line = items[at]
        items[at] = line[: _at(line, dice)] + dice.choice((b"", b"\n"))


def flipped(items: Lines, dice: random.Random) -> None:
    """Change a few bytes."""
    if items:
        at = _at(items, dice)
        line = bytearray(items[at])
        for _ in range(min(4, len(line))):
            line[_at(line, dice)] = dice.randrange(256)
        items[at] = bytes(line)


def _rubbish(items: Lines, dice: random.Random) -> None:
    items.insert(_at(items, dice), dice.choice((*RUBBISH, dice.randbytes(60))) + b"\n")


FOREIGN: tuple[Callable[[Entries, random.Random], None], ...] = (
    drop, swap, repeat, cut_head, cut_tail, wrong_value, same_ids, odd_call,
)  # fmt: skip
OWN: tuple[Callable[[Lines, random.Random], None], ...] = (
    drop, swap, repeat, cut_head, cut_tail, torn, flipped, _rubbish,
)  # fmt: skip


if __name__ == "__main__":
    main()
