"""Shows the events of an interactive session as lines: answers, tool calls, diffs and costs."""

from __future__ import annotations

import msgspec
from rich.markup import escape

from indwell.agent.core import events
from indwell.agent.core.events import to_review_words
from indwell.cli.interactive.desk import Desk
from indwell.cli.terminal.output import TerminalView
from indwell.cli.terminal.telling import told
from indwell.context.untrusted_text import short_line, visible
from indwell.lazy_pattern import lazy_pattern

_FENCE = lazy_pattern(r"^ {0,3}(`{3,}|~{3,})")
_LIST = lazy_pattern(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")


class MarkdownBlocks:
    """Splits streamed Markdown into blocks that can be shown before the text is complete. Pure.

    A block ends at an empty line outside of a code fence. A list stays one block.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []  # the complete lines of the current block
        self._rest = ""
        self._fence = ""
        self._is_after_gap = False

    @property
    def unfinished(self) -> str:
        """The text that belongs to no complete block yet."""
        return "\n".join((*self._lines, self._rest))

    def add(self, text: str) -> list[str]:
        """Add text; return the blocks that are complete now."""
        *lines, self._rest = (self._rest + text).split("\n")
        return [block for line in lines if (block := self._line(line))]

    def end(self) -> list[str]:
        """Return the last blocks, and begin a new text."""
        before = self._line(self._rest)
        last = "\n".join(self._lines).strip("\n")
        self._lines, self._rest, self._fence, self._is_after_gap = [], "", "", False
        return [block for block in (before, last) if block.strip()]

    def _line(self, line: str) -> str:
        """Take a whole line; return the block before it if the line begins another block."""
        block = ""
        if self._is_after_gap and line.strip():
            is_list = bool(self._lines) and bool(_LIST.match(self._lines[0]))
            goes_on = is_list and (line[:1] in {" ", "\t"} or bool(_LIST.match(line)))
            if not goes_on:
                block = "\n".join(self._lines).strip("\n")
                self._lines = []
            self._is_after_gap = False
        fence = _FENCE.match(line)
        if fence is not None and not self._fence:
            self._fence = fence[1]
        elif fence is not None and fence[1].startswith(self._fence) and not line.strip(" `~"):
            self._fence = ""
        if self._lines or line.strip():
            self._lines.append(line)
        self._is_after_gap = not self._fence and not line.strip() and bool(self._lines)
        return block


class InteractiveView:
    """Shows events as lines above the line at which the user types.

    Args:
        desk: Where the user types, and where lines are shown.
        is_plain: Whether Markdown is shown as plain text.
    """

    def __init__(self, desk: Desk, *, is_plain: bool) -> None:
        self._desk = desk
        self._is_plain = is_plain
        self._lines = TerminalView(desk.console)
        self._blocks = MarkdownBlocks()

    def __call__(self, event: events.Event) -> None:
        """Show one event."""
        match event:
            case events.TextAdded(agent="", restart=True):
                self._blocks.end()
                self._desk.show_live("")
                self.say("the answer starts again", "dim")
            case events.TextAdded(agent="", text=text):
                for block in self._blocks.add(text):
                    self._block(block)
                self._desk.show_live(self._blocks.unfinished)
            case events.ThinkingAdded() | events.UsageReported() | events.CommandsChanged():
                pass
            case events.Steered(delivered=True, text=text):
                self.end_text()
                self.say(f"taken: {short_line(text, 200)}", "dim")
            case events.PlanChanged(state="proposed", text=text):
                self.end_text()
                self.say("The plan:", "bold")
                self.show(f"{text}\n")  # as written, because Markdown can hide a step from the user
                self.say(
                    "/plan approve carries it out, /plan reject drops it; other words change it",
                    "dim",
                )
            case events.TurnFinished():
                self.end_text()
                self._finished(event)
            case _:
                if not isinstance(event, (events.ToolOutput, events.PromptRead)):
                    self.end_text()
                self._lines(event)

    def _finished(self, event: events.TurnFinished) -> None:
        """Show the end of a turn, with advice that names this session's commands."""
        self._lines(msgspec.structs.replace(event, to_review=0, draft=""))
        if event.changes and event.to_review:
            self.say(f"{to_review_words(event.to_review)}: /review", "yellow")

    def end_text(self) -> None:
        """Show the rest of the model's text."""
        blocks = self._blocks.end()
        self._desk.show_live("")
        for block in blocks:
            self._block(block)

    def words(self, text: str) -> None:
        """Show the user's own words."""
        for number, line in enumerate(visible(text).split("\n")):
            self.show(f"{'>' if number == 0 else ' '} {line}", "bold")

    def say(self, words: str, style: str = "") -> None:
        """Show a sentence of Indwell, in the language of the terminal."""
        self.show(told(words), style)

    def show(self, words: str, style: str = "") -> None:
        """Show a text of the user or the model."""
        text = escape(visible(words))
        self._desk.console.print(
            f"[{style}]{text}[/]" if style else text, emoji=False, highlight=False
        )

    def output(self, text: str) -> None:
        """Show whole lines of output of the user's own command."""
        if text:
            self._desk.console.file.write(visible(text))
            self._desk.console.file.flush()

    def _block(self, markdown: str) -> None:
        """Show Markdown without links that hide their address, and without control characters."""
        shown = visible(markdown.replace("\r\n", "\n"))
        if self._is_plain:
            self._desk.console.print(
                shown, markup=False, emoji=False, highlight=False, soft_wrap=True
            )
            return
        from indwell.cli.interactive.markdown_lines import rendered

        console = self._desk.console
        console.file.write(f"{rendered(console, shown)}\n\n")
