"""The background commands of a session: started, watched, stopped, and ended with it (H55)."""

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

MOST = 8  # commands that run at once
MOST_ENDED = 20  # ended commands that are still listed
BEGIN_S = 1.0  # seconds within which a command that fails at once has failed


async def _nothing() -> None:
    """Do nothing where no changes are recorded."""


async def _covers_nothing(_call: str) -> None:
    """Do nothing where no changes are recorded."""


class Board:
    """Keeps commands that outlive their calls. Implements ``Background``.

    Args:
        begin_s: Seconds after which a command counts as running.
        monotonic: Returns seconds of a monotonic clock.

    Attributes:
        begin_s: As given.
        turn: The newest turn.
        hear: Receives events during a turn.
        outside: Receives events between two turns.
        cover: Starts recording what commands change, as of a call.
        uncover: Stops it.
        note: Records that the model knows the state of a command: id, its text, whether it runs.
        lost: Ids that the conversation names and that ended with an earlier process.
        is_told: Whether the user was told that changes between turns are not reviewed.
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
        self._covered: set[str] = set()  # ids of commands that can change files

    @property
    def commands(self) -> tuple[RunningCommand, ...]:
        """All listed commands, oldest first."""
        return tuple(self._commands.values())

    @property
    def running(self) -> tuple[RunningCommand, ...]:
        """The running commands."""
        return tuple(one for one in self._commands.values() if one.runs)

    @property
    def now(self) -> float:
        """The time of the board's clock, in seconds."""
        return self._monotonic()

    def event(self) -> CommandsChanged:
        """The event with the state of all commands."""
        return CommandsChanged(self.turn, tuple(one.row(self.now) for one in self.commands))

    def get(self, name: str) -> RunningCommand:
        """Return the command with this id.

        Raises:
            ToolError: There is none; the message lists the ids.
        """
        found = self._commands.get(name)
        if found is None:
            known = ", ".join(self._commands) or "none"
            raise ToolError(f"there is no background command {name[:20]!r}; there are: {known}")
        return found

    def take_over(self, n_begun: int, lost: tuple[str, ...]) -> None:
        """Continue after an earlier process, with which the commands ``lost`` ended."""
        self._n_begun, self.lost = n_begun, lost

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Start a command, and answer when it runs on or has already ended.

        Raises:
            ToolError: It cannot start, or too many commands run.
            SessionError: Its output cannot be stored.
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
        """Stop a command, and wait until all of its processes have ended."""
        if one.runs:
            one.by = by
            one.stop.set()
        if one.task is not None:
            await asyncio.wait({one.task})

    async def wait(self, commands: tuple[RunningCommand, ...], seconds: float) -> None:
        """Wait until a command ends, the user says something, or the time is over."""
        tasks = {one.task for one in commands if one.task is not None and one.runs}
        if not tasks or seconds <= 0:
            return
        said = asyncio.create_task(self._said.wait())
        try:
            await asyncio.wait({*tasks, said}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            said.cancel()

    def wake(self) -> None:
        """End all waits, because the user has said something to the running turn."""
        self._said.set()

    def settle_down(self) -> None:
        """Allow waits again, because the next request carries what the user said."""
        self._said.clear()

    async def close(self) -> None:
        """Stop all commands, because the session ends."""
        tasks = {one.task for one in self.commands if one.task is not None}
        for one in self.running:
            one.stop.set()
        if tasks:
            await asyncio.wait(tasks)

    async def _begun(
        self, name: str, command: str, run: Run, context: ToolContext
    ) -> RunningCommand:
        """Start a command, and see whether it runs on."""
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
                one.task.result()  # raises a fault of our own
        except BaseException:  # the model does not know of it yet
            await self._given_up(one)
            raise
        if one.problem:
            raise ToolError(one.problem)
        if one.runs:  # told at once: if the turn is stopped from here on, the command runs on
            self._commands[name] = one
            self._tell()
            self.note(name, command, True)  # noqa: FBT003 - it runs
        ended = [known.id for known in self.commands if not known.runs]
        for old in ended[:-MOST_ENDED]:
            del self._commands[old]
        return one

    async def _given_up(self, one: RunningCommand) -> None:
        """Stop a command that nobody was told of; if it has ended, record its changes."""
        if one.task is not None:
            if one.runs:
                one.task.cancel()
            await asyncio.wait({one.task})
        self._covered.discard(one.id)

    async def _run(self, one: RunningCommand, run: Run) -> None:
        """Run a command to its end, and report the end in any case."""
        try:
            await self._ran(one, run)
        finally:
            if one.id in self._commands:
                asyncio.get_running_loop().call_soon(self._ended, one)

    async def _ran(self, one: RunningCommand, run: Run) -> None:
        """Run a command, and record what it changed."""
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
        """Report that a command has ended, and what it did without permission."""
        self._tell()
        for note in one.finished.notes if one.finished is not None else ():
            if note not in one.notes:
                self._noted(one, note)

    def _noted(self, one: RunningCommand, note: str) -> None:
        """Report what a command did without permission."""
        one.notes.append(note)
        (self.hear or self.outside)(Notice(self.turn, "warning", f"{one.id}: {note}"))

    def _tell(self) -> None:
        (self.hear or self.outside)(self.event())


async def _keep(path: Path, text: str) -> None:
    """Append a piece of output to its file."""
    await asyncio.to_thread(append_own, path, text.encode("utf-8", "replace"))
