"""Kills a process (SIGKILL) at random moments while it uses the session store.

The process commits records, stores long texts, drafts and waiting prompts, counts costs, and
creates and deletes sessions. The process reports each finished action on a pipe. After the kill,
each reported action must have its effect. The interrupted action must have its whole effect or none
(PER-01, PER-02).

    PYTHONPATH=server:tests python tests/faults/session_kills.py [kills] [seed]
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from indwell.sessions.records import Repaired, TurnStartRecord
from indwell.sessions.storage.automatic_deletion import RetentionLimits, sweep
from indwell.sessions.storage.drafts import DraftStore
from indwell.sessions.storage.retention import delete
from indwell.sessions.storage.spending import SpendingLedger
from indwell.sessions.storage.store import SessionStore
from indwell.wiring.spill import SpillFolder, highest_number

LATEST_S = 0.03  # most seconds between the child's first report and the kill
LOG_KILLS = 25  # kills of one log, before a new log begins
MIXED = ("turns", "turns", "spill", "draft", "waiting", "spend", "session")
COST = 0.25


class Child:
    """The work of the process that is killed.

    Args:
        folder: The folder of the state and the workspace.
        seed: The seed of its random work.
        pipe: The pipe on which it reports its work.
    """

    def __init__(self, folder: Path, seed: int, pipe: int) -> None:
        self.state = folder / "state"
        self.store = SessionStore(self.state, folder)
        self.drafts = DraftStore(self.state, folder)
        self.draw = random.Random(seed)
        self.pipe = pipe
        self.seed = seed
        self.waiting: dict[str, str] = {}

    def say(self, *words: object) -> None:
        os.write(self.pipe, " ".join(map(str, words)).encode() + b"\n")

    async def live(self, session: str, number: int, jobs: tuple[str, ...]) -> None:
        """Work until killed."""
        _, self.log = self.store.resume(session, now=datetime.now(UTC))
        self.spill = SpillFolder(
            self.store.spill(session), n_kept=highest_number(self.store.spill(session))
        )
        self.number = number
        self.ledger = SpendingLedger(self.state, lambda: datetime.now(UTC))
        self.say("lives")
        while True:
            await getattr(self, f"do_{self.draw.choice(jobs)}")()

    async def do_turns(self) -> None:
        for _ in range(self.draw.choice([1, 1, 3])):
            words = "ä" * self.draw.choice([0, 10, 3_000, 200_000])
            self.log.append(TurnStartRecord(turn=self.number, words=words, at="t"))
            self.number += 1
        await self.log.commit()
        self.say("turns", self.number)

    async def do_spill(self) -> None:
        text = "x" * self.draw.choice([1, 70_000])
        path = await self.spill.keep("long", text)
        self.say("spilled", path, len(text))

    async def do_draft(self) -> None:
        name = f"{self.seed}-{self.draw.randrange(10**9)}"
        self.drafts.keep([f"draft {name}"], now=datetime.now(UTC))
        self.say("draft", name)
        self.drafts.untold()

    async def do_waiting(self) -> None:
        """Store a waiting prompt, and take over waiting prompts of killed processes."""
        names = [f"{self.seed}-{self.draw.randrange(10**9)}" for _ in range(2)]
        now = datetime.now(UTC)
        self.waiting |= {name: f"draft {name}" for name in names}
        self.drafts.keep_waiting(self.waiting, now=now)
        for name in names:
            self.say("draft", name)
        self.drafts.take_over(now=now)

    async def do_spend(self) -> None:
        self.say("spends")
        self.ledger.add(COST)
        await self.ledger.today()  # the ledger's only thread has written before it answers
        self.say("spent")

    async def do_session(self) -> None:
        """Create a session, report it, and delete it completely."""
        identifier, log = self.store.create(model="m", now=datetime.now(UTC))
        for turn in range(5):
            log.append(TurnStartRecord(turn=turn, words="w", at="t"))
        await SpillFolder(self.store.spill(identifier)).keep("long", "y" * 10_000)
        await log.close()
        self.say("made", identifier)
        if self.draw.random() < 0.7:
            self.say("deletes", identifier)
            delete(self.state, identifier)
            self.say("deleted", identifier)


def kill_one(
    folder: Path, session: str, number: int, seed: int, jobs: tuple[str, ...]
) -> list[str]:
    """Start a child, kill it, and return its reports."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            asyncio.run(Child(folder, seed, write).live(session, number, jobs))
        finally:
            os._exit(1)  # reached only after a failure: otherwise the kill comes first
    os.close(write)
    with os.fdopen(read, "rb") as said:
        first = said.readline()
        time.sleep(random.Random(seed).uniform(0, LATEST_S))
        os.kill(child, signal.SIGKILL)
        words = (first + said.read()).decode().splitlines()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child failed by itself (seed {seed})"
    return words


