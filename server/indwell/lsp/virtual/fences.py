"""Texts of whoever inside Markdown, from which nothing breaks out and nothing hides. Pure."""

from __future__ import annotations

import re
from html import escape

from indwell.lsp.chat.neutral import Neutral
from indwell.policy.approvals import one_line, visible

_TICKS = re.compile(r"`+")
_MARKUP = re.compile(r"([\\`*\[\]<|]|(?<!\w)_|_(?!\w))")


def fenced(text: str, language: str = "") -> str:
    r"""A text as a code block: its fence is longer than any run of ticks in it.

    What hides or turns text is shown as its code point; line ends are ``\n``.
    """
    shown = visible(text.replace("\r\n", "\n"))
    longest = max((len(run) for run in _TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if not shown or shown.endswith("\n") else "\n"
    return f"{fence}{language}\n{shown}{end}{fence}\n"


def inline(text: str) -> str:
    """A text as one line that no Markdown is read in: for headings, lists and table cells."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def contained(text: str) -> str:
    """Markdown of somebody else that ends where it ends, by ``neutral``; with no hidden text."""
    words = Neutral()
    shown = words.feed(visible(text.replace("\r\n", "\n")).rstrip("\n"))
    return f"{shown}{words.finish()}\n"


def folded(title: str, inside: str) -> str:
    """Blocks that a reader opens; ``title`` is of whoever, ``inside`` is Markdown already."""
    return f"<details><summary>{escape(one_line(title))}</summary>\n\n{inside}\n</details>\n"


def bounded(text: str, most: int) -> str:
    """At most so many characters: the two ends, and words about what stands between them."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most - most * 3 // 4
    n_cut = len(text) - head - tail
    return f"{text[:head]}\n[… {n_cut:,} characters are not shown …]\n{text[len(text) - tail :]}"
