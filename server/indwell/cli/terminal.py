"""A turn on a terminal: events as lines, diffs in colour, questions at the prompt."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from indwell.agent import events
from indwell.agent.receipt import to_review_words, usage_words
from indwell.cli.shortenings import Shortenings
from indwell.policy.approvals import (
    Answer,
    Chosen,
    Question,
    Reply,
    Said,
    one_line,
    short_line,
    visible,
)

if sys.platform != "win32":
    import termios

ANSWERS: tuple[Answer, ...] = ("no", "once", "session", "always")
MOST_OUTPUT = 20  # lines of a command's output that are shown
NAME_LIMIT = 60  # characters of a tool's name
TARGET_LIMIT = 1_000  # of what it works on
FAILURE_LIMIT = 4_000  # of why something failed
OUTPUT_LINE_LIMIT = 2_000  # of a line of output
_ANSWERED = {
    "beforehand": "allowed by --allow-commands",
    "uncovered": "not covered by --allow-commands, and nobody is asked",
    "hunks": "answered: some hunks of it",
}
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class TerminalView:
    """Prints events as they come; plain text where there is no terminal.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in_text = False
        self._shown_lines = 0
        self._running: set[str] = set()
        self._are_many = False  # calls at once: each end says which one it is of
        self._shortenings = Shortenings()

    def __call__(self, event: events.Event) -> None:  # noqa: C901, PLR0912 - one flat table of events
        """Show one event."""
        line, shown = self._shortenings.taken(event)
        if line:
            self._line(f"[dim]{escape(visible(line))}[/]")
        match shown:
            case events.Text(text=text, restart=restart):
                self._text("\n[the answer starts again]\n" if restart else text)
            case events.ToolStarted(id=id_, name=name, target=target):
                self._shown_lines = 0
                self._running.add(id_)
                self._are_many = self._are_many or len(self._running) > 1
                called = escape(short_line(name, NAME_LIMIT))
                on = escape(short_line(target, TARGET_LIMIT))
                self._line(f"[cyan]▸[/] {called} [dim]{on}[/]")
            case events.ToolOutput(text=text):
                self._output(text)
            case events.ToolFinished():
                self._finished(shown)
            case events.EditApplied(diff=diff):
                self._end_text()
                self.diff(diff)
            case events.PermissionAnswered(answer=answer):
                self._line(f"  [yellow]{_ANSWERED.get(answer, f'answered: {answer}')}[/]")
            case events.Steered(text=text, delivered=True):
                self._line(f"[bold]you:[/] {escape(visible(text))}")
            case events.Checking(what=what):
                self._line(f"[dim]checking: {escape(short_line(what, NAME_LIMIT))}[/]")
            case events.UsageReported():
                pass  # the end has the sum
            case events.Notice(message=message):
                self._line(f"[yellow]{escape(visible(message[:FAILURE_LIMIT]))}[/]")
            case events.TurnFinished():
                self._end(shown)
            case _:
                pass

    def _finished(self, event: events.ToolFinished) -> None:
        label = ""
        if self._are_many:
            label = f"{short_line(event.name, NAME_LIMIT)} {short_line(event.target, NAME_LIMIT)}: "
        self._running.discard(event.id)
        self._are_many = self._are_many and bool(self._running)
        if event.is_error:
            self._line(f"  [red]{escape(label + visible(event.message[:FAILURE_LIMIT]))}[/]")
            return
        figure = short_line(event.figure, NAME_LIMIT)
        self._line(f"  [dim]{escape(label + figure)}  {event.seconds:.1f} s[/]")

    def diff(self, diff: str) -> None:
        """Print a unified diff; nothing in it can drive the terminal."""
        diff = visible(diff.replace("\r\n", "\n"))  # a CRLF is how that file ends its lines
        if self._console.is_terminal:
            self._console.print(Syntax(diff, "diff", background_color="default"))
        else:
            self._console.print(diff, markup=False, emoji=False, highlight=False, end="")

    def _text(self, text: str) -> None:
        self._in_text = True
        self._console.print(
            visible(text), end="", markup=False, emoji=False, highlight=False, soft_wrap=True
        )

    def _end_text(self) -> None:
        if self._in_text:
            self._in_text = False
            self._console.print()

    def _line(self, markup: str) -> None:
        self._end_text()
        # No emoji codes: ``:ok:`` of a command is shown as it runs.
        self._console.print(markup, emoji=False, highlight=False, soft_wrap=True)

    def _output(self, text: str) -> None:
        for line in text.splitlines():
            self._shown_lines += 1
            if self._shown_lines <= MOST_OUTPUT:
                self._line(f"  [dim]│ {escape(visible(line[:OUTPUT_LINE_LIMIT]))}[/]")
            elif self._shown_lines == MOST_OUTPUT + 1:
                self._line("  [dim]│ …[/]")

    def _end(self, event: events.TurnFinished) -> None:
        self._end_text()
        if event.ending != "done":
            why = (event.message or event.ending)[:FAILURE_LIMIT]
            self._line(f"[red]{escape(visible(why))}[/]")
        elif event.message:
            self._line(f"[dim]{escape(visible(event.message[:FAILURE_LIMIT]))}[/]")
        if event.verified:
            self._line(f"[dim]{escape(visible(event.verified))}[/]")
        if event.turn and event.draft:
            self._line(f"Not sent, to try again: {escape(visible(event.draft))}")
        if event.changes and event.to_review:
            self._line(f"{to_review_words(event.to_review)}: indwell review")
        if not event.rounds:
            return  # no model was asked, so there is nothing to count
        rounds = "1 round" if event.rounds == 1 else f"{event.rounds} rounds"
        self._line(
            f"[dim]{rounds} · {usage_words(event.usage)} · {cost_words(event.cost)} · "
            f"{event.seconds:.1f} s[/]"
        )


