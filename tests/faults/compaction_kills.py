"""Kills (SIGKILL) a process at random moments while it compacts a conversation again and again.

The child goes on with a session, adds exchanges, and takes random steps in the way the server does:
what is cut is kept as a spill file, then one record says what became of the messages.
After each it says on a pipe what is acknowledged. After the kill the log must fold to the state
before the compaction under way or to the one after it, with all that was acknowledged, every call
answered, every file that a taken compaction names there and whole, and the complete conversation
behind it.

    PYTHONPATH=server:tests python tests/faults/compaction_kills.py [kills] [seed]
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell.agent.growth import added_messages
from indwell.cli.spill import Spill
from indwell.context import conversation as talk
from indwell.context.compaction.engine import take
from indwell.context.compaction.step import Spill as Cut
from indwell.context.compaction.step import Splice, Step
from indwell.context.history import transcript
from indwell.context.pairing import problems
from indwell.messages import Message, Reply, ToolCall, ToolResult
from indwell.sessions.records import Compacted, Record, Said, folded
from indwell.sessions.store import SessionStore

LATEST_S = 0.02  # of a kill after a compaction began, or the child lives
LOG_KILLS = 25  # of one log; then it is long enough, and a new one begins
LONG = 400  # characters of a result that is cut


class Child:
    """What runs in the process that is killed.

    Args:
        folder: Of state and workspace.
        seed: Of what it does.
        pipe: Where it says what is acknowledged.
    """

    def __init__(self, folder: Path, seed: int, pipe: int) -> None:
        self.store = SessionStore(folder / "state", folder)
        self.draw = random.Random(seed)
        self.pipe = pipe
        self.n_spills = 0
        self.seed = seed

    def say(self, *words: object) -> None:
        os.write(self.pipe, " ".join(map(str, words)).encode() + b"\n")

    async def live(self, session: str) -> None:
        """Work until killed."""
        reading, self.log = self.store.resume(session, now=datetime.now(UTC))
        self.spill = Spill(self.store.spill(session))
        told = folded(reading.records)
        self.now = msgspec.structs.replace(
            talk.Conversation(talk.Config("m", 64_000, 4_000), ()),
            messages=told.messages,
            history=told.history,
        )
        self.say("lives")
        while True:
            for _ in range(self.draw.choice([1, 3])):
                self.exchange()
            await self.log.commit()
            self.say("state", digest(self.now.messages), whole(self.now))
            await self.compact()

    def exchange(self) -> None:
        """A question, a call, its result, an answer."""
        turn = self.draw.randrange(10**9)
        self.advance(talk.with_input(self.now, words=f"ask {turn}", turn=turn))
        call = ToolCall("c1", "bash", "{}")
        self.advance(talk.with_reply(self.now, Reply("", (call,)), turn=turn))
        (use,) = self.now.messages[-1].blocks
        text = f"{turn} ä " * self.draw.choice([5, 500, 20_000])
        result = talk.tool_result(use, text, is_error=False)
        self.advance(talk.with_results(self.now, (result,), turn=turn))
        self.advance(talk.with_reply(self.now, Reply(f"answer {turn}"), turn=turn))

    def advance(self, after: talk.Conversation) -> None:
        for message in added_messages(self.now.messages, after.messages):
            self.log.append(Said(message, "t"))
        self.now = after

    async def compact(self) -> None:
        """Spills first, then one record, as ``agent.fit`` does; said before and after."""
        step = self.step()
        after = take(self.now, step)
        self.say("begins", digest(after.messages), whole(after))
        for spill in step.spills:
            await self.spill.keep_as(spill.name, spill.text)
        names = tuple(spill.name for spill in step.spills)
        self.log.append(
            Compacted(0, "test", step.splices, 2, 1, names, "t", live=len(self.now.messages))
        )
        self.now = after
        if self.draw.random() < 0.7:
            await self.log.commit()
            self.say("state", digest(after.messages), whole(after))

    def step(self) -> Step:
        """Long results become short ones, and often the oldest half becomes one message."""
        splices: list[Splice] = []
        spills: list[Cut] = []
        live, start = self.now.messages, 0
        if self.draw.random() < 0.4 and len(live) > 8:
            start = len(live) // 2 // 4 * 4 or 4
            start = next((at for at in range(start, len(live)) if is_question(live[at])), len(live))
            words = talk.user_words(f"summary {self.draw.random()}", turn=0)
            answer = talk.with_reply(
                msgspec.structs.replace(self.now, messages=()), Reply("understood"), turn=0
            ).messages
            splices.append(Splice(0, start, (Message("user", (words,), 0), *answer)))
        for at in range(start, len(live)):
            blocks = tuple(self._short(block, spills) for block in live[at].blocks)
            if blocks != live[at].blocks:
                splices.append(
                    Splice(at, at + 1, (msgspec.structs.replace(live[at], blocks=blocks),))
                )
        return Step("test", tuple(splices), tuple(spills))

    def _short(self, block: object, spills: list[Cut]) -> object:
        if not isinstance(block, ToolResult) or len(block.text) < LONG:
            return block
        self.n_spills += 1
        name = f"cut-{self.seed}-{self.n_spills}.txt"
        spills.append(Cut(name, block.text))
        return msgspec.structs.replace(block, text=f"[cut: {name} {text_digest(block.text)}]")


def is_question(message: Message) -> bool:
    """May a conversation begin with it?"""
    return message.role == "user" and not any(
        isinstance(block, ToolResult) for block in message.blocks
    )


def text_digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def digest(messages: tuple[Message, ...]) -> str:
    return hashlib.blake2b(msgspec.json.encode(messages), digest_size=16).hexdigest()


def whole(conversation: talk.Conversation) -> str:
    """Of the complete conversation, as if nothing had been compacted."""
    return digest(transcript(conversation.messages, conversation.history))


def kill_one(folder: Path, session: str, seed: int) -> list[list[str]]:
    """Start a child, kill it, and give all that it said."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            asyncio.run(Child(folder, seed, write).live(session))
        finally:
            os._exit(1)  # it is killed before it ends, or it has failed
    os.close(write)
    with os.fdopen(read, "rb") as said:
        heard = [said.readline()]
        n_begun = random.Random(seed).choice([0, 1, 1, 2])  # compactions
        while n_begun and heard[-1]:
            heard.append(said.readline())
            n_begun -= heard[-1].startswith(b"begins")
        time.sleep(random.Random(seed).uniform(0, LATEST_S))
        os.kill(child, signal.SIGKILL)
        words = (b"".join(heard) + said.read()).decode().splitlines()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child failed by itself (seed {seed})"
    return [line.split() for line in words]


