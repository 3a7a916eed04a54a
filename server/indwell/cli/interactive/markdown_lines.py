"""Renders a block of Markdown for a terminal: left headings, no empty lines around a block."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text


class LeftHeading(Heading):
    """A heading at the left edge, in bold."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the heading."""
        del console, options
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag in {"h1", "h2"} else "bold")
        yield self.text


class TerminalMarkdown(Markdown):
    """Markdown whose links show their address, as a terminal's link could hide it."""

    elements = {**Markdown.elements, "heading_open": LeftHeading}  # noqa: RUF012 - as Rich has it


def rendered(console: Console, markdown: str) -> str:
    """Return the text for a console, without empty lines at its ends."""
    with console.capture() as capture:
        console.print(TerminalMarkdown(markdown, hyperlinks=False), emoji=False)
    lines = capture.get().split("\n")
    while lines and not _plain(lines[0]).strip():
        del lines[0]
    while lines and not _plain(lines[-1]).strip():
        del lines[-1]
    return "\n".join(lines)


def _plain(line: str) -> str:
    return Text.from_ansi(line).plain
