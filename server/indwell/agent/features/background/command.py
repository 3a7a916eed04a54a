"""One background command and its state."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from indwell.agent.core.event_shape import BackgroundCommand
from indwell.agent.features.background.output import Output
from indwell.agent.features.background.words import seconds_words
from indwell.sandbox import Finished
from indwell.tools.commands.command_output import ending_words

SHOWN_COMMAND = 2_000  # characters of its text in events

Who = Literal["", "model", "user"]


@dataclass
class RunningCommand:
    """A command that runs or has run in the background.

    Attributes:
        id: Such as ``b1``.
        text: The shell text.
        call_id: The id of the call that started it.
        began: When it started, in seconds of the board's clock.
        output: Its output.
        path: The file of its output.
        is_covered: Whether it can change files.
        stop: Set to stop it.
        task: The task that runs it.
        finished: How it ended.
        problem: Why it could not be run, or not be watched to its end.
        seconds: How long it ran, once it has ended.
        by: Who stopped it.
        is_told: Whether the model knows that it started.
        is_known: Whether the model knows how it ended.
        notes: What it did without permission, one sentence each.
        n_noted: How many of these the model knows.
    """

    id: str
    text: str
    call_id: str
    began: float
    output: Output
    path: str
    is_covered: bool
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    finished: Finished | None = None
    problem: str = ""
    seconds: float = 0.0
    by: Who = ""
    is_told: bool = False
    is_known: bool = False
    notes: list[str] = field(default_factory=list)
    n_noted: int = 0

    @property
    def runs(self) -> bool:
        """Is it not finished yet? After its end, its changes may still have to be recorded."""
        if self.finished is not None or self.problem:
            return False
        return self.task is not None and not self.task.done()

    def where(self) -> str:
        """Where the whole output is, for a text that was cut."""
        how = "it is whole in" if self.output.is_whole else "its beginning is in"
        return f"; {how} {self.path!r}, for read_file or grep"

    def state_words(self, now: float) -> str:
        """Its state, in a few words."""
        if self.runs:
            return f"runs, {seconds_words(now - self.began)}"
        if self.problem:
            return f"did not run: {self.problem}"
        ending = "stopped by the user" if self.by == "user" else "stopped" if self.by else ""
        if not ending and self.finished is not None:
            ending = ending_words(self.finished)[0]
        return f"{ending or 'ended'}, after {seconds_words(self.seconds)}"

    def ending(self) -> list[str]:
        """More about its end, one line each."""
        return [] if self.finished is None else ending_words(self.finished)[1:]

    def take_notes(self) -> list[str]:
        """Return the notes that the model does not know yet, a line each; mark them as known."""
        ended = self.finished.notes if self.finished is not None else ()
        notes = tuple(dict.fromkeys((*self.notes, *ended)))[self.n_noted :]
        self.n_noted += len(notes)
        return [f"[{note}]" for note in notes]

    def row(self, now: float) -> BackgroundCommand:
        """Return what events say of the command."""
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
