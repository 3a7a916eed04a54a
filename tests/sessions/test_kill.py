"""A writer is killed (SIGKILL) at random moments; nothing that it acknowledged may be lost.

The short form runs with the tests; the long one is
``PYTHONPATH=server:tests python tests/sessions/test_kill.py 1000 [seed]``.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from indwell.sessions.records import Repaired, TurnStarted
from sessions.session_logs import NOW, log_of, store_in

SERVER = Path(__file__).parents[2] / "server"
ROUNDS = 20

WRITER = """
import asyncio, random, sys
from datetime import UTC, datetime
from pathlib import Path
from indwell.sessions.records import TurnStarted
from indwell.sessions.store import SessionStore

async def main(state, workspace, session, number, seed):
    _, writer = SessionStore(Path(state), Path(workspace)).resume(session, now=datetime.now(UTC))
    draw = random.Random(seed)
    while True:
        for _ in range(draw.choice([1, 1, 3])):
            words = "ä" * draw.choice([0, 10, 3_000, 500_000])
            writer.append(TurnStarted(turn=number, words=words, at="t"))
            number += 1
        await writer.commit()
        print(number, flush=True)

asyncio.run(main(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])))
"""


def kill_rounds(folder: Path, rounds: int, seed: int) -> int:
    """Kill ``rounds`` writers of one log, one after the other; gives how many tails were torn."""
    draw = random.Random(seed)
    store = store_in(folder)
    session, writer = store.create(model="m", now=NOW)
    writer._thread.shutdown()  # what it queued is in the file
    writer._log.close()
    log = log_of(store, session)
    n_torn = 0
    for _ in range(rounds):
        before = log.read_bytes()
        known = turns_of(store.open(session).records)
        acknowledged = known[-1] + 1 if known else 0
        with subprocess.Popen(
            [
                sys.executable,
                "-c",
                WRITER,
                *(str(folder / "state"), str(folder), session),
                *(str(acknowledged), str(draw.randrange(10**6))),
            ],
            env={**os.environ, "PYTHONPATH": str(SERVER)},
            stdout=subprocess.PIPE,
        ) as child:
            assert child.stdout is not None
            for _ in range(draw.randrange(1, 8)):
                acknowledged = int(child.stdout.readline())
            spin = draw.randrange(60_000)
            while spin:  # a random moment inside the next append, write or fsync
                spin -= 1
            child.kill()
            acknowledged = max([acknowledged, *map(int, child.stdout.read().split())])
        reading = store.open(session)
        found = turns_of(reading.records)
        assert found == list(range(len(found))), f"records missing or doubled (seed {seed})"
        assert len(found) >= acknowledged, f"acknowledged records lost (seed {seed})"
        assert log.read_bytes().startswith(before), f"the log was rewritten (seed {seed})"
        assert len(reading.notices) <= 1
        n_torn += len(reading.notices)
    last = store.open(session)
    repaired = [record for record in last.records if isinstance(record, Repaired)]
    assert len(repaired) + len(last.notices) == n_torn, f"a torn tail was not told (seed {seed})"
    return n_torn


def turns_of(records: tuple[object, ...]) -> list[int]:
    return [record.turn for record in records if isinstance(record, TurnStarted)]


def test_nothing_acknowledged_is_lost_by_a_kill_at_any_moment(tmp_path: Path) -> None:
    kill_rounds(tmp_path, ROUNDS, seed=random.SystemRandom().randrange(10**6))


if __name__ == "__main__":
    n_kills = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    torn = 0
    for seed_of_log in range(first, first + -(-n_kills // ROUNDS)):  # a log per 20 kills
        with tempfile.TemporaryDirectory() as place:
            torn += kill_rounds(Path(place), ROUNDS, seed_of_log)
    print(f"{n_kills} kills, {torn} torn tails, nothing lost (seeds from {first})")  # noqa: T201
