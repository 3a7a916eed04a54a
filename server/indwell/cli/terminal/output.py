"""Prints a turn's events to a terminal as lines, with coloured diffs."""

from __future__ import annotations

import msgspec
from rich.console import Console
from rich.markup import escape

from indwell.agent.core import events
from indwell.agent.core.events import (
    BackgroundCommand,
    compaction_words,
    prompt_read_words,
    to_review_words,
    usage_words,
)
from indwell.agent.features.checks.turn_checks import NOT_VERIFIED
from indwell.agent.features.subagents.definition import SubagentNames
from indwell.cli.terminal.telling import terminal_translation, told
from indwell.context.task_state import shown_lines
from indwell.context.untrusted_text import short_line, visible
from indwell.service.front_door import translated_event

AGAIN = "the answer starts again"
MOST_TOLD = 5  # the limit of shown compactions in a turn
HINT = (
    "the context window is small for this work, so the conversation is shortened often; choose a "
    "model with a larger window (later shortenings of this turn are not shown)"
)


class Shortenings:
    """Prints consecutive compactions of a conversation during a turn as one line."""

    def __init__(self) -> None:
        # the tokens before the first and after the last compaction of the line
        self._run: tuple[int, int] | None = None
        self._notes: dict[str, None] = {}
        self._n_runs = 0

    def taken(self, event: events.Event) -> tuple[str, events.Event | None]:
        """Return a line to show before the event, and the event, which is None to hide it."""
        if isinstance(event, events.TurnFinished) and not event.rounds:
            event = self._told_by(event)
        elif not self._takes(event):
            return "", None
        return self._line(event), event

    def _takes(self, event: events.Event) -> bool:
        """Return whether the event is shown; events between joined compactions are not."""
        match event:
            case events.TurnStarted():
                self._n_runs = 0
            case events.Compacted(before=before, after=after, note=note):
                self._run = (self._run[0] if self._run else before, after)
                self._notes.update({note: None} if note else {})
                return False
            case events.Notice(level="info", message=message) if message.startswith("summing up "):
                return self._n_runs < MOST_TOLD
            case (
                events.TextAdded(text="", restart=False)
                | events.UsageReported()
                | events.ThinkingAdded()
            ):
                return False  # The event shows nothing, so the next compaction can join the line.
            case _:
                pass
        return True

    def _line(self, event: events.Event) -> str:
        """Return the line about the compactions before ``event``, or an empty text."""
        if self._run is None or isinstance(event, events.Notice):
            return ""
        (before, after), notes = self._run, "; ".join(self._notes)
        self._run, self._notes = None, {}
        self._n_runs += 1
        if self._n_runs <= MOST_TOLD:
            return compaction_words(before, after, notes)
        return HINT if self._n_runs == MOST_TOLD + 1 else ""

    def _told_by(self, event: events.TurnFinished) -> events.TurnFinished:
        """Add notes on compactions to the message of a failed turn, not as a separate line."""
        notes = "; ".join(self._notes)
        if self._run is None or not event.message or event.ending != "done":
            return event
        self._run, self._notes = None, {}
        words = f"{event.message}; {notes}" if notes else event.message
        return msgspec.structs.replace(event, message=words)


MOST_OUTPUT = 20  # the limit of shown lines for a command's output
NAME_LIMIT = 60  # the limit of characters for a tool's name
TARGET_LIMIT = 1_000  # the limit of characters for a tool's target
FAILURE_LIMIT = 4_000  # the limit of characters for an error
OUTPUT_LINE_LIMIT = 2_000  # the limit of characters for a line of output
UNCHECKED = ": nothing checked the changes; `check_command` in your settings names a check"
_ANSWERED = {
    "beforehand": "allowed by --allow-commands",
    "uncovered": "not covered by --allow-commands, and nobody is asked",
    "hunks": "answered: some hunks of it",
    "unanswered": "nobody answered",
}


