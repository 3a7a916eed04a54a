"""Renders Markdown for a terminal: headings at the left, no empty lines around a block.

A model may be hostile, so nothing that it wrote is hidden: a text of which letters would be missing
is shown as it was written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
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


class NamedCodeBlock(CodeBlock):
    """A code block below the words of the line that begins the block."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> NamedCodeBlock:
        """Return the element for a token."""
        block = cls((token.info or "text").partition(" ")[0], markdown.code_theme)
        block.info = token.info.strip()
        return block

    info = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the words and the code."""
        if self.info:
            yield Text(self.info, style="dim")
        yield from super().__rich_console__(console, options)


class TerminalMarkdown(Markdown):
    """Markdown that shows also what Markdown hides: addresses of links, HTML, and comments."""

    elements = {  # noqa: RUF012 - as Rich has it
        **Markdown.elements,
        "heading_open": LeftHeading,
        "fence": NamedCodeBlock,
    }

    def __init__(self, markdown: str) -> None:
        super().__init__("", hyperlinks=False)
        parser = MarkdownIt().enable("strikethrough").enable("table").disable(_HIDING)
        self.markup, self.parsed = markdown, parser.parse(markdown)
        _reveal(self.parsed)


def rendered(console: Console, markdown: str) -> str:
    """Return the text for a console, without empty lines at its ends.

    Args:
        console: The console.
        markdown: The text, without control characters.
    """
    with console.capture() as capture:
        console.print(TerminalMarkdown(markdown), emoji=False)
    lines = capture.get().split("\n")
    while lines and not _plain(lines[0]).strip():
        del lines[0]
    while lines and not _plain(lines[-1]).strip():
        del lines[-1]
    shown = "\n".join(lines)
    # A table leaves out the cells beyond its columns, for example.
    return shown if _letters(visible(unescape(markdown))) <= _letters(_plain(shown)) else markdown


def _reveal(tokens: Iterable[Token]) -> None:
    """Escape invisible characters from references like ``&#x202e;``; show addresses and titles."""
    for token in tokens:
        _reveal(token.children or ())
        title = f' "{visible(str(token.attrs["title"]))}"' if token.attrs.get("title") else ""
        if token.type == "image":
            address = f"{token.attrs.get('src', '')}{title}"
            token.type, token.content = "text", f"![{token.content}]({address})"
        elif token.type == "link_open":
            token.attrs["href"] = f"{token.attrs.get('href', '')}{title}"
        token.content, token.info = visible(token.content), visible(token.info)


def _letters(text: str) -> Counter[str]:
    """Count the letters of a text; digits are not counted, because a list has its own numbers."""
    return Counter(filter(str.isalpha, text))


def _plain(line: str) -> str:
    return Text.from_ansi(line).plain