def cost_words(cost: float | None) -> str:
    """A cost for people: never a guess."""
    return "cost unknown" if cost is None else f"${cost:.4f}"


class TerminalApprover:
    """Asks at the prompt; where there is no terminal the answer is no. Implements ``Approver``."""

    def __init__(self, console: Console) -> None:
        self._console = console

    async def ask(self, question: Question) -> Reply:
        """Show exactly what would run, and wait for a letter."""
        title, reason = escape(one_line(question.title)), escape(one_line(question.reason))
        heading = f"[bold yellow]{title}[/] ({reason})"
        self._console.print(heading, emoji=False, highlight=False, soft_wrap=True)
        self._tell_detail(question)
        self._tell_notes(question)
        if not sys.stdin.isatty():
            self._console.print("[yellow]Nobody can be asked here, so the answer is no.[/]")
            return "unanswered"
        choices = "[N]o, [O]nce" + (", this [S]ession, [A]lways" if question.rule else "")
        choices += ", by [H]unk" if question.hunks else ""
        while True:
            typed = (await typed_line(f"{choices}? ")).strip().lower()
            if question.hunks and typed in {"h", "hunk"}:
                return await self._ask_by_hunk(question)
            answer = next((one for one in ANSWERS if typed in {one, one[0]}), None)
            if not typed or answer == "no":
                return "no"
            if answer == "once" or (answer is not None and question.rule):
                return answer
            self._console.print("[yellow]Not understood; type one of the letters.[/]")

    async def _ask_by_hunk(self, question: Question) -> Reply:
        """Ask for each; an empty line is a no."""
        allowed: list[str] = []
        for number, hunk in enumerate(question.hunks, 1):
            self._tell_lines(f"{hunk.header}\n{hunk.text}", is_diff=True)
            typed = await typed_line(f"Hunk {number} of {len(question.hunks)}: [N]o, [Y]es? ")
            if typed.strip().lower() in {"y", "yes"}:
                allowed.append(hunk.id)
        return Chosen(tuple(allowed)) if allowed else "no"

    def _tell_detail(self, question: Question) -> None:
        """All of it, whole; a diff by what its lines are."""
        is_diff = not question.cwd and "\n@@ " in question.detail
        self._tell_lines(question.detail, is_diff=is_diff)

    def _tell_lines(self, text: str, *, is_diff: bool) -> None:
        for line in visible(text).split("\n"):
            colour = _DIFF_COLOURS.get(line[:1], "") if is_diff else ""
            self._console.print(
                line, style=colour, markup=False, emoji=False, highlight=False, soft_wrap=True
            )

    def _tell_notes(self, question: Question) -> None:
        """What a person should know besides; what goes beyond the sandbox stands out."""
        rule = f"This session and always are for: {question.rule}"
        for note in (*question.notes, *([rule] if question.rule else ())):
            is_more = question.more and question.more in note
            style = "bold red" if is_more else "dim"
            line = f"[{style}]{escape(one_line(note))}[/]"
            self._console.print(line, emoji=False, highlight=False, soft_wrap=True)


async def typed_line(prompt: str) -> str:
    """A line from the terminal; a thread of its own, so that Ctrl-C need not wait for it."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def tell(line: str) -> None:
        if not answer.done():
            answer.set_result(line)

    def read() -> None:
        _forget_typed()
        try:
            line = input(prompt)
        except EOFError:
            line = ""
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(tell, line)

    threading.Thread(target=read, daemon=True).start()
    return await answer


def _forget_typed() -> None:
    """Drop what was typed before the question could be seen: it is no answer to it."""
    if sys.platform != "win32":
        with contextlib.suppress(termios.error, ValueError):  # no terminal after all
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


class AllowingApprover:
    """Says yes to commands that would be asked for, as the user said beforehand.

    To nothing else: ``policy.beforehand`` says what that covers. What the model itself asks for
    beyond the sandbox nobody has seen (POL-16).
    """

    async def ask(self, question: Question) -> Said:
        """Allow this one call if what was said covers it."""
        return "uncovered" if question.wanted or question.uncovered else "beforehand"
