"""Kills a process (SIGKILL) at random moments of repeated compactions of a conversation.

The child resumes a session as the command line does, runs real turns with a scripted model, and
compacts with ``agent.compaction.fit``. The child reports on a pipe which lines of the log are on
disk, and when a compaction begins and ends. After the kill, the log must contain all reported lines
and give the complete conversation. Each file that the conversation or a compaction names must exist
completely. Each text of the user must be in the conversation or in such a file. Only kills during a
compaction count.

    PYTHONPATH=server:tests python tests/faults/compaction_kills.py [kills] [seed]
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import msgspec

from indwell.agent.compaction.fit import fit
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import TurnState
from indwell.agent.core.session_parts import Log
from indwell.agent.loop.turn import run_turn
from indwell.cli.terminal.front_door import AllowingApprover
from indwell.context import conversation as talk
from indwell.context.compaction.cuts import stamp as stamp_of
from indwell.context.history import transcript
from indwell.context.pairing import problems, tool_uses
from indwell.messages import Message, Reply, Request, Text, ToolCall
from indwell.providers.scripted import Answer, ScriptedProvider
from indwell.sessions import log_lines
from indwell.sessions.conversation_restore import folded, join
from indwell.sessions.records import CompactionRecord, MessageRecord, Record
from indwell.sessions.storage.store import SessionStore
from indwell.sessions.storage.writer import encode
from indwell.settings.model import Settings
from indwell.wiring.model import Model
from indwell.wiring.resume import resume_session
from indwell.workspace.disk import DiskWorkspace
from support.context_checks import check_groups, check_words

WINDOW = 16_000
LADDERS = ("default", "default", "ladder-a", "regions-d")
LOG_KILLS = 25  # kills of one log, before a new log begins
FIRST_GUESS_S = 0.03  # assumed seconds of a compaction, until the first is measured
FILES = ("shop/cart.py", "shop/tax.py", "tests/test_cart.py")
_SPILL = re.compile(r"-([a-z2-7]{16})\.txt\Z")


class Child:
    """The work of the process that is killed.

    Args:
        folder: The folder of the state and the workspace.
        seed: The seed of its random work.
        pipe: The pipe on which it reports acknowledged records.
    """

    def __init__(self, folder: Path, seed: int, pipe: int) -> None:
        self.folder, self.pipe, self.seed = folder, pipe, seed
        self.draw = random.Random(seed)
        self.n_calls = 0

    def say(self, *words: object) -> None:
        os.write(self.pipe, " ".join(map(str, words)).encode() + b"\n")

    async def live(self, identifier: str) -> None:
        """Work until killed."""
        settings = Settings(provider="scripted", compaction=self.draw.choice(LADDERS))
        model = Model(ScriptedProvider(self.answer), "m", WINDOW, 1_000, lambda _: 0.0)
        resumed = await resume_session(
            identifier, DiskWorkspace([self.folder]), AllowingApprover(), lambda: settings, model,
            environment=environment(self.folder),
        )  # fmt: skip
        session = resumed.session
        session.parts = replace(session.parts, log=Told(session.parts.log, self))
        self.say("lives")
        while True:
            for _ in range(self.draw.choice([1, 2])):
                words = f"Number {self.draw.randrange(10**9)}: " + "mind the cart, too. " * (
                    self.draw.choice([1, 10, 60])
                )
                await run_turn(session, Prompt(words), lambda _: None)
            self.say("begins")
            started = time.perf_counter()
            state = TurnState(session.turns, "", "")
            await fit(session, state, self.draw.choice([0, 2_000]), lambda _: None, force=True)
            await session.parts.log.commit()
            self.say("ends", time.perf_counter() - started)

    def answer(self, request: Request) -> Answer:
        """Answer with a read or an end of the turn; for a summary, with a good or bad text."""
        last = request.messages[-1].blocks[-1]
        if any("Sum up " in one.text for one in (*request.system, last) if isinstance(one, Text)):
            return Reply(self.draw.choice(["", "The cart was read, and nothing was changed."]))
        if self.draw.random() < 0.25:
            return Reply(f"Done {self.draw.randrange(10**9)}.")
        self.n_calls += 1
        arguments = msgspec.json.encode({"path": self.draw.choice(FILES)}).decode()
        calls = tuple(
            ToolCall(f"c{self.seed}-{self.n_calls}-{at}", "read_file", arguments)
            for at in range(self.draw.choice([1, 1, 2]))
        )
        return Reply("I look.", calls, finish="tool_calls")


class Told:
    """A session's log that reports the records on disk.

    Args:
        log: The wrapped log.
        child: Reports the records.
    """

    def __init__(self, log: Log, child: Child) -> None:
        self._log, self._child = log, child
        self._queued: list[str] = []

    def append(self, record: Record) -> None:
        self._queued.append(line_digest(encode(record)))
        self._log.append(record)

    async def commit(self) -> None:
        queued, self._queued = self._queued, []
        await self._log.commit()
        for one in queued:
            self._child.say("disk", one)

    def commit_soon(self) -> None:
        self._log.commit_soon()

    async def close(self) -> None:
        await self._log.close()


def environment(folder: Path) -> dict[str, str]:
    """Return the environment for a separate state folder."""
    return {"INDWELL_STATE": str(folder / "state")}


def line_digest(line: bytes) -> str:
    return hashlib.blake2b(line.rstrip(b"\n"), digest_size=8).hexdigest()


def kill_one(folder: Path, session: str, seed: int, lasts_s: float) -> list[list[str]]:
    """Start a child, kill it during a compaction if possible, and return its reports."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            asyncio.run(Child(folder, seed, write).live(session))
        finally:
            os._exit(1)  # reached only after a failure: otherwise the kill comes first
    os.close(write)
    draw = random.Random(seed)
    with os.fdopen(read, "rb") as said:
        heard = [said.readline()]
        n_begun = draw.choice([1, 1, 2, 4])  # so many begin before the kill
        while n_begun and heard[-1]:
            heard.append(said.readline())
            n_begun -= heard[-1].startswith(b"begins")
        time.sleep(draw.uniform(0, 0.9 * lasts_s))
        os.kill(child, signal.SIGKILL)
        words = (b"".join(heard) + said.read()).rpartition(b"\n")[0].decode().splitlines()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child failed by itself (seed {seed})"
    return [line.split() for line in words]


