"""Runs a session of thousands of turns, and checks each turn and the growth of resources."""

from __future__ import annotations

import cProfile
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from indwell.agent.core.events import Compacted
from indwell.context.pairing import problems
from indwell.messages import Reply, Request, Text
from indwell.providers.scripted import check_legal
from indwell.tools.base import ToolTable
from support.session import World, a_tool, a_world, call, with_parts

WINDOW = 16_000
RULE = "Never touch the file ledger_0.py."
FIRST = f"Count all carts of the shop. {RULE}"
LINE = "cart {0} holds {1} turtles and costs {2} coins\n"
EVERY = 250  # The whole conversation is checked after this many turns.
COUNTED = 40  # The test counts the function calls of this many early and late turns.


class Course(NamedTuple):
    """The result of a long session.

    Attributes:
        early_s: Mean time of a turn without a compaction, in the second sixth of the session.
        late_s: The same mean in the last sixth.
        early_calls: Mean number of function calls in an early turn without a compaction, which does
            not depend on the machine's load.
        late_calls: The same mean of the last turns.
        n_compacted: Steps of compaction.
        n_live: Messages in the last request.
        text_b: Characters of all prompts, replies and files read.
        grown_b: Growth of the process's memory; 0 if unknown.
    """

    early_s: float
    late_s: float
    early_calls: float
    late_calls: float
    n_compacted: int
    n_live: int
    text_b: int
    grown_b: int


@dataclass
class Cost:
    """The cost of one turn: seconds, or function calls if the turn counts calls."""

    turn: int
    seconds: float = 0.0
    calls: int | None = None


class Costs:
    """Counts the function calls of some turns, and the seconds of all other turns."""

    def __init__(self, n_turns: int) -> None:
        self._early = range(n_turns // 6, n_turns // 6 + COUNTED)
        self._late = range(n_turns - COUNTED + 1, n_turns + 1)
        self.seconds: list[float] = []
        self.early_calls: list[int] = []
        self.late_calls: list[int] = []

    @contextmanager
    def of(self, turn: int) -> Iterator[Cost]:
        """Measure a turn."""
        cost = Cost(turn)
        profile = cProfile.Profile()
        is_counted = turn in self._early or turn in self._late
        began = time.process_time()
        with profile if is_counted else nullcontext():
            yield cost
        cost.seconds = time.process_time() - began
        if is_counted:
            cost.calls = sum(entry.callcount for entry in profile.getstats())

    def add(self, cost: Cost) -> None:
        """Record the work of a turn without a compaction."""
        if cost.calls is None:
            self.seconds.append(cost.seconds)
        else:
            (self.early_calls if cost.turn in self._early else self.late_calls).append(cost.calls)


class Answering:
    """A model that stores no request, and checks a whole request only at intervals."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self._answer = answer

    async def complete(self, request: Request, _on_event: object) -> Reply:
        return self._answer(request)


async def long_session(folder: Path, n_turns: int) -> Course:
    """Run the session; each turn reads one small report and answers.

    Raises:
        AssertionError: A request was larger than the window, lost the newest words, or broke a
            pair; or the user's rule of the first turn is not in the last request.
    """
    seen: list[Request] = []
    text_b = 0

    async def report(name: str, context: object) -> str:
        nonlocal text_b
        text = "".join(LINE.format(name, one, one * 7) for one in range(6))
        text_b += len(text)
        return text

    def answer(request: Request) -> Reply:
        seen[:] = [request]
        if request.messages[-1].turn % EVERY == 0:
            check_legal(request)
        assert request.tokens <= WINDOW - 1_000, request.tokens
        last = request.messages[-1].blocks[-1]
        if request.tool_choice == "none":
            return Reply("Carts were counted, and each holds turtles.")
        if isinstance(last, Text) and last.meta.source == "user":
            number = request.messages[-1].turn
            assert f"number {number}." in last.text or number == 1
            return Reply("", (call("report", f"c{number}", name=f"r{number}"),), "tool_calls")
        return Reply(f"Cart {request.messages[-1].turn} is counted.")

    registry = ToolTable([a_tool("report", report)])
    async with a_world(folder, [], registry=registry, window=WINDOW) as world:
        with_parts(world.session, provider=Answering(answer))
        costs, n_compacted = Costs(n_turns), 0
        before = _resident()
        for turn in range(1, n_turns + 1):
            words = FIRST if turn == 1 else f"Now count cart number {turn}."
            text_b += len(words)
            with costs.of(turn) as cost:
                finished = await world.turn(words)
            assert finished.ending == "done", finished
            n_here = len(world.told(Compacted))
            n_compacted += n_here
            if not n_here:
                costs.add(cost)
            world.events.clear()
            if turn % EVERY == 0:
                assert problems(world.messages) == ()
        await _is_on_task(world, seen[0], n_turns)
        part = len(costs.seconds) // 6
        return Course(
            early_s=mean(costs.seconds[part : 2 * part]),
            late_s=mean(costs.seconds[-part:]),
            early_calls=mean(costs.early_calls),
            late_calls=mean(costs.late_calls),
            n_compacted=n_compacted,
            n_live=len(world.messages),
            text_b=text_b,
            grown_b=max(0, _resident() - before),
        )


async def _is_on_task(world: World, last: Request, n_turns: int) -> None:
    """Check the newest request, the user's rule and the log."""
    shown = "".join(
        block.text
        for message in last.messages
        for block in message.blocks
        if hasattr(block, "text")
    )
    assert f"Now count cart number {n_turns}." in shown
    assert RULE in shown
    await world.records()


def _resident() -> int:
    gc.collect()
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * 4_096
