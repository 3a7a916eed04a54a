"""Renders Markdown for a terminal: headings at the left, no empty lines around a block."""

from __future__ import annotations

from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text

from indwell.context.untrusted_text import visible

_HIDING = ("html_block", "html_inline", "reference")
"""The rules of Markdown that hide text in a terminal. They are off, so the source text is shown."""


class LeftHeading(Heading):
    """A heading at the left edge, in bold."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the heading."""
        del console, options
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag in {"h1", "h2"} else "bold")
        yield self.text


class TerminalMarkdown(Markdown):
    """Markdown that shows also what Markdown hides: addresses of links, HTML, and comments."""

    elements = {**Markdown.elements, "heading_open": LeftHeading}  # noqa: RUF012 - as Rich has it

    def __init__(self, markdown: str) -> None:
        super().__init__("", hyperlinks=False)
        parser = MarkdownIt().enable("strikethrough").enable("table").disable(_HIDING)
        self.markup, self.parsed = markdown, parser.parse(markdown)
        _reveal(self.parsed)


def rendered(console: Console, markdown: str) -> str:
    """Return the text for a console, without empty lines at its ends."""
    with console.capture() as capture:
        console.print(TerminalMarkdown(markdown), emoji=False)
    lines = capture.get().split("\n")
    while lines and not _plain(lines[0]).strip():
        del lines[0]
    while lines and not _plain(lines[-1]).strip():
        del lines[-1]
    return "\n".join(lines)


def _reveal(tokens: Iterable[Token]) -> None:
    """Escape invisible characters from references like ``&#x202e;``; show image addresses."""
    for token in tokens:
        _reveal(token.children or ())
        if token.type == "image":
            token.type, token.content = "text", f"![{token.content}]({token.attrs.get('src', '')})"
        token.content = visible(token.content)


def _plain(line: str) -> str:
    return Text.from_ansi(line).plain