class World:
    """One session, and its required contents.

    Args:
        folder: An empty folder.
        tally: Counts over all sessions.
    """

    def __init__(self, folder: Path, tally: Counter[str]) -> None:
        self.folder, self.tally = folder, tally
        for at, name in enumerate(FILES):
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(f"def f{at}_{line}(): return {line}\n" for line in range(140)))
        self.store = SessionStore(folder / "state", folder)
        self.session, writer = self.store.create(model="m", now=datetime.now(UTC))
        writer._thread.shutdown()
        writer._log.close()
        self.spills = self.store.spill(self.session).resolve()
        self.log = self.spills.parent / "log.jsonl"
        self.on_disk: list[str] = []
        self.durations_s = [FIRST_GUESS_S]

    def kill(self, seed: int) -> None:
        """Run and kill one child, then check everything."""
        before = self.log.read_bytes()
        where = f"(seed {seed})"
        heard = kill_one(self.folder, self.session, seed, median(self.durations_s[-9:]))
        under_way = False
        for said in heard:
            match said:
                case ["disk", digest]:
                    self.on_disk.append(digest)
                case ["begins"]:
                    under_way = True
                case ["ends", seconds]:
                    under_way = False
                    self.durations_s.append(float(seconds))
                case _:
                    pass
        after = self.log.read_bytes()
        assert after.startswith(before), f"the log was rewritten {where}"
        self.tally["kills"] += 1
        self.tally["during a compaction"] += under_way
        self._check(after, len(before), where, under_way=under_way)

    def _check(self, log: bytes, n_before: int, where: str, *, under_way: bool) -> None:
        there = iter([line_digest(line) for line in log.splitlines()])
        for digest in self.on_disk:
            assert digest in there, f"an acknowledged record is lost {where}"
        reading = self.store.open(self.session)
        assert len(reading.damage) <= self.tally["kills"], where
        records = reading.records
        told = folded(records)
        assert told.notices == (), (told.notices, where)
        oracle: list[Message] = []
        for one in records:
            if isinstance(one, MessageRecord):
                join(oracle, one.message)
        whole = transcript(told.messages, told.history)
        assert whole == tuple(oracle), f"not all that was said is there {where}"
        unfinished = bool(told.messages and tool_uses(told.messages[-1]))
        found = problems(told.messages)
        assert len(found) <= unfinished, (found, where)
        self._check_files(records, told.messages, where)
        now = talk.Conversation(
            talk.Config("m", WINDOW, 1_000), (), messages=told.messages, history=told.history
        )
        check_groups(now)
        check_words(now, users(oracle), {one.name: one.read_text() for one in self._files()})
        new = log_lines.decode(log[n_before:]).records
        n_taken = sum(isinstance(one, CompactionRecord) for one in new)
        self.tally["compactions taken"] += n_taken
        if under_way:
            words = [one for one in new if isinstance(one, MessageRecord | CompactionRecord)]
            self.tally["with steps taken"] += bool(words) and isinstance(
                words[-1], CompactionRecord
            )

    def _check_files(
        self, records: Sequence[Record], messages: Sequence[Message], where: str
    ) -> None:
        """Check that each file that a step or a marker names exists completely."""
        wanted = {
            name for one in records if isinstance(one, CompactionRecord) for name in one.spills
        }
        shown = "\n".join(
            getattr(block, "text", "") + getattr(block, "arguments", "")
            for message in messages
            for block in message.blocks
        )
        named = re.findall(re.escape(str(self.spills)) + r"/([\w-]+\.txt)", shown)
        for name in sorted({*wanted, *named}):
            path = self.spills / name
            assert path.exists(), f"a marker names a file that is not there: {name} {where}"
            stamp = _SPILL.search(name)
            if stamp:
                text = path.read_text(encoding="utf-8")
                assert stamp_of(text) == stamp[1], f"what was cut is not whole: {name} {where}"
                self.tally["files looked at"] += 1

    def _files(self) -> list[Path]:
        return sorted(self.spills.glob("*.txt"))


def users(messages: Sequence[Message]) -> list[str]:
    """Return the user's texts in order."""
    return [
        one.text
        for message in messages
        for one in message.blocks
        if isinstance(one, Text) and one.meta.source == "user"
    ]


def kills(number: int, seed: int) -> Counter[str]:
    """Kill children until ``number`` kills fell during a compaction; return the counts.

    Raises:
        AssertionError: A text or file is lost or unreadable.
    """
    tally: Counter[str] = Counter()
    at = seed * 1_000_003
    while tally["during a compaction"] < number:
        with tempfile.TemporaryDirectory() as place:
            world = World(Path(place).resolve(), tally)
            for _ in range(LOG_KILLS):
                world.kill(at)
                at += 1
                if tally["during a compaction"] >= number:
                    break
    return tally


def main() -> None:
    """Kill, and report the findings."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    figures = ", ".join(f"{count:,} {what}" for what, count in kills(number, seed).items())
    print(f"seed {seed}: {figures}; nothing acknowledged was lost")


if __name__ == "__main__":
    main()
