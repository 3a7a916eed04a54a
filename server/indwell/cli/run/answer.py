"""Writes the answers of a run to stdout or a file; everything else goes to stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
from rich.console import Console

from indwell.agent.core import events
from indwell.cli.run.grammar import RunOptions
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.output import TerminalView, plan_advice
from indwell.context.untrusted_text import visible
from indwell.errors import ToolError, UserError
from indwell.files.contents.atomic import write_atomic


class UnusableFile(UserError):
    """``--output`` names no file that can be written."""


def view_of(wish: RunOptions) -> events.Listener:
    """Return the listener that shows a run as its options say.

    Raises:
        UnusableFile: The file of ``--output`` cannot be written.
    """
    file = AnswerFile(wish.output) if wish.output is not None else None
    if wish.json:
        return _print_json if file is None else AnswerView(_print_json, file, is_json=True)
    errors = Console(stderr=True)
    answers = file or AnswersOnStdout()
    if wish.quiet:
        return AnswerView(Quiet(TerminalView(errors)), answers)
    if file is None and sys.stdout.isatty():
        return TerminalView(errors, Console())
    return AnswerView(TerminalView(errors), answers)


class AnswersOnStdout:
    """Prints each answer on stdout, without characters that control a terminal."""

    def __call__(self, answer: str) -> None:
        """Print an answer."""
        sys.stdout.write(answer)
        sys.stdout.flush()


class AnswerFile:
    """Writes the answers to a file, which is emptied at the start.

    After each answer, the file holds all answers so far.

    Args:
        place: The path, as the user wrote it.

    Raises:
        UnusableFile: The file cannot be written.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._answers = ""
        self("")

    def __call__(self, answer: str) -> None:
        """Add an answer."""
        self._answers += answer
        path = Path(os.path.realpath(self._place))
        try:
            write_atomic(path, self._answers.encode("utf-8", "replace"), [path.parent])
        except ToolError as error:
            raise UnusableFile(f"--output: {error}") from error


class AnswerView:
    """Separates the answer of each turn, and a proposed plan, from the other events.

    Text of the model that comes before a call of a tool is no answer, and goes to ``view``.

    Args:
        view: Shows everything else.
        write: Receives each answer.
        is_json: Whether ``view`` receives all events, the answer too.
    """

    def __init__(
        self,
        view: events.Listener,
        write: AnswersOnStdout | AnswerFile,
        *,
        is_json: bool = False,
    ) -> None:
        self._view, self._write, self._is_json = view, write, is_json
        self._held = ""  # text of the model that may be the answer

    def __call__(self, event: events.Event) -> None:
        """Take an event."""
        match event:
            case events.TextAdded(agent="", text=text, restart=restart) if not self._is_json:
                self._held = "" if restart else self._held + text
                return
            case events.ToolStarted(agent="") | events.Steered(delivered=True):
                self._let_go()
            case events.PlanChanged(state="proposed", text=text, path=path):
                self._let_go()
                self._write(_whole(text))
                if not self._is_json:
                    event = events.Notice(event.turn, "info", plan_advice(path))
            case events.TurnFinished(answer=answer):
                if self._held.rstrip().endswith(answer.strip()):
                    self._held = ""
                self._let_go()
                if answer.strip():
                    self._write(_whole(answer))
        self._view(event)

    def _let_go(self) -> None:
        """Show text that turned out to be no answer."""
        text, self._held = self._held, ""
        if text:
            self._view(events.TextAdded(0, text))


def _whole(text: str) -> str:
    """Return the text as whole lines, without characters that control a terminal."""
    shown = visible(text.replace("\r\n", "\n"))
    return shown if shown.endswith("\n") else f"{shown}\n"


class Quiet:
    """Forwards only failures, and the user's text that was not sent."""

    def __init__(self, view: events.Listener) -> None:
        self._view = view

    def __call__(self, event: events.Event) -> None:
        """Take an event."""
        match event:
            case events.TurnFinished(ending=ending) if ending != "done":
                receipt = {"rounds": 0, "verified": "", "changes": ()}
                self._view(msgspec.structs.replace(event, **receipt))
            case events.Notice(level="error"):
                self._view(event)
            case _:
                pass


def _print_json(event: events.Event) -> None:
    sys.stdout.write(json_line(event) + "\n")
    sys.stdout.flush()
