"""Starts, watches and stops the background commands of a session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from indwell.agent.core.events import BackgroundCommand, CommandsChanged, Event, Notice
from indwell.agent.features.background.output import Output
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError
from indwell.files.private import append_own
from indwell.sandbox import Finished
from indwell.tools.base import Outcome, Run, ToolContext
from indwell.tools.commands.command_output import ending_figure, ending_words

COMMAND_CHARACTERS = 200  # the limit of characters for a command's text in a list


def started_words(name: str, text: str, *, is_held: bool) -> str:
    """Return the result of the call that started the command.

    Args:
        name: The command's id, such as ``b1``.
        text: The command's output so far.
        is_held: Whether the command is confined by the sandbox.
    """
    held = "\n[nobody outside the sandbox can reach a port that it opens]" if is_held else ""
    return (
        f"{text}[{name} runs on in the background; `commands` shows what it writes from here on, "
        f"and stops it. It ends with the session.]{held}"
    )


def list_words(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return the list of all commands, with name, state and text."""
    if not rows:
        return "no background commands; bash starts one with `background`"
    return "\n".join(
        f"{name}: {state}: {short_line(command, COMMAND_CHARACTERS)}"
        for name, state, command in rows
    )


def ended_words(rows: Sequence[tuple[str, str]]) -> str:
    """Return a reminder about commands that ended by themselves, without their output."""
    said = "; ".join(f"{name}: {state}" for name, state in rows)
    one = "A background command has" if len(rows) == 1 else "Background commands have"
    return f"{one} ended ({said}). `commands` with its id shows what it wrote."


def untold_words(names: Sequence[str]) -> str:
    """Return a reminder about commands whose call was stopped before the model got a result."""
    one = "A background command runs" if len(names) == 1 else "Background commands run"
    return f"{one} on, begun by a call that was interrupted: {', '.join(names)}."


def lost_words(names: Sequence[str]) -> str:
    """Return a reminder about commands that ended with an earlier process or after a rewind."""
    listed = ", ".join(names)
    return (
        f"No background command runs any more: {listed} ended with the session that began "
        f"{'it' if len(names) == 1 else 'them'}. Start again what is still needed."
    )


def seconds_words(seconds: float) -> str:
    """Return a duration as readable text: ``12 s``, ``3 min``, ``2 h 5 min``."""
    if seconds < 100:  # noqa: PLR2004 - two digits
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004


SHOWN_COMMAND = 2_000  # the limit of characters for a command's text in events

Who = Literal["", "model", "user"]


class RunningCommand(msgspec.Struct):
    """A command that runs or has run in the background.

    Attributes:
        id: The command's id, such as ``b1``.
        text: The shell text.
        call_id: The id of the tool call that started the command.
        began: When the command started, in seconds of the board's clock.
        output: The command's output.
        path: The file with the output.
        is_covered: Whether the command can change files, so that its changes are recorded.
        stop: Setting this event stops the command.
        task: The asyncio task that runs the command.
        finished: How the command ended, or None while it runs.
        problem: The reason why the command could not be started or watched.
        seconds: The duration of the command, after it has ended.
        by: Who stopped the command.
        is_told: Whether the model knows that the command started.
        is_known: Whether the model knows how the command ended.
        notes: Sentences about the command's actions without permission.
        n_noted: The number of ``notes`` that the model knows.
    """

    id: str
    text: str
    call_id: str
    began: float
    output: Output
    path: str
    is_covered: bool
    stop: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    finished: Finished | None = None
    problem: str = ""
    seconds: float = 0.0
    by: Who = ""
    is_told: bool = False
    is_known: bool = False
    notes: list[str] = msgspec.field(default_factory=list)
    n_noted: int = 0

    @property
    def runs(self) -> bool:
        """Return whether the command is still running; recording its changes may take longer."""
        if self.finished is not None or self.problem:
            return False
        return self.task is not None and not self.task.done()

    def where(self) -> str:
        """Return a clause, for a cut text, that names the file with the whole output."""
        how = "it is whole in" if self.output.is_whole else "its beginning is in"
        return f"; {how} {self.path!r}, for read_file or grep"

    def state_words(self, now: float) -> str:
        """Return the command's state in a few words."""
        if self.runs:
            return f"runs, {seconds_words(now - self.began)}"
        if self.problem:
            return f"did not run: {self.problem}"
        ending = "stopped by the user" if self.by == "user" else "stopped" if self.by else ""
        if not ending and self.finished is not None:
            ending = ending_words(self.finished)[0]
        return f"{ending or 'ended'}, after {seconds_words(self.seconds)}"

    def ending(self) -> list[str]:
        """Details about the end of the command, one line each."""
        return [] if self.finished is None else ending_words(self.finished)[1:]

    def take_notes(self) -> list[str]:
        """Return the notes that are new to the model, one per line; mark them as known."""
        ended = self.finished.notes if self.finished is not None else ()
        notes = tuple(dict.fromkeys((*self.notes, *ended)))[self.n_noted :]
        self.n_noted += len(notes)
        return [f"[{note}]" for note in notes]

    def row(self, now: float) -> BackgroundCommand:
        """Return the description of the command for events."""
        state: Literal["running", "ended", "stopped"] = "running"
        if not self.runs:
            state = "stopped" if self.by else "ended"
        return BackgroundCommand(
            id=self.id,
            command=self.text[:SHOWN_COMMAND],
            state=state,
            exit_code=self.finished.exit_code if self.finished else None,
            seconds=round(now - self.began if self.runs else self.seconds, 1),
            tail=self.output.tail,
            path=self.path,
            by=self.by,
        )