class World:
    """One session, and what must be in it.

    Args:
        folder: Empty.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = SessionStore(folder / "state", folder)
        self.session, writer = self.store.create(model="m", now=datetime.now(UTC))
        writer._thread.shutdown()
        writer._log.close()
        self.log = self.store.spill(self.session).parent / "log.jsonl"
        self.acknowledged = (digest(()), digest(()))
        self.counted: Counter[str] = Counter()

    def kill(self, seed: int) -> None:
        """One child, killed; then everything is looked at."""
        before = self.log.read_bytes()
        where = f"(seed {seed})"
        under_way = None
        for said in kill_one(self.folder, self.session, seed):
            match said:
                case ["state", live, complete]:
                    self.acknowledged, under_way = (live, complete), None
                case ["begins", live, complete]:
                    under_way = (live, complete)
                case _:
                    pass
        assert self.log.read_bytes().startswith(before), f"the log was rewritten {where}"
        reading = self.store.open(self.session)
        records = [one for one in reading.records if isinstance(one, Said | Compacted)]
        assert len(reading.notices) <= 1, where
        self._check(records, under_way, where)
        self.counted["compactions"] = sum(isinstance(one, Compacted) for one in records)

    def _check(self, records: list[Record], under_way: tuple[str, str] | None, where: str) -> None:
        """What is acknowledged is in a prefix of the log; behind it only what was begun."""
        ends = range(len(records), -1, -1)
        end = next((at for at in ends if state(records[:at]) == self.acknowledged), -1)
        assert end >= 0, f"the acknowledged state is lost {where}"
        rest = records[end:]
        told = folded(records)
        assert told.notices == (), where
        if rest and isinstance(rest[0], Compacted):
            assert state(records[: end + 1]) == under_way, f"half a compaction {where}"
            self.counted["after"] += 1
        elif under_way:
            self.counted["before"] += 1
        unanswered = problems(told.messages)
        if not rest or isinstance(records[-1], Compacted):
            assert unanswered == (), where
        self._check_spills(records, where)
        self._mend(told.messages)

    def _check_spills(self, records: list[Record], where: str) -> None:
        names = {name for one in records if isinstance(one, Compacted) for name in one.spills}
        said = str([one for one in records if isinstance(one, Compacted)])
        for name in names:
            text = (self.store.spill(self.session) / name).read_text()
            marker = f"[cut: {name} {text_digest(text)}]"
            assert marker in said, f"what was cut is not whole: {name} {where}"

    def _mend(self, messages: tuple[Message, ...]) -> None:
        """Answer the call at the end, as resuming does, and take it all as acknowledged."""
        _, log = self.store.resume(self.session, now=datetime.now(UTC))
        now = msgspec.structs.replace(
            talk.Conversation(talk.Config("m", 64_000, 4_000), ()), messages=messages
        )
        after = now
        if messages and problems(messages):
            after = talk.with_results(now, (), turn=0)
        if after.messages and after.messages[-1].role == "user":
            after = talk.with_reply(after, Reply("on"), turn=0)
        for message in added_messages(now.messages, after.messages):
            log.append(Said(message, "t"))
        asyncio.run(log.close())
        reading = self.store.open(self.session)
        self.acknowledged = state(
            [one for one in reading.records if isinstance(one, Said | Compacted)]
        )


def state(records: list[Record]) -> tuple[str, str]:
    """What a log says: the live conversation, and the complete one."""
    told = folded(records)
    return digest(told.messages), digest(transcript(told.messages, told.history))


def kills(number: int, seed: int) -> Counter[str]:
    """Kill ``number`` children; gives figures. Fails on what must not be."""
    counted: Counter[str] = Counter()
    for start in range(0, number, LOG_KILLS):
        with tempfile.TemporaryDirectory() as place:
            world = World(Path(place))
            for at in range(start, min(start + LOG_KILLS, number)):
                world.kill(seed * 1_000_003 + at)
                counted["kills"] += 1
            counted += world.counted
    return counted


def main() -> None:
    """Kill, and say what was found."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    figures = ", ".join(f"{count} {what}" for what, count in kills(number, seed).items())
    print(f"seed {seed}: {figures}; nothing acknowledged was lost")


if __name__ == "__main__":
    main()
