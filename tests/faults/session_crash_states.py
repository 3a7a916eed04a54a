"""Checks the session store's possible states after a loss of power, as ALICE does (PER-03).

A child uses the store, and ``strace`` records its opens, writes, flushes, renames, unlinks, and its
reports of safe data. From the record the script makes states that a file system may legally have
after a loss of power. The loss may come after any call. Any unflushed write or name may be missing.
A lost write may end at a sector or be zeros. In each state the store must open, return each
acknowledged record unchanged and in order, and return nothing else.

    PYTHONPATH=server:tests python tests/faults/session_crash_states.py [states] [seed]
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from session_trace import Op, recorded

from indwell.sessions.records import TurnStartRecord
from indwell.sessions.storage.drafts import DraftStore
from indwell.sessions.storage.retention import delete
from indwell.sessions.storage.store import SessionStore

SECTOR_B = 512


async def work(folder: Path) -> None:
    """Do the recorded work: two sessions, one of them resumed, drafts, and a deletion."""
    store = SessionStore(folder / "state", folder)
    now = datetime.now(UTC)

    def say(*words: object) -> None:
        os.write(1, " ".join(map(str, words)).encode() + b"\n")

    first, log = store.create(model="m", now=now)
    number = 0
    for again in range(3):
        if again:
            _, log = store.resume(first, now=now)
        for size in (0, 10, 600, 3_000):
            for _ in range(2):
                log.append(TurnStartRecord(turn=number, words="ä" * size, at="t"))
                number += 1
                await asyncio.get_running_loop().run_in_executor(log._thread, lambda: None)
            await log.commit()
            say("safe", first, number)
        await log.close()
    second, log = store.create(model="m", now=now)
    log.append(TurnStartRecord(turn=0, words="x", at="t"))
    await log.close()
    say("safe", second, 1)
    drafts = DraftStore(folder / "state", folder)
    drafts.keep(["draft-one"], now=now)
    say("draft", "draft-one")
    drafts.keep_waiting({"p1": "draft-two"}, now=now)
    say("draft", "draft-two")
    drafts.untold()
    say("deletes", second)
    delete(folder / "state", second)


@dataclass
class File:
    """The content of a file, and for each write whether it was flushed."""

    writes: list[tuple[bytes, bool]] = field(default_factory=list)


@dataclass
class State:
    """A file system between two calls.

    Attributes:
        names: The names that a process sees; a folder has no content.
        loose: The unflushed changes of names: kind, from, to.
        durable: The names that are on the disk.
        said: The child's reports so far.
    """

    names: dict[str, File | None] = field(default_factory=dict)
    loose: list[tuple[str, str, str]] = field(default_factory=list)
    durable: dict[str, File | None] = field(default_factory=dict)
    said: list[list[str]] = field(default_factory=list)

    def take(self, op: Op) -> None:
        """Apply one recorded call."""
        match op.kind:
            case "say":
                self.said += [line.split() for line in op.data.decode().splitlines()]
            case "make" if op.path not in self.names:
                self.names[op.path] = File()
                self.loose.append(("make", op.path, ""))
            case "folder" if op.path not in self.names:
                self.names[op.path] = None
                self.loose.append(("make", op.path, ""))
            case "write":
                file = self.names.get(op.path)
                if file is not None:
                    file.writes.append((op.data, False))
            case "flush":
                self._flush(op.path)
            case "rename":
                self.loose.append(("rename", op.path, op.to))
                _rename(self.names, op.path, op.to)
            case "remove":
                self.loose.append(("remove", op.path, ""))
                _remove(self.names, op.path)
            case _:
                pass

    def _flush(self, path: str) -> None:
        file = self.names.get(path)
        if file is not None:
            file.writes = [(data, True) for data, _ in file.writes]
            return
        # Flushing a folder makes its names durable, in the order of the changes.
        held = []
        for kind, name, to in self.loose:
            if os.path.dirname(to or name) == path or os.path.dirname(name) == path:  # noqa: PTH120
                _apply(self.durable, self.names, kind, name, to)
            else:
                held.append((kind, name, to))
        self.loose = held


def _rename(names: dict[str, File | None], old: str, new: str) -> None:
    moved = [one for one in names if one == old or one.startswith(f"{old}/")]
    for one in moved:
        names[new + one[len(old) :]] = names.pop(one)


def _remove(names: dict[str, File | None], path: str) -> None:
    for one in [one for one in names if one == path or one.startswith(f"{path}/")]:
        del names[one]


def _apply(
    names: dict[str, File | None], now: dict[str, File | None], kind: str, path: str, to: str
) -> None:
    if kind == "make":
        names[path] = now.get(path)
    elif kind == "rename":
        _rename(names, path, to)
    else:
        _remove(names, path)


def crash_states(
    ops: list[Op], number: int, seed: int
) -> Iterator[tuple[dict[str, bytes | None], list[list[str]]]]:
    """Yield states that a loss of power may leave, with the earlier acknowledgements."""
    draw = random.Random(seed)
    for at in range(number):
        stop = at % (len(ops) + 1) if at <= len(ops) else draw.randrange(len(ops) + 1)
        state = State()
        files: dict[str, File | None] = {}
        for op in ops[:stop]:
            state.take(op)
            files.update(state.names)  # also names of files that are removed later
        names = dict(state.durable)
        for kind, path, to in state.loose:
            if draw.random() < 0.6:
                _apply(names, files, kind, path, to)
        yield {path: _content(file, draw) for path, file in names.items()}, state.said


def _content(file: File | None, draw: random.Random) -> bytes | None:
    """Return a file's content on disk: flushed writes whole; others whole, torn, zero or lost."""
    if file is None:
        return None
    parts: list[bytes] = []
    for data, is_flushed in file.writes:
        fate = "whole" if is_flushed else draw.choice(["whole", "torn", "zeros", "lost"])
        offset = sum(map(len, parts))
        if fate == "whole":
            parts.append(data)
        elif fate == "zeros":
            parts.append(bytes(len(data)))
        elif fate == "torn":
            sectors = range(SECTOR_B - offset % SECTOR_B, len(data), SECTOR_B)
            parts.append(data[: draw.choice(sectors)] if sectors else b"")
            break  # after a missing append, no later bytes of the file can exist
        else:
            break
    return b"".join(parts)


