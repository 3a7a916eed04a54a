"""Connects the service to a terminal: shows events, and asks the user."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape

from indwell.agent.core.events import Event, Listener, Notice
from indwell.agent.features.questions import NOBODY, UserQuestion, answer_of
from indwell.agent.features.questions import Answer as UserAnswer
from indwell.cli.terminal.stdin import YES_OR_NO, TypedLine, chosen, is_typed, typed_line
from indwell.cli.terminal.telling import told
from indwell.context.untrusted_text import one_line, visible
from indwell.policy.approvals import Answer, Approver, Chosen, Question, Reply, Said
from indwell.policy.trust import STAY, TRUST
from indwell.service.front_door import AskingSession
from indwell.service.sessions.session_commands import KEEP, RESTORE
from indwell.settings.model import Settings

_NO_OR_ONCE: Mapping[str, Answer] = {
    **dict.fromkeys(("", "n", "no"), "no"),
    **dict.fromkeys(("y", "yes", "o", "once"), "once"),
}
_FOR_LONGER: Mapping[str, Answer] = {
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("a", "always"), "always"),
}
_BY_HUNK: Mapping[str, Literal["hunk"]] = {"h": "hunk", "hunk": "hunk"}
_LETTERS = "Type one of the letters in brackets; y means yes once, Enter means no."
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class TerminalApprover:
    """Asks for permissions in the terminal; without a terminal, the answer is no.

    Args:
        console: The console for the questions.
        typed: Shows a prompt and reads a line.
    """

    def __init__(self, console: Console, typed: TypedLine = typed_line) -> None:
        self._console, self._typed = console, typed

    async def ask(self, question: Question) -> Reply:
        """Show exactly the requested command or edit, and read a letter as the answer."""
        title, reason = (escape(one_line(told(one))) for one in (question.title, question.reason))
        heading = f"[bold yellow]{title}[/] ({reason})"
        self._console.print(heading, emoji=False, highlight=False, soft_wrap=True)
        self._tell_detail(question)
        self._tell_notes(question)
        if not is_typed():
            nobody = told("There is no terminal to ask in, so the answer is no.")
            self._console.print(f"[yellow]{nobody}[/]")
            return "unanswered"
        choices = "[N]o (Enter), " + ("[Y]es: remember it" if question.keeps else "[O]nce")
        choices += ", this [S]ession, [A]lways" if question.rule else ""
        choices += ", by [H]unk" if question.hunks else ""
        meanings: Mapping[str, Answer | Literal["hunk"]] = {
            **_NO_OR_ONCE,
            **(_FOR_LONGER if question.rule else {}),
            **(_BY_HUNK if question.hunks else {}),
        }
        answer = await chosen(f"{told(choices)}? ", meanings, self._tell_letters, self._typed)
        if answer == "hunk":
            return await self._ask_by_hunk(question)
        return answer or "unanswered"

    def _tell_letters(self) -> None:
        self._console.print(f"[yellow]{told(_LETTERS)}[/]")

    async def _ask_by_hunk(self, question: Question) -> Reply:
        """Ask about each hunk; an empty line rejects one hunk, the end of input all later ones."""
        allowed: list[str] = []
        for number, hunk in enumerate(question.hunks, 1):
            self._tell_lines(f"{hunk.header}\n{hunk.text}", is_diff=True)
            prompt = f"Hunk {number} of {len(question.hunks)}: [N]o, [Y]es? "
            is_allowed = await chosen(told(prompt), YES_OR_NO, self._tell_letters, self._typed)
            if is_allowed is None:
                break
            if is_allowed:
                allowed.append(hunk.id)
        return Chosen(tuple(allowed)) if allowed else "no"

    def _tell_detail(self, question: Question) -> None:
        """Show the complete detail; colour the lines of a diff, and mark all other lines.

        The mark separates the lines of a command from Indwell's own notes below the command.
        """
        is_diff = not question.cwd and "\n@@ " in question.detail
        self._tell_lines(question.detail, is_diff=is_diff)

    def _tell_lines(self, text: str, *, is_diff: bool) -> None:
        for line in visible(text).split("\n"):
            colour = _DIFF_COLOURS.get(line[:1], "") if is_diff else ""
            shown = line if is_diff else f"│ {line}"
            self._console.print(
                shown, style=colour, markup=False, emoji=False, highlight=False, soft_wrap=True
            )

    def _tell_notes(self, question: Question) -> None:
        """Show the notes of a question; highlight notes about access beyond the sandbox."""
        rule = f"This session and always are for: {question.rule}"
        for note in (*question.notes, *([rule] if question.rule else ())):
            is_more = question.more and question.more in note
            style = "bold red" if is_more else "dim"
            line = f"[{style}]{escape(one_line(told(note)))}[/]"
            self._console.print(line, emoji=False, highlight=False, soft_wrap=True)


class AllowingApprover:
    """Allows commands that need permission, because of the option ``--allow-commands``.

    ``policy.approvals`` defines which commands the option covers. The option never lets a command
    leave the sandbox, because no user has seen the request.
    """

    async def ask(self, question: Question) -> Said:
        """Allow the call if ``--allow-commands`` covers this call."""
        return "uncovered" if question.wanted or question.uncovered else "beforehand"


class TerminalPerson(TerminalApprover):
    """Asks for permissions and answers; without a terminal, no question is answered.

    Args:
        console: The console for the questions.
        typed: Shows a prompt and reads a line.
    """

    def __init__(self, console: Console, typed: TypedLine = typed_line) -> None:
        super().__init__(console, typed)
        self._screen = console

    async def ready(self, question: UserQuestion) -> None:
        """Return immediately, because a terminal can show a question at any time."""
        del question

    async def answer(self, question: UserQuestion) -> UserAnswer:
        """Show the question, and read a number or a text; an empty line is no answer."""
        if not is_typed():
            return NOBODY
        self._tell(f"[bold]{told('The model asks')}[/] ({told('an answer permits nothing')}):")
        for line in question.text.split("\n"):
            self._tell(f"│ {escape(visible(line))}")
        for number, option in enumerate(question.options, 1):
            self._tell(f"  [bold]{number}[/] {escape(visible(option))}")
        how = "A number, or your own answer" if question.options else "Your answer"
        typed = await self._typed(f"{told(how)} ({told('Enter: the model decides')}): ")
        return answer_of(question.options, typed.strip()) if typed is not None else NOBODY

    def _tell(self, markup: str) -> None:
        self._screen.print(markup, emoji=False, highlight=False, soft_wrap=True)


MEANINGS: Mapping[str, bool] = {
    **dict.fromkeys(("t", "trust"), True),
    **dict.fromkeys(("", "r", "restricted", "stay", "stay restricted", "n", "no"), False),
}


def can_ask() -> bool:
    """Return whether a terminal can show the question and read the answer."""
    return is_typed() and sys.stderr is not None and sys.stderr.isatty()


async def is_trusted_at_terminal(
    question: str, console: Console, typed: TypedLine = typed_line
) -> bool | None:
    """Ask a question, for which Enter means no; return None if there is no answer."""
    console.print(
        visible(told(question)), markup=False, emoji=False, highlight=False, soft_wrap=True
    )
    return await chosen(
        f"{told('stay [R]estricted (Enter), or [T]rust')}? ",
        MEANINGS,
        lambda: console.print(
            told("Type t to trust the folder, or r (or Enter) to stay restricted.")
        ),
        typed,
    )


_RESTORES = frozenset({"r", "restore"})


class TerminalDoor:
    """Shows a session in the terminal, and asks the user there; implements ``FrontDoor``.

    Args:
        view: Shows events, on the screen or as JSON.
        approver: Asks for permissions.
        console: The console for questions.

    Attributes:
        view: The present view, which may be replaced.
    """

    has_section = False
    # The value is True, because the message about a missing model names a command that helps.
    leads_to_model = True
    can_type = False
    trust_hint = ""
    asks_about_files = False
    models = None

    def __init__(self, view: Listener, approver: Approver, console: Console) -> None:
        self.view = view
        self._approver = approver
        self._console = console

    def tell(self, words: str) -> None:
        """Show a notice to the user."""
        self.view(Notice(0, "info", words))

    def warn(self, words: str) -> None:
        """Show a warning for each line of the text."""
        for line in words.split("\n"):
            self.view(Notice(0, "warning", line))

    def event(self, session: str, seq: int, event: Event) -> None:
        """Show an event."""
        del session, seq
        self.view(event)

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        """Do nothing, because events show the turn."""
        del session, token, title

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Return None, because a command reports the problem, and the option that solves it."""
        del question, titles, timeout_s
        return None

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Ask the user, but only about trust in a folder or about dropping the user's own lines."""
        del timeout_s  # there is no time limit, because a person at a terminal may take any time
        if not can_ask():
            return None
        if titles == (STAY, TRUST):
            is_trusted = await is_trusted_at_terminal(question, self._console)
            return None if is_trusted is None else TRUST if is_trusted else STAY
        if titles == (KEEP, RESTORE):
            shown = visible(told(question))
            self._console.print(shown, markup=False, highlight=False, soft_wrap=True)
            typed = await typed_line(f"{told('[K]eep mine / [r]estore')}: ")
            return RESTORE if typed is not None and typed.strip() in _RESTORES else KEEP
        return None

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """Return None, because a command never asks for a line."""
        del prompt, placeholder, timeout_s
        return None

    async def show_page(self, page: Path) -> bool:
        """Return False, because a terminal cannot open a page."""
        del page
        return False

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        """Return False, because the message names a command instead of opening a dialog."""
        del reason, timeout_s
        return False

    def model_hint(self, others: Sequence[str]) -> str:
        """Return a sentence that names the option for another model."""
        return f"use another one: `--model {next(iter(others), 'NAME')}`"

    def changing(self, paths: Iterable[Path]) -> AbstractAsyncContextManager[None]:
        """Do nothing, because files on disk need no saving."""
        del paths
        return nullcontext()

    async def section(self) -> object:
        """Return nothing, because a terminal has no settings of its own."""
        return None

    def approver(self, settings: Settings, whose: Callable[[], AskingSession]) -> Approver:
        """Return the approver that the options select."""
        del settings, whose
        return self._approver