class TerminalView:
    """Prints events as they arrive; plain text if the console is not a terminal.

    Args:
        console: The console for everything but the model's text.
        texts: The console for the model's text; ``console`` by default.
    """

    def __init__(self, console: Console, texts: Console | None = None) -> None:
        self._console = console
        self._texts = texts or console
        self._in_text = False
        self._shown_lines = 0
        self._running: set[str] = set()
        # whether calls run in parallel, so that the end of each call must name the call
        self._are_many = False
        self._shortenings = Shortenings()
        self._agents = SubagentNames()
        self._n_quarters = 0  # the number of quarters of the prompt that were reported as read
        self._commands: tuple[BackgroundCommand, ...] = ()

    def __call__(self, event: events.Event) -> None:  # noqa: C901, PLR0912 - one flat table of events
        """Show one event."""
        agent = self._agents.of(event)
        if agent:
            self._of_agent(agent, translated_event(event, terminal_translation()))
            return
        line, shown = self._shortenings.taken(event)
        shown = shown and translated_event(shown, terminal_translation())
        if line:
            self._line(f"[dim]{escape(visible(told(line)))}[/]")
        match shown:
            case events.TurnStarted(attached=attached) if attached:
                names = escape(short_line(", ".join(attached), TARGET_LIMIT))
                self._line(f"[dim]{told('with')} {names}[/]")
            case events.TextAdded(text=text, restart=restart):
                self._text(f"\n[{told(AGAIN)}]\n" if restart else text)
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
                self._line(f"  [yellow]{told(_ANSWERED.get(answer, f'answered: {answer}'))}[/]")
            case events.Steered(text=text, delivered=True):
                self._line(f"[bold]{told('you')}:[/] {escape(visible(text))}")
            case events.TodoChanged(items=items):
                self._listed(shown_lines(items))
            case events.PlanChanged(state="proposed", text=text, path=path):
                self._plan(text, path)
            case events.Checking(what=what):
                self._line(f"[dim]{escape(told(f'checking: {short_line(what, NAME_LIMIT)}'))}[/]")
            case events.CommandsChanged(commands=commands):
                self._commands = commands
            case events.PromptRead(share=share):
                self._reading(share)
            case events.UsageReported():
                pass  # the end of the turn shows the sum
            case events.Notice(message=message):
                self._line(f"[yellow]{escape(visible(message[:FAILURE_LIMIT]))}[/]")
            case events.TurnFinished():
                self._end(shown)
            case _:
                pass

    def _reading(self, share: float) -> None:
        """Show how much of a long prompt the endpoint has read, in three lines at most."""
        before, self._n_quarters = self._n_quarters, int(share * 4)
        if before < self._n_quarters and share < 1:
            self._line(f"[dim]{told(prompt_read_words(share))}[/]")

    def _of_agent(self, agent: str, event: events.Event) -> None:
        """Show a sub-agent's steps, one line for each, without the output of its commands."""
        name = escape(short_line(agent, NAME_LIMIT))
        match event:
            case events.ToolStarted():
                called = escape(short_line(event.name, NAME_LIMIT))
                on = escape(short_line(event.target, TARGET_LIMIT))
                self._line(f"  [cyan]▸ {name}:[/] {called} [dim]{on}[/]")
            case events.ToolFinished(is_error=True):
                self._line(f"    [red]{escape(visible(event.message[:FAILURE_LIMIT]))}[/]")
            case events.EditApplied(diff=diff):
                self._end_text()
                self.diff(diff)
            case events.PermissionAnswered(answer=answer):
                self._line(f"  [yellow]{told(_ANSWERED.get(answer, f'answered: {answer}'))}[/]")
            case events.Notice(message=message):
                shown = escape(visible(message[:FAILURE_LIMIT]))
                self._line(f"  [yellow]{name}: {shown}[/]")
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
        self._line(f"  [dim]{escape(label + figure)}  {event.seconds or 0:.1f} s[/]")

    def _listed(self, lines: tuple[str, ...]) -> None:
        for line in lines:
            self._line(f"  [dim]{escape(visible(line))}[/]")

    def _plan(self, text: str, path: str) -> None:
        """Show the complete plan, with advice on how to carry out the plan."""
        self._line(f"[bold]{told('The plan:')}[/]")
        for line in text.split("\n"):
            self._line(f"  {escape(visible(line))}")
        self._line(f"[dim]{escape(visible(told(plan_advice(path))))}[/]")

    def diff(self, diff: str) -> None:
        """Print a unified diff, without control characters for the terminal."""
        diff = visible(diff.replace("\r\n", "\n"))  # the file may have CRLF line ends
        if self._console.is_terminal:
            from rich.syntax import Syntax  # the import is late, because the highlighter takes 6 ms

            self._console.print(Syntax(diff, "diff", background_color="default"))
        else:
            self._console.print(diff, markup=False, emoji=False, highlight=False, end="")

    def _text(self, text: str) -> None:
        self._in_text = True
        self._texts.print(
            visible(text), end="", markup=False, emoji=False, highlight=False, soft_wrap=True
        )

    def _end_text(self) -> None:
        if self._in_text:
            self._in_text = False
            self._texts.print()

    def _line(self, markup: str) -> None:
        self._end_text()
        _print(self._console, markup)

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
            how = told(UNCHECKED) if event.verified == told(NOT_VERIFIED) else ""
            self._line(f"[dim]{escape(visible(event.verified) + how)}[/]")
        for one in self._commands:
            if one.state == "running":
                called = escape(short_line(one.command, NAME_LIMIT))
                words = told(f"{one.id} still runs and will be stopped with this run: {called}")
                self._line(f"[dim]{words}[/]")
        if event.turn and event.draft:
            self._line(told(f"Your prompt was not sent: {escape(visible(event.draft))}"))
        if event.changes and event.to_review:
            self._line(f"{told(to_review_words(event.to_review))}: indwell review")
        if not event.rounds:
            return  # without a model call, there is no usage
        rounds = "1 round" if event.rounds == 1 else f"{event.rounds} rounds"
        words = told(f"{rounds} · {usage_words(event.usage)} · {cost_words(event.cost)}")
        self._line(f"[dim]{words} · {event.seconds or 0:.1f} s[/]")


def plan_advice(path: str) -> str:
    """Return how to carry out a plan, and where to change it first."""
    where = f"; to change it first, edit {path}" if path else ""
    return f"to carry it out: indwell run --continue --approve-plan{where}"


def _print(console: Console, markup: str) -> None:
    # Emoji codes are off, so that ``:ok:`` in a command is shown unchanged.
    console.print(markup, emoji=False, highlight=False, soft_wrap=True)


def cost_words(cost: float | None) -> str:
    """Return a cost in words; "unknown" if the cost is not known."""
    return "cost unknown" if cost is None else f"${cost:.4f}"