def check(root: Path, folder: str, content: dict[str, bytes | None], said: list[list[str]]) -> None:
    """Open the store in a state, as the next process would."""
    for path, data in sorted(content.items()):
        place = root / path.removeprefix(folder).lstrip("/")
        if data is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    store = SessionStore(root / "state", Path(folder))
    deleting = {one[1] for one in said if one[0] == "deletes"}
    safe = {one[1]: int(one[2]) for one in said if one[0] == "safe"}
    listed = store.ids()
    for session, number in safe.items():
        if session in deleting and session not in listed:
            continue
        _check_log(store, session, 0 if session in deleting else number)
    for session in listed:
        _check_log(store, session, 0)
    drafts = DraftStore(root / "state", Path(folder))
    drafts.take_over(now=datetime.now(UTC))
    texts = "".join(path.read_text() for path in (root / "state" / "drafts").rglob("*.md"))
    for one in said:
        assert one[0] != "draft" or one[1] in texts, f"{one[1]} is lost"


def _check_log(store: SessionStore, session: str, number: int) -> None:
    log = store.spill(session).parent / "log.jsonl"
    assert log.is_file(), f"{session} is lost"
    before = log.read_bytes()
    _, writer = store.resume(session, now=datetime.now(UTC))
    writer._thread.shutdown()
    writer._log.close()
    found = [one for one in store.open(session).records if isinstance(one, TurnStartRecord)]
    turns = [one.turn for one in found]
    assert turns[:number] == list(range(number)), f"{number} acknowledged, found {turns}"
    assert turns == sorted(set(turns)), f"out of order: {turns}"
    for one in found:
        assert one.words in {"x", *("ä" * size for size in (0, 10, 600, 3_000))}, one
    assert log.read_bytes().startswith(before), "the log was cut"


def run(number: int, seed: int, *, flushes: bool = True) -> int:
    """Check ``number`` states; return the number of recorded calls. Fail at the first bad state.

    Args:
        number: The number of states.
        seed: The random seed.
        flushes: False omits every flush of a log, which the check must detect.
    """
    with tempfile.TemporaryDirectory() as place:
        top = Path(place).resolve()
        (top / "work").mkdir()
        ops = recorded(Path(__file__), top)
        assert sum(op.kind == "write" for op in ops) > 20, "nothing was recorded"
        if not flushes:
            ops = [op for op in ops if op.kind != "flush" or not op.path.endswith(".jsonl")]
        for at, (content, said) in enumerate(crash_states(ops, number, seed)):
            root = top / f"state-{at}"
            try:
                check(root, str(top / "work"), content, said)
            except AssertionError as error:
                raise AssertionError(f"state {at} of seed {seed}: {error}; {said}") from error
            shutil.rmtree(root, ignore_errors=True)
        return len(ops)


def main() -> None:
    """Do the child's work, or check many states."""
    if sys.argv[1:2] == ["--work"]:
        asyncio.run(work(Path(sys.argv[2])))
        return
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    n_ops = run(number, seed)
    print(f"{number} crash states of {n_ops} calls (seed {seed}): nothing acknowledged was lost")


if __name__ == "__main__":
    main()
