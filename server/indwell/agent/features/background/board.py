"""The background commands of a session: started, watched, stopped, ended with it (H55)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from indwell.agent.core.events import CommandsChanged, Event, Notice
from indwell.agent.features.background.command import RunningCommand, Who
from indwell.agent.features.background.output import Output
from indwell.agent.features.background.words import started_words
from indwell.errors import ToolError
from indwell.files import append_own
from indwell.sandbox import Finished
from indwell.tools.base import Outcome, ToolContext
from indwell.tools.commands.background import Run
from indwell.tools.commands.command_output import ending_figure, ending_words

MOST = 8  # that run at once
MOST_ENDED = 20  # that are still listed
BEGIN_S = 1.0  # in which a command that fails at once has failed


async def _nothing() -> None:
    """Nothing is covered."""


async def _covers_nothing(_call: str) -> None:
    """As above."""


class Board:
    """Keeps commands that outlive their calls. Implements ``Background``.

    Args:
        begin_s: Seconds until a command counts as one that goes on.
        monotonic: Seconds of a clock that never goes back.

    Attributes:
        begin_s: As given.
        turn: The last one that began.
        hear: Hears events, during a turn.
        outside: Hears them between two turns.
        cover: Let what commands change be reviewed from now on, as of a call.
        uncover: The opposite.
        note: Writes down that the model knows how a command stands: id, its text, does it run?
        lost: Ids that the conversation names, and that ended with an earlier process.
        is_told: Was it said that changes between turns are not reviewed?
    """

    def __init__(
        self, *, begin_s: float = BEGIN_S, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.turn = 0
        self.hear: Callable[[Event], None] | None = None
        self.outside: Callable[[Event], None] = lambda _event: None
        self.cover: Callable[[str], Awaitable[None]] = _covers_nothing
        self.uncover: Callable[[], Awaitable[None]] = _nothing
        self.note: Callable[[str, str, bool], None] = lambda _id, _text, _runs: None
        self.lost: tuple[str, ...] = ()
        self.is_told = False
        self.begin_s = begin_s
        self._monotonic = monotonic
        self._commands: dict[str, RunningCommand] = {}
        self._n_begun = 0
        self._n_beginning = 0
        self._said = asyncio.Event()
        self._covered: set[str] = set()  # ids of all that can change files, also of new ones

    @property
    def commands(self) -> tuple[RunningCommand, ...]:
        """All that are listed, oldest first."""
        return tuple(self._commands.values())

    @property
    def running(self) -> tuple[RunningCommand, ...]:
        """Those that run."""
        return tuple(one for one in self._commands.values() if one.runs)

    @property
    def now(self) -> float:
        """The time of its clock, in seconds."""
        return self._monotonic()

    def event(self) -> CommandsChanged:
        """How all of them stand."""
        return CommandsChanged(self.turn, tuple(one.row(self.now) for one in self.commands))

    def get(self, name: str) -> RunningCommand:
        """The one with this id.

        Raises:
            ToolError: There is none; it says which there are.
        """
        found = self._commands.get(name)
        if found is None:
            known = ", ".join(self._commands) or "none"
            raise ToolError(f"there is no background command {name[:20]!r}; there are: {known}")
        return found

    def take_over(self, n_begun: int, lost: tuple[str, ...]) -> None:
        """Go on after an earlier process, which ended ``lost`` when it ended."""
        self._n_begun, self.lost = n_begun, lost

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Let a command begin; the answer comes when it goes on, or has ended already.

        Raises:
            ToolError: It cannot begin, or too many run.
            SessionError: Its output cannot be kept.
        """
        if len(self.running) + self._n_beginning >= MOST:
            raise ToolError(
                f"{MOST} background commands run already, so this one was not begun; stop one with "
                "`commands` first"
            )
        self._n_begun += 1
        self._n_beginning += 1
        try:
            one = await self._begun(f"b{self._n_begun}", command, run, context)
        finally:
            self._n_beginning -= 1
        has_ended = one.id not in self._commands
        text = await one.output.take_news(one.where)
        if text and not text.endswith("\n"):
            text += "\n"
        if has_ended and one.finished is not None:
            lines = [*ending_words(one.finished), *(f"[{note}]" for note in one.finished.notes)]
            words = (text or "(no output)\n") + "\n".join(lines)
            return Outcome(words, figure=ending_figure(one.finished))
        one.is_told = True
        is_held = context.confinement is not None
        return Outcome(started_words(one.id, text, is_held=is_held), figure=f"{one.id} runs")

    async def stop(self, one: RunningCommand, by: Who) -> None:
        """End it, and wait until all of it has ended."""
        if one.runs:
            one.by = by
            one.stop.set()
        if one.task is not None:
            await asyncio.wait({one.task})

    async def wait(self, commands: tuple[RunningCommand, ...], seconds: float) -> None:
        """Wait until one of them ends, the user says something, or the time is over."""
        tasks = {one.task for one in commands if one.task is not None and one.runs}
        if not tasks or seconds <= 0:
            return
        said = asyncio.create_task(self._said.wait())
        try:
            await asyncio.wait({*tasks, said}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            said.cancel()

    def wake(self) -> None:
        """The user has said something to the running turn: nobody waits until that is read."""
        self._said.set()

    def settle_down(self) -> None:
        """What the user said is read with the request that goes out now."""
        self._said.clear()

    async def close(self) -> None:
        """End all of them, with the session."""
        tasks = {one.task for one in self.commands if one.task is not None}
        for one in self.running:
            one.stop.set()
        if tasks:
            await asyncio.wait(tasks)

    async def _begun(
        self, name: str, command: str, run: Run, context: ToolContext
    ) -> RunningCommand:
        """Begin it, and see whether it goes on."""
        path = await context.spill(f"background-{name}.txt", "")
        output = Output(lambda text: _keep(path, text), context.hide)
        is_covered = not context.unasked
        one = RunningCommand(
            name, command, context.call_id, self.now, output, str(path), is_covered
        )
        try:
            if is_covered:
                self._covered.add(name)
                await self.cover(context.call_id)
            one.task = asyncio.create_task(self._run(one, run))
            await asyncio.wait({one.task}, timeout=self.begin_s)
            if not one.runs:
                await asyncio.wait({one.task})
                one.task.result()  # a fault of our own travels
        except BaseException:  # nobody knows of it yet
            await self._given_up(one)
            raise
        if one.problem:
            raise ToolError(one.problem)
        if one.runs:  # told at once: whoever stops the turn from here on leaves it running
            self._commands[name] = one
            self._tell()
            self.note(name, command, True)  # noqa: FBT003 - it runs
        ended = [known.id for known in self.commands if not known.runs]
        for old in ended[:-MOST_ENDED]:
            del self._commands[old]
        return one

    async def _given_up(self, one: RunningCommand) -> None:
        """End one that has not begun for anybody; if it has ended, its changes are taken down."""
        if one.task is not None:
            if one.runs:
                one.task.cancel()
            await asyncio.wait({one.task})
        self._covered.discard(one.id)

    async def _run(self, one: RunningCommand, run: Run) -> None:
        """Run it to its end, and say so, whatever that was."""
        try:
            await self._ran(one, run)
        finally:
            if one.id in self._commands:
                asyncio.get_running_loop().call_soon(self._ended, one)

    async def _ran(self, one: RunningCommand, run: Run) -> None:
        """Run it, and take down what it changed."""
        try:
            one.finished = await self._heard(one, run)
        except ToolError as error:
            one.problem = str(error)
        finally:
            one.seconds = self.now - one.began
            self._covered.discard(one.id)
        if not self._covered:
            await self.uncover()

    async def _heard(self, one: RunningCommand, run: Run) -> Finished:
        finished = await run(one.output.feed, one.stop, partial(self._noted, one))
        await one.output.settle(is_end=True)
        return finished

    def _ended(self, one: RunningCommand) -> None:
        """Its task is done: tell of it, and of what it did although it may not."""
        self._tell()
        for note in one.finished.notes if one.finished is not None else ():
            if note not in one.notes:
                self._noted(one, note)

    def _noted(self, one: RunningCommand, note: str) -> None:
        """It did what it may not: tell of it."""
        one.notes.append(note)
        (self.hear or self.outside)(Notice(self.turn, "warning", f"{one.id}: {note}"))

    def _tell(self) -> None:
        (self.hear or self.outside)(self.event())


async def _keep(path: Path, text: str) -> None:
    """Write a piece of output behind the others."""
    await asyncio.to_thread(append_own, path, text.encode("utf-8", "replace"))