class World:
    """One state folder, and its required contents.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = SessionStore(folder / "state", folder)
        self.session, writer = self.store.create(model="m", now=datetime.now(UTC))
        writer._thread.shutdown()
        writer._log.close()
        self.log = self.store.spill(self.session).parent / "log.jsonl"
        self.n_turns = self.n_torn = 0
        self.spilled: dict[str, int] = {}
        self.drafts: set[str] = set()
        self.made: set[str] = set()
        self.gone: set[str] = set()
        self.deleting: set[str] = set()
        self.least = self.most = 0.0

    def kill(self, seed: int, jobs: tuple[str, ...]) -> None:
        """Run and kill one child, then check everything."""
        before = self.log.read_bytes()
        for line in kill_one(self.folder, self.session, self.n_turns, seed, jobs):
            self.take(line.split())
        where = f"(seed {seed})"
        assert self.log.read_bytes().startswith(before), f"the log was rewritten {where}"
        self.check_log(where)
        self.check_sessions(where)
        self.check_drafts(where)
        for path, size in self.spilled.items():
            assert Path(path).stat().st_size == size, f"a long text is not whole {where}"
        ledger = SpendingLedger(self.folder / "state", lambda: datetime.now(UTC))
        total = ledger._total(ledger._today())
        ledger._thread.shutdown()
        assert self.least <= total <= self.most, f"{total} is not what was spent {where}"

    def take(self, said: list[str]) -> None:
        match said:
            case ["turns", number]:
                self.n_turns = int(number)
            case ["spilled", path, size]:
                self.spilled[path] = int(size)
            case ["draft", name]:
                self.drafts.add(name)
            case ["spends"]:
                self.most += COST
            case ["spent"]:
                self.least += COST
            case ["made", identifier]:
                self.made.add(identifier)
            case ["deletes", identifier]:
                self.deleting.add(identifier)
            case ["deleted", identifier]:
                self.gone.add(identifier)
            case _:
                pass

    def check_log(self, where: str) -> None:
        reading = self.store.open(self.session)
        found = [one.turn for one in reading.records if isinstance(one, TurnStartRecord)]
        assert found == list(range(len(found))), f"records missing or doubled {where}"
        assert len(found) >= self.n_turns, f"acknowledged records lost {where}"
        self.n_turns = len(found)
        repaired = sum(isinstance(one, Repaired) for one in reading.records)
        self.n_torn = max(self.n_torn, repaired + len(reading.notices))
        assert len(reading.notices) <= 1, where

    def check_sessions(self, where: str) -> None:
        """Check that each created session exists completely, or is deleted as requested."""
        listed = set(self.store.ids())
        assert not listed & self.gone, f"a deleted session is back {where}"
        assert self.made - self.deleting <= listed, f"a session is lost {where}"
        for identifier in listed & self.made:
            turns = [one for one in self.store.open(identifier).records if hasattr(one, "words")]
            spills = list(self.store.spill(identifier).iterdir())
            assert (len(turns), len(spills)) == (5, 1), f"half a session is left {where}"
        now = datetime.now(UTC)
        sweep(self.folder / "state", RetentionLimits(10_000), now=now, pending=lambda _folder: ())
        left = [one for one in self.log.parent.parent.iterdir() if one.name.startswith(".")]
        assert left == [], f"a sweep leaves remains {where}"

    def check_drafts(self, where: str) -> None:
        texts = "\n".join(
            path.read_text() for path in (self.folder / "state" / "drafts").rglob("*.*")
        )
        lost = [name for name in self.drafts if f"draft {name}" not in texts]
        assert lost == [], f"words are lost {where}"


def kills(number: int, seed: int, jobs: tuple[str, ...]) -> Counter[str]:
    """Kill ``number`` children; return the counts. Fail on any forbidden state."""
    counted: Counter[str] = Counter()
    for start in range(0, number, LOG_KILLS):
        with tempfile.TemporaryDirectory() as place:
            world = World(Path(place))
            for at in range(start, min(start + LOG_KILLS, number)):
                world.kill(seed * 1_000_003 + at, jobs)
            counted["kills"] += min(LOG_KILLS, number - start)
            counted["records"] += world.n_turns
            counted["torn"] += world.n_torn
            counted["sessions"] += len(world.made)
            counted["deleted"] += len(world.gone)
            counted["drafts"] += len(world.drafts)
    return counted


def main() -> None:
    """Kill half of the children while they only write records, half during all actions."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    for name, jobs in (("records", ("turns",)), ("everything", MIXED)):
        figures = ", ".join(f"{count} {what}" for what, count in kills(number, seed, jobs).items())
        print(f"{name} (seed {seed}): {figures}; nothing acknowledged was lost")


if __name__ == "__main__":
    main()