MOST = 8  # the limit of commands that run at the same time
MOST_ENDED = 20  # the limit of ended commands in the list
# the wait in seconds for a command's start; a command that fails at once fails within this time
BEGIN_S = 1.0


async def _nothing() -> None:
    """Do nothing, for sessions that record no changes."""


async def _covers_nothing(_call: str) -> None:
    """Do nothing, for sessions that record no changes."""


class BackgroundBoard:
    """Runs commands that outlive their tool calls. Implements ``Background``.

    Args:
        begin_s: Seconds after which a command counts as running.
        monotonic: Returns the time of a monotonic clock in seconds.

    Attributes:
        begin_s: Seconds after which a command counts as running.
        begun: Returns once a command counts as running; by default, after ``begin_s`` seconds.
        turn: The number of the newest turn.
        hear: Receives events during a turn.
        outside: Receives events between two turns.
        cover: Starts recording changes by background commands, as changes of a given tool call.
        uncover: Stops recording changes by background commands.
        note: Records that the model knows the state of a command. Arguments: the id, the text,
            whether the command runs.
        lost: Ids of commands that the conversation names and that ended with an earlier process.
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
        self.begun: Callable[[RunningCommand], Awaitable[object]] = self._after_the_start
        self._monotonic = monotonic
        self._commands: dict[str, RunningCommand] = {}
        self._n_begun = 0
        self._n_beginning = 0
        self._said = asyncio.Event()
        self._covered: set[str] = set()  # the ids of running commands that can change files

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
        """Return the event with the state of all commands."""
        return CommandsChanged(self.turn, tuple(one.row(self.now) for one in self.commands))

    def get(self, name: str) -> RunningCommand:
        """Return the command with this id.

        Raises:
            ToolError: No command has this id; the message lists the ids.
        """
        found = self._commands.get(name)
        if found is None:
            known = ", ".join(self._commands) or "none"
            raise ToolError(f"there is no background command {name[:20]!r}; there are: {known}")
        return found

    def take_over(self, n_begun: int, lost: tuple[str, ...]) -> None:
        """Continue after a restart; the earlier process ended the commands ``lost``."""
        self._n_begun, self.lost = n_begun, lost

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Start a command; return when it counts as running, or earlier if the command has ended.

        Raises:
            ToolError: The command cannot start, or too many commands run.
            SessionError: The command's output cannot be stored.
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
        await asyncio.sleep(0)  # a call that was stopped meanwhile ends here, without a result
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
        """Allow waits again, because the next request contains the user's message."""
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
        """Start a command, and wait until the command counts as running."""
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
            await self._started(one.task, one)
            if not one.runs:
                await asyncio.wait({one.task})
                one.task.result()  # the call raises an error that Indwell's code has caused
        except BaseException:  # the model does not know about the command yet
            await self._given_up(one)
            raise
        if one.problem:
            raise ToolError(one.problem)
        # Notify the model now, because the command keeps running if the turn is stopped after this
        # line.
        if one.runs:
            self._commands[name] = one
            self._tell()
            self.note(name, command, True)  # noqa: FBT003 - it runs
        ended = [known.id for known in self.commands if not known.runs]
        for old in ended[:-MOST_ENDED]:
            del self._commands[old]
        return one

    async def _started(self, task: asyncio.Task[None], one: RunningCommand) -> None:
        """Wait until a command counts as running or has ended."""
        begun = asyncio.ensure_future(self.begun(one))
        try:
            await asyncio.wait({task, begun}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()

    async def _after_the_start(self, _one: RunningCommand) -> None:
        await asyncio.sleep(self.begin_s)

    async def _given_up(self, one: RunningCommand) -> None:
        """End a command whose start the model never learned of, and record the changes it made."""
        if one.task is not None:
            if one.runs:
                one.task.cancel()
            await asyncio.wait({one.task})
        self._covered.discard(one.id)

    async def _run(self, one: RunningCommand, run: Run) -> None:
        """Run a command, and report the command's end even after an error."""
        try:
            await self._ran(one, run)
        finally:
            if one.id in self._commands:
                asyncio.get_running_loop().call_soon(self._ended, one)

    async def _ran(self, one: RunningCommand, run: Run) -> None:
        """Run a command, and record the changes that the command makes."""
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
        """Report the end of a command, and the command's actions without permission."""
        self._tell()
        for note in one.finished.notes if one.finished is not None else ():
            if note not in one.notes:
                self._noted(one, note)

    def _noted(self, one: RunningCommand, note: str) -> None:
        """Report a command's actions without permission."""
        one.notes.append(note)
        (self.hear or self.outside)(Notice(self.turn, "warning", f"{one.id}: {note}"))

    def _tell(self) -> None:
        (self.hear or self.outside)(self.event())


async def _keep(path: Path, text: str) -> None:
    """Append a part of the output to the command's file."""
    await asyncio.to_thread(append_own, path, text.encode("utf-8", "replace"))
