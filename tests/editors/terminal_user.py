"""Plays the shared scenarios in an interactive session of ``indwell`` in a terminal.

A terminal has no code actions and no buffers. The user writes a prompt that names lines of a file,
and the user's own changes are made by the user's commands.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from editors.place import forked_environment
from editors.scenarios import ACTION, FIRST, LAST, MINE, NEW, PATH, QUESTION
from support.terminal_screen import Terminal

_FORMAT = "sed -i 's/  #/ #/; 1s/é 🙂\\./É 🙂./'"
_MINE = f"sed -i '{LAST}s/$/{MINE}/'"
_LETTERS = re.compile(r"\[(?P<letter>[A-Z])\](?P<rest>\w*)")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LEFT = "1 accepted, 1 rejected, 1 left pending"
COLUMNS = 160
KEYS = "[q]uit, [?]?"
ENTER, ESCAPE = "\r", "\x1b"


class TerminalUser:
    """A user who types lines.

    Args:
        terminal: The terminal in which the session runs.
        path: The file of the scenarios.
    """

    def __init__(self, terminal: Terminal, path: Path) -> None:
        self.terminal, self.path = terminal, path

    @property
    def disk(self) -> str:
        """The text on disk."""
        return self.path.read_bytes().decode()

    def line(self, words: str) -> None:
        """Type a line."""
        self.terminal.press(f"{words}{ENTER}")

    def fix(self) -> None:
        """Ask for "Fix this", and name the lines of the first function."""
        self.line(f"{ACTION} @{PATH}#L{FIRST}-{LAST} ")

    def answer(self, heading: str, prompt: str, typed: str, after: str) -> str:
        """Read a question, and type an answer until a text comes after the answer.

        Return the question without control characters.
        """
        self.terminal.until(heading)
        shown = heading + self.terminal.until(prompt)
        self.terminal.reply(f"{typed}{ENTER}", after)
        return _CONTROL.sub("", shown).replace("\r", "")

    def end(self) -> str:
        """Wait for the end of a turn; return what was shown."""
        return self.terminal.until(" tokens in (")

    def command(self, command: str) -> None:
        """Run a command as the user."""
        self.line(f"!{command} {PATH}")
        self.terminal.until("only you see this")


def _fix(user: TerminalUser) -> dict[str, Any]:
    user.fix()
    receipt = "1 change to review: /review"
    user.terminal.until(receipt)
    report: dict[str, Any] = {"receipt": receipt, "shown": receipt, "buffer": user.disk}
    user.command(_FORMAT)
    report |= {"saved": user.disk, "disk": user.disk}
    user.fix()
    user.end()
    return report | {"again": user.disk}


def _ask(user: TerminalUser) -> dict[str, Any]:
    questions = []
    refused: dict[str, str] = {}
    for typed in ("n", "o"):
        user.fix()
        shown = user.answer("Run a command in", "[A]lways?", typed, "answered: ")
        titles = [one["letter"] + one["rest"] for one in _LETTERS.finditer(shown)]
        questions.append({"prompt": shown, "titles": titles})
        user.end()
        refused = refused or {"buffer": user.disk, "disk": user.disk}
    user.command(_MINE)
    user.fix()
    user.end()
    report = {"refused": refused, "questions": questions}
    return report | {"buffer": user.disk, "disk": user.disk}


def _cancel(user: TerminalUser) -> dict[str, Any]:
    user.fix()
    user.terminal.until("I am thinking")
    began = time.monotonic()
    user.terminal.press(ESCAPE)
    user.terminal.until("stopped")
    took = 1_000 * (time.monotonic() - began)
    return {"took": took, "buffer": user.disk, "disk": user.disk}


def _review(user: TerminalUser) -> dict[str, Any]:
    user.fix()
    user.end()
    user.line("/review")
    first = user.answer("(1/3)", KEYS, "a", "(2/3)")
    report = {"buffer_accepted": user.disk}
    second = user.answer("(2/3)", KEYS, "r", "(3/3)")
    third = user.answer("(3/3)", KEYS, "q", LEFT)
    report |= {"buffer_rejected": user.disk}
    user.terminal.until(LEFT)
    user.line("/rewind 0")
    rewound = "the conversation is back at the beginning"
    user.answer("Restore the files too?", "A number (Enter: none)", "2", rewound)
    return {
        **report,
        "offered": _offered(first, NEW[0]),
        "offered_accepted": _offered(second + third, NEW[0]),
        "offered_other": _offered(second, NEW[1]),
        "offered_last": _offered(third, NEW[2]),
        "buffer_rewound": user.disk,
    }


def _offered(shown: str, new: str) -> list[str]:
    """Return what the user can do with a change, under the titles of code actions."""
    letters = {"[a]ccept": "Accept this change", "[r]eject": "Reject this change"}
    return [title for letter, title in letters.items() if new in shown and letter in shown]


def _chat(user: TerminalUser) -> dict[str, Any]:
    user.line(QUESTION)
    return {"chat": user.end()}


_RUNS: Mapping[str, Callable[[TerminalUser], dict[str, Any]]] = {
    "fix": _fix,
    "ask": _ask,
    "cancel": _cancel,
    "review": _review,
    "chat": _chat,
}


def play_terminal(
    run: str, root: Path, folder: Path, variables: Mapping[str, str]
) -> dict[str, Any]:
    """Play a run in a terminal; return the report."""
    terminal = Terminal(
        environment={**forked_environment(folder), **variables, "NO_COLOR": "1"},
        folder=root,
        kind="xterm",
        columns=COLUMNS,
    )
    with terminal:
        terminal.until("/help lists commands")
        return _RUNS[run](TerminalUser(terminal, root / PATH))
